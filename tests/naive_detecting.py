"""Plain twins of the policies that look for changes: whole histories, nothing kept."""

import math

import numpy as np

from naive_detectors import (
    NaiveAdwin,
    NaiveCusum,
    NaiveEDetector,
    NaiveGaussianGLR,
    NaiveGLR,
    NaivePageHinkley,
    NaiveWindow,
)
from naive_rivals import NaiveUniform
from sigshift.rng import philox, uniforms

LOW = 2**32


def twins():
    """All twins there are, to look a base up in; met late, since this file is one of theirs."""
    from twins import TWINS

    return TWINS


def glr(arms, horizon, delta=None, **params):
    return NaiveGLR(1 / math.sqrt(max(horizon, 2)) if delta is None else delta, **params)


class NaiveLaplace:
    """Every split that is a multiple of the stride, which doubles whenever it would leave 128 splits or more."""

    def __init__(self, arms, horizon, delta=None):
        self.delta = 1 / max(horizon, 2) if delta is None else delta
        self.rewards, self.stride, self.next = [], 1, 2

    def radius(self, n):
        return math.sqrt((1 + 1 / n) * math.log(math.sqrt(n + 1) / self.delta) / (2 * n))

    def observe(self, y):
        self.rewards.append(y)
        n, changed = len(self.rewards), False
        if n >= self.next:
            self.next = n + max(1, n // 100)
            for i in range(self.stride, n, self.stride):
                first, last = self.rewards[:i], self.rewards[i:]
                distance = abs(sum(first) / i - sum(last) / (n - i))
                changed = changed or distance > self.radius(i) + self.radius(n - i)
        if n // self.stride > 128:
            self.stride *= 2
        return changed


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
    "laplace": NaiveLaplace,
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
        self.rate = (1.0 if exploration == "diminishing" else usual) if rate is None else rate
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
        self.next = math.ceil((0.25 * self.arms / self.rate) ** 2)

    def select(self, t):
        self.now = t + 1
        arm, q = self.forced(t)
        if arm is None:
            arm, q = self.base.select(t - self.start)
        elif hasattr(self.base, "chosen"):
            self.base.chosen(t - self.start, arm)
        self.pulls[arm] += 1
        return arm, q

    def forced(self, t):
        since = t - self.start
        rate = self.rate
        if self.growing and self.exploration != "diminishing":
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
        return None, None

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
}
