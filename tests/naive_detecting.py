"""Plain twins of the policies that look for changes: whole histories, nothing kept."""

import math

import numpy as np

from naive_detectors import (
    NaiveAdwin,
    NaiveAdwinExact,
    NaiveCusum,
    NaiveEDetector,
    NaiveGaussianGLR,
    NaiveGLR,
    NaiveLaplace,
    NaivePageHinkley,
    NaiveWindow,
)
from naive_phases import phases
from naive_rivals import NaiveUniform
from sigshift.rng import philox, uniforms

LOW = 2**32


def twins():
    """All twins there are, to look a base up in; met late, since this file is one of theirs."""
    from twins import TWINS

    return TWINS


def glr(arms, horizon, delta=None, **params):
    return NaiveGLR(1 / math.sqrt(max(horizon, 2)) if delta is None else delta, **params)


def laplace(arms, horizon, delta=None):
    return NaiveLaplace(1 / max(horizon, 2) if delta is None else delta)


def adwin_exact(arms, horizon, delta=None):
    return NaiveAdwinExact(max(horizon, 2) ** -3 if delta is None else delta)


def default_height(horizon, changes=None):
    return max(1.0, math.log(horizon / max(changes or 1, 1)))


def cusum(arms, horizon, height=None, changes=None, **params):
    return NaiveCusum(default_height(horizon, changes) if height is None else height, **params)


def page_hinkley(arms, horizon, height=None, changes=None, **params):
    return NaivePageHinkley(default_height(horizon, changes) if height is None else height, **params)


def window(arms, horizon, window=200, limit=None):
    return NaiveWindow(window, math.sqrt(window * math.log(2 * arms * horizon**2) / 2) if limit is None else limit)


def adwin(arms, horizon, delta=None):
    return NaiveAdwin(max(horizon, 2) ** -1.5 if delta is None else delta)


def e_detector(arms, horizon, delta=None):
    return NaiveEDetector(max(horizon, 2) / (max(horizon, 2) ** -0.5 if delta is None else delta))


def glr_gaussian(arms, horizon, delta=None, sigma=0.5):
    return NaiveGaussianGLR(sigma, delta=1 / math.sqrt(max(horizon, 2)) if delta is None else delta)


DETECTORS = {
    "glr": glr,
    "laplace": laplace,
    "adwin_exact": adwin_exact,
    "cusum": cusum,
    "page_hinkley": page_hinkley,
    "window": window,
    "adwin": adwin,
    "e_detector": e_detector,
    "glr_gaussian": glr_gaussian,
}


class NaiveDetect:
    """A base that is made anew at every change, and forced rounds."""

    def __init__(
        self,
        arms,
        horizon,
        key,
        environment=None,
        base="kl_ucb",
        detector="glr",
        restart="global",
        exploration="uniform",
        rate=None,
        changes=None,
        every=1,
        **options,
    ):
        self.arms, self.horizon, self.key, self.every = arms, horizon, key, every
        self.restart, self.exploration = restart, exploration
        self.growing = rate is None and changes is None
        usual = min(1.0, math.sqrt(max(changes or 1, 1) * arms * math.log(max(horizon, 2)) / horizon))
        self.fixed = exploration in ("diminishing", "monitoring")
        self.rate = (1.0 if self.fixed else usual) if rate is None else rate
        self.samples = math.ceil(math.log2(max(horizon, 2)))
        of_base = {name.removeprefix("base_"): v for name, v in options.items() if name.startswith("base_")}
        of_detector = {name.removeprefix("detector_"): v for name, v in options.items() if name.startswith("detector_")}
        self.make = lambda draws: twins()[base](arms, horizon, key ^ draws, **of_base)
        self.watch = lambda: DETECTORS[detector](arms, horizon, **of_detector)
        self.begins = []
        self.start = self.now = self.episodes = 0
        self.since = [0] * arms
        self.begin()

    def begin(self):
        if self.episodes == 0:
            self.base = self.make(np.uint64(0))
        else:
            w0, w1, _, _ = philox(self.key, *map(np.uint64, (len(self.begins), 0, 0, 7)))
            self.base = self.make(np.uint64(int(w0) * LOW + int(w1)))
        self.detectors = [self.watch() for _ in range(self.arms)]
        self.pulls = [0] * self.arms
        self.free, self.monitored = [], {}  # the arms played of its own will, the arm of each block
        self.next = math.ceil((0.25 * self.arms / self.rate) ** 2)

    def select(self, t):
        self.now = t + 1
        arm, q = self.forced(t)
        if arm is None:
            arm, q = self.base.select(t - self.start)
            self.free.append(arm)
        elif hasattr(self.base, "chosen"):
            self.base.chosen(t - self.start, arm)
        self.pulls[arm] += 1
        return arm, q

    def forced(self, t):
        since = t - self.start
        rate = self.rate
        if self.growing and not self.fixed:
            rate = min(1.0, rate * math.sqrt(1 + len(self.begins)))
        if self.exploration == "uniform":
            block = max(int(self.arms / rate), self.arms)
            if since % block < self.arms:
                return since % block, 1.0
        if self.exploration == "random":
            coin, which = uniforms(self.key, t, 7, 0)
            if coin < rate:
                return int(which * self.arms), 1 / self.arms
        if self.exploration == "tracking" and min(self.pulls) * self.arms < rate * since:
            return self.pulls.index(min(self.pulls)), 1.0
        if self.exploration == "diminishing":
            place = since - self.next
            if place == self.arms - 1:
                after = math.ceil((math.sqrt(self.next) + self.arms / (2 * rate)) ** 2)
                self.next = max(self.next + self.arms, after)
            if 0 <= place < self.arms:
                return place, 1.0
        if self.exploration == "monitoring":
            return self.monitoring(since + 1)
        return None, None

    def monitoring(self, u):
        """Rounds u = 1, 2, ...; block l = 1, 2, ... ends with round (2^l - 1) D N, its last part has D N rounds."""
        period = max(int(self.arms / self.rate), 1)
        part = period * self.samples
        block = math.ceil(math.log2(u / part + 1) - 1e-12)
        block = max(block, 1)
        chosen_before = 1 + (max(2**block - 2, 1) * part if block > 1 else part)
        if u == part + 1:
            self.monitored[1] = self.most_played()
        if block > 1 and u == chosen_before:
            self.monitored[block] = self.most_played()
        if u % period == 0 and block - 1 in self.monitored:
            return self.monitored[block - 1], 1.0
        if u % period == 1 % period and block > 1 and block in self.monitored:
            return self.monitored[block], 1.0
        return None, None

    def most_played(self):
        counts = [self.free.count(a) for a in range(self.arms)]
        return counts.index(max(counts))

    def update(self, t, a, y, q):
        if t < self.since[a]:
            return
        self.base.update(t - self.start, a, y, q)
        if self.detectors[a].observe(y) and t % self.every == 0:
            if not self.begins or self.begins[-1] < self.now:
                self.begins.append(self.now)
            if self.restart == "global":
                self.episodes += 1
                self.start = self.now
                self.since = [self.now] * self.arms
                self.begin()
            else:
                self.since[a] = self.now
                self.base.forget(a)
                self.detectors[a] = self.watch()


class NaiveSER3(NaiveUniform):
    """Allesiardo et al. 2017, Algorithms 1 and 2, from the rewards of each arm."""

    def __init__(self, arms, horizon, key, environment=None, delta=None, epsilon=None, resets=0.0):
        super().__init__(arms, horizon, key)
        usual = min(0.5, 1 / (arms * horizon))
        self.delta, self.epsilon = usual if delta is None else delta, usual if epsilon is None else epsilon
        self.resets, self.start = resets, 0
        self.begin()

    def begin(self):
        self.candidates, self.waiting = list(range(self.arms)), list(range(self.arms))
        self.rewards = [[] for _ in range(self.arms)]

    def mean(self, a):
        mean = 0.0
        for n, y in enumerate(self.rewards[a], 1):  # as the kernel does, because ties decide
            mean += (y - mean) / n
        return mean

    def select(self, t):
        which, coin = uniforms(self.key, t, 0, 0)
        if t > 0 and coin < self.resets:
            self.begin()
            self.start = t
        if not self.waiting:
            tau = min(len(self.rewards[a]) for a in self.candidates)
            if tau > 0:
                bound = math.sqrt(2 * math.log(4 * self.arms * tau**2 / self.delta) / tau)
                best = max(map(self.mean, self.candidates))
                self.candidates = [
                    a for a in self.candidates if self.mean(a) == best or best - self.mean(a) + self.epsilon < bound
                ]
            self.waiting = list(self.candidates)
        chance = 1 / len(self.waiting)
        return self.waiting.pop(int(which * len(self.waiting))), chance

    def update(self, t, a, y, q):
        if t >= self.start:
            self.rewards[a].append(y)


class NaiveSER4(NaiveSER3):
    def __init__(self, arms, horizon, key, environment=None, switches=None, reset_rate=None, **params):
        if reset_rate is None:
            size = arms * horizon
            reset_rate = min(1.0, math.sqrt(max(switches or 1, 1) / (size * max(math.log(size), 1))))
        super().__init__(arms, horizon, key, resets=reset_rate, **params)


class NaiveExp3R(NaiveUniform):
    """Allesiardo and Feraud 2015, Algorithm 2."""

    def __init__(self, arms, horizon, key, environment=None, interval=None, scale=4.0):
        super().__init__(arms, horizon, key)
        log = math.log(max(horizon, 2))
        self.gamma = min(1.0, math.sqrt(arms * math.log(arms) * log / horizon))
        self.delta = min(0.5, math.sqrt(log / (arms * horizon)))
        self.interval = max(1.0, scale * math.sqrt(horizon * log)) if interval is None else interval
        self.start = self.now = 0
        self.gains = [[] for _ in range(arms)]
        self.seen = [[] for _ in range(arms)]

    def weights(self):
        logs = [math.fsum(gains) for gains in self.gains]
        return [math.exp(log - max(logs)) for log in logs]

    def select(self, t):
        self.now = t + 1
        coin, which = uniforms(self.key, t, 0, 0)
        weights = self.weights()
        if coin < self.gamma:
            arm = int(which * self.arms)
        else:
            left = which * sum(weights)
            arm = self.arms - 1
            for a in range(self.arms - 1):
                if left < weights[a]:
                    arm = a
                    break
                left -= weights[a]
        return arm, (1 - self.gamma) * weights[arm] / sum(weights) + self.gamma / self.arms

    def update(self, t, a, y, q):
        if t < self.start:
            return
        self.gains[a].append(min(1.0, self.gamma * y / (q * self.arms)))
        coin, _ = uniforms(self.key, t, 0, 0)
        if coin >= self.gamma:
            return
        self.seen[a].append(y)
        needed = self.gamma * self.interval / self.arms
        if len(self.seen[a]) < needed or min(map(len, self.seen)) < needed:
            return
        weights = self.weights()
        played = weights.index(max(weights))
        means = [sum(seen) / len(seen) for seen in self.seen]
        bound = 2 * math.sqrt(self.arms * math.log(1 / self.delta) / (2 * self.gamma * self.interval))
        if any(mean - means[played] >= bound for mean in means):
            self.start = self.now
            self.gains = [[] for _ in range(self.arms)]
        self.seen = [[] for _ in range(self.arms)]


class NaiveUCBL:
    """The mean of the rewards that came + Laplace's radius for the number of decisions."""

    def __init__(self, arms, horizon, key, environment=None):
        self.asked, self.told, self.mean = [0] * arms, [0] * arms, [1.0] * arms

    def index(self, t, a):
        n = self.asked[a]
        inverse = (1 + 1 / n) / (2 * n)  # in the kernel's order of operations, because ties decide
        return self.mean[a] + math.sqrt(inverse * (0.5 * math.log(n + 1) + math.log(t + 1)))

    def select(self, t):
        indices = [self.index(t, a) if self.asked[a] else math.inf for a in range(len(self.asked))]
        arm = indices.index(max(indices))
        self.asked[arm] += 1
        return arm, 1.0

    def chosen(self, t, a):
        self.asked[a] += 1

    def forget(self, a):
        self.asked[a], self.told[a], self.mean[a] = 0, 0, 1.0

    def update(self, t, a, y, q):
        self.told[a] += 1
        self.mean[a] += (y - self.mean[a]) / self.told[a]


class NaiveUCBLCPD(NaiveDetect):
    def __init__(self, arms, horizon, key, environment=None, delta=None):
        super().__init__(arms, horizon, key, base="ucbl", detector="laplace", exploration="none", detector_delta=delta)


class NaiveADR(NaiveDetect):
    def __init__(self, arms, horizon, key, environment=None, delta=None, rate=1.0):
        options = {"detector": "adwin_exact", "exploration": "monitoring", "detector_delta": delta}
        super().__init__(arms, horizon, key, rate=rate, **options)


class NaiveImpCPD:
    """Mukherjee and Maillard (2019), Algorithms 3 and 4, from whole histories."""

    def __init__(self, arms, horizon, key, environment=None, gamma=0.05, alpha=1.5, phases="endless"):
        self.arms, self.horizon, self.gamma, self.alpha = arms, max(horizon, 3), gamma, alpha
        self.psi = self.horizon**2 / (arms**2 * math.log(arms))
        self.last, self.endless = int(math.log(self.horizon / math.e) / (2 * math.log(1 + gamma))), phases == "endless"
        self.start = self.now = 0
        self.begin()

    def begin(self):
        self.asked = [0] * self.arms
        self.rewards = [[] for _ in range(self.arms)]
        self.splits, self.phase, self.left = [], 0, set(range(self.arms))
        self.end = self.now - self.start + self.length()

    def epsilon(self):
        return (1 + self.gamma) ** -min(self.phase, self.last)

    def log(self):
        return max(1.0, math.log(self.psi * self.epsilon() ** 2))

    def length(self):
        return max(len(self.left), 1) * min(math.ceil(self.log() / (2 * self.epsilon())), self.horizon)

    def mean(self, a):
        mean = 1.0
        for n, y in enumerate(self.rewards[a], 1):  # as the kernel does, because ties decide
            mean += (y - mean) / n
        return mean

    def radius(self, n):
        return math.sqrt(0.5 * self.alpha * self.log()) * (1 / math.sqrt(n))

    def select(self, t):
        self.now = t + 1
        self.indices = [self.mean(a) + self.radius(n) if n else math.inf for a, n in enumerate(self.asked)]
        arm = self.indices.index(max(self.indices))
        self.asked[arm] += 1
        return arm, 1.0

    def yields(self, arm, other):
        """Two indices differ by the last bit, as sum and product are rounded once or twice: let the other be played."""
        if self.indices[other] < self.indices[arm] - 1e-12:
            return False
        self.asked[arm] -= 1
        self.asked[other] += 1
        return True

    def update(self, t, a, y, q):
        if t < self.start:
            return
        self.rewards[a].append(y)
        if self.now - self.start < self.end or not (self.endless or self.phase <= self.last):
            return
        if any(self.apart(rewards, split[b]) for split in self.splits for b, rewards in enumerate(self.rewards)):
            self.start = self.now
            self.begin()
            return
        told = [b for b in range(self.arms) if self.rewards[b]]
        best = max(self.mean(b) - self.radius(len(self.rewards[b])) for b in told)
        self.left -= {b for b in told if self.mean(b) + self.radius(len(self.rewards[b])) < best}
        self.splits.append([len(rewards) for rewards in self.rewards])
        self.phase += 1
        self.end = self.now - self.start + self.length()

    def apart(self, rewards, i):
        first, last = rewards[:i], rewards[i:]
        if not first or not last:
            return False
        distance = abs(sum(first) / len(first) - sum(last) / len(last))
        return distance > self.radius(len(first)) + self.radius(len(last))


class NaiveRestarting:
    """A base made anew in the rounds that the table of means says."""

    def __init__(self, arms, horizon, key, environment, at="changes", base="kl_ucb", **options):
        of_base = {name.removeprefix("base_"): v for name, v in options.items()}
        self.key = key
        self.make = lambda draws: twins()[base](arms, horizon, key ^ draws, **of_base)
        means = environment.means()
        self.rounds = {"changes": self.changes, "switches": self.switches, "significant": self.significant}[at](means)
        self.base, self.start, self.count = self.make(np.uint64(0)), 0, 0

    def changes(self, means):
        return [t for t in range(1, len(means)) if (means[t] != means[t - 1]).any()]

    def switches(self, means):
        found, left = [], set(range(means.shape[1]))
        for t, row in enumerate(means):
            best = {a for a, mean in enumerate(row) if mean == max(row)}
            left &= best
            if not left:
                found.append(t)
                left = best
        return found

    def significant(self, means):
        return phases(means).starts[1:]

    def select(self, t):
        if t in self.rounds:
            self.start, self.count = t, self.count + 1
            w0, w1, _, _ = philox(self.key, *map(np.uint64, (self.count, 0, 0, 7)))
            self.base = self.make(np.uint64(int(w0) * LOW + int(w1)))
        return self.base.select(t - self.start)

    def update(self, t, a, y, q):
        if t >= self.start:
            self.base.update(t - self.start, a, y, q)


def random_share(horizon, changes):
    each = max(horizon, 2) / max(changes or 1, 1)
    return min(1.0, math.sqrt(max(math.log(each), 1.0) / each))


class NaiveCusumUCB(NaiveDetect):
    def __init__(self, arms, horizon, key, environment=None, changes=None, detector="cusum", exploration=1.0, **test):
        options = {f"detector_{name}": value for name, value in test.items()}
        rate = random_share(horizon, changes)
        super().__init__(
            arms, horizon, key, base="ucb1", detector=detector, restart="local", exploration="random", rate=rate,
            changes=changes, base_exploration=exploration, detector_changes=changes, **options,
        )  # fmt: skip


class NaivePhtUCB(NaiveCusumUCB):
    def __init__(self, *given, **params):
        super().__init__(*given, detector="page_hinkley", **params)


class NaiveMUCB(NaiveDetect):
    def __init__(self, arms, horizon, key, environment=None, changes=None, window=200, limit=None):
        if limit is None:
            limit = math.sqrt(window * math.log(2 * arms * horizon**2) / 2)
        cost = 2 * limit + 3 * math.sqrt(window)
        rate = min(1.0, math.sqrt(max(changes or 1, 1) * arms * cost / (2 * horizon)))
        super().__init__(
            arms, horizon, key, base="ucb1", detector="window", rate=rate, detector_window=window, detector_limit=limit
        )


class NaiveGLRKlUCB(NaiveDetect):
    def __init__(self, arms, horizon, key, environment=None, restart="global", changes=None):
        super().__init__(arms, horizon, key, restart=restart, changes=changes)


TWINS = {
    "detect": NaiveDetect,
    "glr_kl_ucb": NaiveGLRKlUCB,
    "cusum_ucb": NaiveCusumUCB,
    "pht_ucb": NaivePhtUCB,
    "m_ucb": NaiveMUCB,
    "ser3": NaiveSER3,
    "ser4": NaiveSER4,
    "exp3r": NaiveExp3R,
    "ucbl": NaiveUCBL,
    "ucbl_cpd": NaiveUCBLCPD,
    "imp_cpd": NaiveImpCPD,
    "adr_bandit": NaiveADR,
    "restarting": NaiveRestarting,
}
