"""Plain twins of the randomised policies, and of the one for slow drift: from the papers, with all of the past kept.

The twins of Thompson sampling draw with the functions of sigshift.sampling, whose distributions test_weights.py checks.
"""

import math

import numpy as np

from naive_rivals import NaiveExp3, NaiveUniform
from sigshift.rng import uniforms
from sigshift.sampling import best_beta, beta_draw, standard_normal


class NaiveThompson:
    """The posterior from a list of all (round, arm, what it counts as)."""

    def __init__(self, arms, horizon, key, environment=None, law="beta"):
        self.arms, self.key, self.law = arms, key, law
        self.told = []

    def weight(self, s, t):
        return 1.0

    def evidence(self, t):
        """For each arm the weighted sum and number of its rewards, when round t is chosen."""
        of = [[(self.weight(s, t), y) for s, a, y in self.told if a == arm] for arm in range(self.arms)]
        return [(math.fsum(w * y for w, y in one), math.fsum(w for w, _ in one)) for one in of]

    def draw(self, t):
        if self.law == "beta":
            total, count = np.array(self.evidence(t)).T.copy()
            return best_beta(total, count, self.key, t)
        return self.largest(t)

    def largest(self, t):
        samples = []
        for arm, (total, count) in enumerate(self.evidence(t)):
            if self.law == "beta":
                pair = uniforms(self.key, t, 0, arm)
                samples.append(beta_draw(1.0 + total, 1.0 + (count - total), *pair, self.key, t, 0, arm))
            else:
                normal = standard_normal(self.key, t, 0, arm, 0)
                samples.append(total / (count + 1) + normal / math.sqrt(count + 1))
        return samples.index(max(samples))

    def select(self, t):
        return self.draw(t), math.nan

    def update(self, t, a, y, q):
        if self.law == "beta":
            coin, _ = uniforms(self.key, t, 1, 0)
            y = 1.0 if coin < y else 0.0
        self.told.append((t, a, y))


class NaiveDTS(NaiveThompson):
    """A reward of round s weighs discount^(t - 1 - s) in round t."""

    def __init__(self, arms, horizon, key, environment=None, law="beta", changes=1, discount=None):
        super().__init__(arms, horizon, key, law=law)
        self.discount = 1 - math.sqrt(changes / horizon) / 4 if discount is None else discount

    def weight(self, s, t):
        return self.discount ** (t - 1 - s)


class NaiveSWTS(NaiveThompson):
    """Only rounds t - window to t - 1 count."""

    def __init__(self, arms, horizon, key, environment=None, law="beta", changes=1, window=None, minimum=1):
        super().__init__(arms, horizon, key, law=law)
        self.window = window or max(1, math.floor(2 * math.sqrt(horizon * math.log(horizon) / changes)))
        self.minimum = min(minimum, self.window // (2 * arms))
        self.asked = []

    def weight(self, s, t):
        return 1.0 if s >= t - self.window else 0.0

    def select(self, t):
        recent = self.asked[-self.window :]
        counts = [recent.count(arm) for arm in range(self.arms)]
        owed = min(counts) < self.minimum
        arm = counts.index(min(counts)) if owed else self.largest(t)
        self.asked.append(arm)
        return arm, 1.0 if owed else math.nan


class NaiveExp3IX(NaiveUniform):
    """Neu 2015, Algorithm 1."""

    def __init__(self, arms, horizon, key, environment=None, rounds=None, eta=None):
        super().__init__(arms, horizon, key)
        self.rounds, self.constant = rounds, eta
        self.losses = [[] for _ in range(arms)]

    def eta(self, t):
        if self.constant is not None:
            return self.constant
        if self.rounds is None:
            return math.sqrt(math.log(self.arms) / (self.arms * (t + 1)))
        return math.sqrt(2 * math.log(self.arms) / (self.arms * self.rounds))

    def probabilities(self, t):
        sums = [math.fsum(losses) for losses in self.losses]
        weights = [math.exp(-self.eta(t) * (loss - min(sums))) for loss in sums]
        return [w / sum(weights) for w in weights]

    def update(self, t, a, y, q):
        self.losses[a].append((1 - y) / (q + self.eta(t) / 2))


class NaiveTsallis(NaiveUniform):
    """Zimmert and Seldin 2021, Algorithm 1; the root by bisection."""

    def __init__(self, arms, horizon, key, environment=None, estimator="rv"):
        super().__init__(arms, horizon, key)
        self.estimator = estimator
        self.losses = [[] for _ in range(arms)]
        self.newest = None

    def eta(self, t):
        return (4 if self.estimator == "rv" else 2) / math.sqrt(t + 1)

    def probabilities(self, t):
        eta = self.eta(t)
        sums = [math.fsum(losses) for losses in self.losses]
        gaps = [eta * (loss - min(sums)) for loss in sums]
        low, high = 2.0, 2.0 * math.sqrt(self.arms)
        for _ in range(200):
            z = (low + high) / 2
            if sum(4 / (g + z) ** 2 for g in gaps) > 1:
                low = z
            else:
                high = z
        weights = [4 / (g + low) ** 2 for g in gaps]
        self.newest = [w / sum(weights) for w in weights]
        return self.newest

    def update(self, t, a, y, q):
        loss = 1 - y
        if self.estimator == "iw":
            self.losses[a].append(loss / q)
            return
        for i in range(self.arms):
            w = q if i == a else self.newest[i]
            baseline = 0.5 if w >= self.eta(t) ** 2 * (1 - 1e-9) else 0.0  # ties count as enough
            self.losses[i].append((loss - baseline) / q + baseline if i == a else baseline)


class NaiveRexp3:
    """Besbes et al. 2014: a new EXP3 for every batch."""

    def __init__(self, arms, horizon, key, environment=None, variation=1.0, batch=None, gamma=None):
        spread = arms * math.log(arms)
        if batch is None:
            batch = math.ceil(round(spread ** (1 / 3) * (horizon / max(variation, 1e-9)) ** (2 / 3), 9))
            batch = min(horizon, batch)
        self.batch = batch
        gamma = min(1.0, math.sqrt(spread / ((math.e - 1) * batch))) if gamma is None else gamma
        self.fresh = lambda: NaiveExp3(arms, horizon, key, gamma=gamma)
        self.start = 0
        self.exp3 = self.fresh()

    def select(self, t):
        if t // self.batch * self.batch > self.start:
            self.start = t
            self.exp3 = self.fresh()
        return self.exp3.select(t)

    def update(self, t, a, y, q):
        if t >= self.start:
            self.exp3.update(t, a, y, q)


class NaiveExp3PP(NaiveUniform):
    """Seldin and Slivkins 2014 with the parameters of Seldin and Lugosi 2017."""

    def __init__(self, arms, horizon, key, environment=None, alpha=3.0, beta=256.0):
        super().__init__(arms, horizon, key)
        self.alpha, self.beta = alpha, beta
        self.weighted = [[] for _ in range(arms)]
        self.plain = [[] for _ in range(arms)]

    def explored(self, t):
        n = t + 1
        bounds = []
        for losses in self.plain:
            mean, width = 0.0, math.inf
            if losses:
                mean = math.fsum(losses) / len(losses)
                log = math.log(n * self.arms ** (1 / self.alpha))
                width = math.sqrt(self.alpha * log / (2 * len(losses)))
            bounds.append((max(0.0, mean - width), min(1.0, mean + width)))
        gaps = [max(0.0, low - min(up for _, up in bounds)) for low, _ in bounds]
        rates = [self.beta * math.log(n) / (n * gap**2) if gap > 0 else math.inf for gap in gaps]
        return [min(1 / (2 * self.arms), 0.5 * math.sqrt(math.log(self.arms) / (n * self.arms)), r) for r in rates]

    def probabilities(self, t):
        eta = 0.5 * math.sqrt(math.log(self.arms) / ((t + 1) * self.arms))
        sums = [math.fsum(losses) for losses in self.weighted]
        weights = [math.exp(-eta * (loss - min(sums))) for loss in sums]
        shares = self.explored(t)
        return [(1 - sum(shares)) * w / sum(weights) + e for w, e in zip(weights, shares, strict=True)]

    def update(self, t, a, y, q):
        self.weighted[a].append((1 - y) / q)
        self.plain[a].append(1 - y)


class NaiveSAO(NaiveUniform):
    """Bubeck and Slivkins 2012, Algorithm 2, on the clock of the rewards told; then EXP3.P."""

    def __init__(self, arms, horizon, key, environment=None, delta=None):
        super().__init__(arms, horizon, key)
        self.horizon = horizon
        self.delta = 1 / max(horizon, 2) if delta is None else delta
        self.log = math.log(10 * arms * horizon**3 / self.delta)
        self.active = set(range(arms))
        self.tau, self.q = {}, {}
        self.told = []
        self.now = 0
        self.fallback = None
        self.gains = [[] for _ in range(arms)]
        self.newest = [1 / arms] * arms

    def probabilities(self, t):
        self.now = t
        return self.newest

    def bound(self, variance, step):
        return math.sqrt(4 * variance * self.log + 5 * (step * self.log) ** 2)

    def width(self, t):
        return self.bound(self.arms / t, self.arms / t)

    def estimates(self):
        """The weighted and the plain mean of each arm, and its number of rewards."""
        t = len(self.told)
        found = []
        for i in range(self.arms):
            own = [(y, q) for a, y, q in self.told if a == i]
            found.append((math.fsum(y / q for y, q in own) / t, math.fsum(y for y, _ in own), len(own)))
        return found

    def stochastic(self):
        t, found = len(self.told), self.estimates()
        top = max(found[i][0] for i in self.active)
        for i in sorted(self.active):
            if top - found[i][0] > 6 * self.width(t):
                self.active.remove(i)
                self.tau[i], self.q[i] = t, self.newest[i]
        for i, (weighted, total, n) in enumerate(found):
            tau = self.tau.get(i)
            if tau is not None and tau < t:
                gap = top - weighted
                if gap <= 2 * self.width(tau) or (tau > 1 and gap > 10 * self.width(tau - 1)):
                    return False
            if n:
                u = t if tau is None else tau
                late = 0 if tau is None else (t - u) / (self.q[i] * tau * t)
                allowed = math.sqrt(2 * self.log / n) + self.bound(self.arms * u / t**2 + late, self.arms / u)
                if abs(weighted - total / n) > allowed:
                    return False
        return True

    def update(self, t, a, y, q):
        if self.fallback is None:
            self.told.append((a, y, q))
            if self.stochastic():
                after = len(self.told) + 1
                kept = {i: self.q[i] * self.tau[i] / after for i in self.tau}
                rest = (1 - sum(kept.values())) / len(self.active)
                self.newest = [kept.get(i, rest) for i in range(self.arms)]
                return
            self.fallback = self.now
        elif t > self.fallback:
            bias = math.sqrt(math.log(self.arms / self.delta) / (self.horizon * self.arms))
            for i in range(self.arms):
                self.gains[i].append((y + bias) / q if i == a else bias / self.newest[i])
        else:
            return
        spread = math.log(self.arms)
        eta = 0.95 * math.sqrt(spread / (self.horizon * self.arms))
        gamma = min(1, 1.05 * math.sqrt(self.arms * spread / self.horizon))
        sums = [math.fsum(gains) for gains in self.gains]
        weights = [math.exp(eta * (g - max(sums))) for g in sums]
        self.newest = [(1 - gamma) * w / sum(weights) + gamma / self.arms for w in weights]


class NaiveSlowElimination:
    """Intervals as in its docstring, from lists of all rewards since an arm woke up."""

    def __init__(self, arms, horizon, key, environment=None, drift=None, delta=None):
        self.arms = arms
        self.drift = 1 / horizon if drift is None else drift
        self.log = math.log(2 * horizon**2 / (1 / max(horizon, 2) if delta is None else delta))
        useful = max(1.0, min(horizon, (self.log / (8 * self.drift**2)) ** (1 / 3)))
        self.sizes = [2**i for i in range(math.ceil(math.log2(useful)) + 1)]
        self.bounds = [[] for _ in range(arms)]  # (low, high, round) of every window so far
        self.told = [[] for _ in range(arms)]
        self.last = [-1] * arms
        self.asleep = set()
        self.woken = 0

    def interval(self, a, t):
        low = max([low - self.drift * (t - r) for low, _, r in self.bounds[a]], default=-math.inf)
        high = min([high + self.drift * (t - r) for _, high, r in self.bounds[a]], default=math.inf)
        return low, high

    def select(self, t):
        intervals = [self.interval(a, t) for a in range(self.arms)]
        top = max(low for low, _ in intervals)
        awake = [a for a in range(self.arms) if intervals[a][1] >= top]
        for a in self.asleep & set(awake):
            self.told[a] = []
            self.woken += 1
        self.asleep = set(range(self.arms)) - set(awake)
        arm = min(awake, key=lambda a: (self.last[a], a))
        self.last[arm] = t
        return arm, 1.0

    def update(self, t, a, y, q):
        self.told[a].append((t, y))
        for size in self.sizes:
            blocks = len(self.told[a]) // size
            if blocks:
                window = self.told[a][(blocks - 1) * size :]
                mean = math.fsum(y for _, y in window) / len(window)
                at = sum(r for r, _ in window) / len(window)
                radius = math.sqrt(self.log / (2 * len(window)))
                self.bounds[a].append((mean - radius, mean + radius, at))
        low, high = self.interval(a, max(self.last))
        if low > high:
            self.bounds[a], self.told[a] = [], []


TWINS = {
    "thompson": NaiveThompson,
    "d_ts": NaiveDTS,
    "sw_ts": NaiveSWTS,
    "exp3_ix": NaiveExp3IX,
    "tsallis_inf": NaiveTsallis,
    "rexp3": NaiveRexp3,
    "exp3_pp": NaiveExp3PP,
    "sao": NaiveSAO,
    "slow_elimination": NaiveSlowElimination,
}
