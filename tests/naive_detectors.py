"""Plain twins of the change detectors: the whole history of one arm in a list, every split tried."""

import math


def divergence(p, q):
    """kl of two Bernoulli laws."""
    parts = [(p, q), (1.0 - p, 1.0 - q)]
    return sum(x * math.log(x / y) for x, y in parts if x > 0.0)


def mean(rewards):
    return min(1.0, math.fsum(rewards) / len(rewards))


def inverse(x):
    """The u >= 1 with u - ln(u) = x, by bisection."""
    low, high = 1.0, 2.0 * x + 10.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle - math.log(middle) < x else (low, middle)
    return low


def two_means(x):
    """Kaufmann and Koolen (2021): T(x) = 2 min over 1 < z <= 3/2 of z (half - ln ln z), here by trying many z."""
    half = 0.5 * (inverse(1.0 + x) + math.log(2.0 * math.pi**2 / 6.0))
    return 2.0 * min(z * (half - math.log(math.log(z))) for z in (1.0 + 0.5 * i / 200_000 for i in range(1, 200_001)))


class NaiveGLR:
    """Besson et al. (2022), Section 2, split by split."""

    def __init__(self, delta, threshold="practical", every=1, splits_every=1):
        self.delta, self.every, self.splits_every = delta, every, splits_every
        self.beta = self.proven if threshold == "proven" else self.practical
        self.rewards = []

    def practical(self, n):
        return math.log(n**1.5 / self.delta)

    def proven(self, n):
        x = math.log(3.0 * n**1.5 / self.delta)
        return 2.0 * two_means(0.5 * x) + 6.0 * math.log(1.0 + math.log(n))

    def distance(self, x, y):
        return divergence(x, y)

    def statistic(self):
        n, best = len(self.rewards), 0.0
        everything = mean(self.rewards)
        for i in range(self.splits_every, n, self.splits_every):
            first, last = mean(self.rewards[:i]), mean(self.rewards[i:])
            best = max(best, i * self.distance(first, everything) + (n - i) * self.distance(last, everything))
        return best

    def observe(self, y):
        self.rewards.append(y)
        n = len(self.rewards)
        return n % self.every == 0 and self.statistic() >= self.beta(n)

    def clear(self):
        self.rewards = []
