"""Plain twins of the policies for rotting arms, written from the papers: all rewards kept, every window summed anew."""

import math


def added(numbers):
    """The sum from left to right; `sum` has corrections of its own in newer versions of Python."""
    total = 0.0
    for number in numbers:
        total += number
    return total


class NaiveWindows:
    """The last renewal of each window of 1, 2, 4, ... rewards: after 2^j rewards, then after every 2^(j - 1)."""

    def __init__(self, arms):
        self.arms = arms
        self.asked = [0] * arms
        self.rewards = [[] for _ in range(arms)]

    def means(self, a):
        rewards, found, window = self.rewards[a], [], 1
        while window <= len(rewards):
            step = max(1, window // 2)
            end = len(rewards) // step * step
            found.append(added(rewards[end - window : end]) / window)
            window *= 2
        return found

    def update(self, t, a, y, q):
        self.rewards[a].append(y)


class NaiveFEWA(NaiveWindows):
    """Algorithm 1 of Seznec et al. 2019 on these windows."""

    def __init__(self, arms, horizon, key, environment=None, alpha=5.0, sigma=0.5):
        super().__init__(arms)
        self.factor = 2 * math.sqrt(2 * alpha) * sigma

    def select(self, t):
        means = [self.means(a) for a in range(self.arms)]
        left, j = list(range(self.arms)), 0
        while all(len(means[a]) > j for a in left):
            top = max(means[a][j] for a in left)
            least = top - self.factor * math.sqrt(math.log(t + 1)) * (1 / math.sqrt(2**j))
            left = [a for a in left if means[a][j] >= least]
            j += 1
        arm = min((a for a in left if len(means[a]) <= j), key=lambda a: self.asked[a])
        self.asked[arm] += 1
        return arm, 1.0


class NaiveRAWUCB(NaiveWindows):
    """The index of Seznec et al. 2020 on these windows; decisions without a reward count in the longest one."""

    def __init__(self, arms, horizon, key, environment=None, alpha=4.0, sigma=0.5):
        super().__init__(arms)
        self.factor = math.sqrt(2 * alpha) * sigma

    def index(self, a, t):
        if self.asked[a] == 0:
            return math.inf
        width = self.factor * math.sqrt(math.log(t + 1))
        means = self.means(a)
        if not means:
            return 1.0 + width * (1 / math.sqrt(self.asked[a]))
        sizes = [2**j for j in range(len(means))]
        sizes[-1] += self.asked[a] - len(self.rewards[a])
        return min(mean + width * (1 / math.sqrt(size)) for mean, size in zip(means, sizes, strict=True))

    def select(self, t):
        indices = [self.index(a, t) for a in range(self.arms)]
        arm = indices.index(max(indices))
        self.asked[arm] += 1
        return arm, 1.0


class NaiveSWA(NaiveWindows):
    """Algorithm 1 of Levine et al. 2017."""

    def __init__(self, arms, horizon, key, environment=None, sigma=0.5, scale=None, window=None):
        super().__init__(arms)
        scale = 0.5 ** (2 / 3) if scale is None else scale
        third = 4 ** (2 / 3) * sigma ** (2 / 3) * arms ** (-2 / 3) * horizon ** (2 / 3)
        self.window = math.ceil(scale * third * math.log(math.sqrt(2) * horizon) ** (1 / 3))
        self.window = self.window if window is None else window

    def select(self, t):
        if min(self.asked) < self.window:
            arm = self.asked.index(min(self.asked))
        else:
            last = [rewards[-self.window :] for rewards in self.rewards]
            means = [added(rewards) / len(rewards) if rewards else 1.0 for rewards in last]
            arm = means.index(max(means))
        self.asked[arm] += 1
        return arm, 1.0


class NaiveHeidari:
    """Each arm once, then the one whose latest reward is the largest."""

    def __init__(self, arms, horizon, key, environment=None):
        self.asked, self.latest = [False] * arms, [(-1, 1.0)] * arms

    def select(self, t):
        values = [y for _, y in self.latest]
        arm = self.asked.index(False) if False in self.asked else values.index(max(values))
        self.asked[arm] = True
        return arm, 1.0

    def update(self, t, a, y, q):
        self.latest[a] = max(self.latest[a], (t, y))


TWINS = {
    "fewa": NaiveFEWA,
    "raw_ucb": NaiveRAWUCB,
    "swa": NaiveSWA,
    "heidari": NaiveHeidari,
}
