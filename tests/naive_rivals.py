"""Plain twins of the rivals, written from the papers and not from the kernels: lists, sums and nothing kept."""

import math

import numpy as np

from sigshift.rng import uniforms


class NaiveUniform:
    """Every arm with probability 1/K."""

    def __init__(self, arms, horizon, key, environment=None):
        self.arms, self.key = arms, key

    def probabilities(self, t):
        return [1.0 / self.arms] * self.arms

    def select(self, t):
        chances = self.probabilities(t)
        pick, _ = uniforms(self.key, t, 0, 0)
        for arm in range(self.arms - 1):
            if pick < chances[arm]:
                return arm, chances[arm]
            pick -= chances[arm]
        return self.arms - 1, chances[-1]

    def update(self, t, a, y, q):
        pass


class NaiveUCB1:
    """Play each arm once, then the one with the largest mean + sqrt(2 ln(t) / n).

    n counts decisions, the mean is over the rewards that came (1 before the first). The mean is updated as the kernel
    updates it, because exact ties between arms decide.
    """

    def __init__(self, arms, horizon, key, environment=None, exploration=2.0):
        self.exploration = exploration
        self.asked, self.told, self.mean = [0] * arms, [0] * arms, [1.0] * arms

    def chosen(self, t, a):
        self.asked[a] += 1

    def forget(self, a):
        self.asked[a], self.told[a], self.mean[a] = 0, 0, 1.0

    def select(self, t):
        if 0 in self.asked:
            arm = self.asked.index(0)
        else:
            root = math.sqrt(self.exploration * math.log(sum(self.asked) + 1))
            index = [m + root * (1.0 / math.sqrt(n)) for m, n in zip(self.mean, self.asked, strict=True)]
            arm = index.index(max(index))
        self.asked[arm] += 1
        return arm, 1.0

    def update(self, t, a, y, q):
        self.told[a] += 1
        self.mean[a] += (y - self.mean[a]) / self.told[a]


class NaiveExp3(NaiveUniform):
    """Auer et al. 2002, Figure 1; the logarithms of the weights are sums over the whole past."""

    def __init__(self, arms, horizon, key, environment=None, gamma=None):
        super().__init__(arms, horizon, key)
        self.gamma = min(1, math.sqrt(arms * math.log(arms) / ((math.e - 1) * horizon))) if gamma is None else gamma
        self.gains = [[] for _ in range(arms)]

    def probabilities(self, t):
        logs = [math.fsum(gains) for gains in self.gains]
        weights = [math.exp(log - max(logs)) for log in logs]
        return [(1 - self.gamma) * w / sum(weights) + self.gamma / self.arms for w in weights]

    def update(self, t, a, y, q):
        self.gains[a].append(self.gamma * (y / q) / self.arms)


class NaiveExp3S(NaiveUniform):
    """Auer et al. 2002, Section 8; the weights are divided by their sum after each step."""

    def __init__(self, arms, horizon, key, environment=None, switches=None, alpha=None):
        super().__init__(arms, horizon, key)
        log = math.log(arms * horizon)
        if switches is None:
            gamma = math.sqrt(arms * log / horizon)
        else:
            gamma = math.sqrt(arms * ((switches + 1) * log + math.e) / ((math.e - 1) * horizon))
        self.gamma = min(1.0, gamma)
        self.alpha = 1.0 / horizon if alpha is None else alpha
        self.weights = [1.0] * arms

    def probabilities(self, t):
        return [(1 - self.gamma) * w / sum(self.weights) + self.gamma / self.arms for w in self.weights]

    def update(self, t, a, y, q):
        total = sum(self.weights)
        spread = math.e * self.alpha / self.arms * total
        estimate = [y / q if i == a else 0.0 for i in range(self.arms)]
        weights = [
            w * math.exp(self.gamma * x / self.arms) + spread for w, x in zip(self.weights, estimate, strict=True)
        ]
        self.weights = [w / sum(weights) for w in weights]


class NaiveOracle(NaiveUniform):
    """Proposition 1 with Definition 1 as it stands: in every round all intervals of the phase are tried."""

    def __init__(self, arms, horizon, key, environment):
        super().__init__(arms, horizon, key)
        means = environment.means()
        gaps = means.max(axis=1, keepdims=True) - means
        self.sums = np.vstack([np.zeros(arms), np.cumsum(gaps, axis=0)])
        self.start = 0
        self.last_round = -1
        self.safe = list(range(arms))

    def is_safe(self, arm, t):
        s1 = np.arange(self.start, t)
        return not (self.sums[t + 1, arm] - self.sums[s1, arm] >= np.sqrt(self.arms * (t - s1))).any()

    def advance(self, t):
        while self.last_round < t:
            self.last_round += 1
            self.safe = [arm for arm in self.safe if self.is_safe(arm, self.last_round)]
            if not self.safe:
                self.start = self.last_round
                self.safe = list(range(self.arms))

    def select(self, t):
        self.advance(t)
        pick, _ = uniforms(self.key, t, 0, 0)
        return self.safe[int(pick * len(self.safe))], 1.0 / len(self.safe)


TWINS = {
    "uniform": NaiveUniform,
    "ucb1": NaiveUCB1,
    "exp3": NaiveExp3,
    "exp3s": NaiveExp3S,
    "oracle": NaiveOracle,
}
