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


class NaiveGaussianGLR(NaiveGLR):
    """The same with the divergence of Gaussian laws."""

    def __init__(self, sigma=0.5, **others):
        super().__init__(**others)
        self.sigma = sigma

    def distance(self, x, y):
        return (x - y) ** 2 / (2.0 * self.sigma**2)


class NaiveCusum:
    """Liu et al. (2018): a walk that is held at 0 is its largest sum over the last steps."""

    def __init__(self, height, samples=200, tolerance=0.1):
        self.height, self.samples, self.tolerance = height, samples, tolerance
        self.rewards = []

    def against(self, k):
        """The mean with which reward k is compared, or None."""
        return mean(self.rewards[: self.samples]) if k >= self.samples else None

    def observe(self, y):
        self.rewards.append(y)
        centred = [y - self.against(k) for k, y in enumerate(self.rewards) if self.against(k) is not None]
        for sign in (1.0, -1.0):
            walk = 0.0
            for off in reversed(centred):
                walk += sign * off - self.tolerance
                if walk >= self.height:
                    return True
        return False

    def clear(self):
        self.rewards = []


class NaivePageHinkley(NaiveCusum):
    """Against the mean of all rewards so far."""

    def __init__(self, height, tolerance=0.1):
        super().__init__(height, 0, tolerance)

    def against(self, k):
        return mean(self.rewards[: k + 1])


class NaiveWindow:
    """Cao et al. (2019), Algorithm 1."""

    def __init__(self, window, limit):
        self.window, self.limit = window, limit
        self.rewards = []

    def observe(self, y):
        self.rewards.append(y)
        last = self.rewards[-self.window :]
        half = self.window // 2
        return len(last) == self.window and abs(math.fsum(last[half:]) - math.fsum(last[:half])) > self.limit

    def clear(self):
        self.rewards = []


class NaiveAdwin:
    """Bifet and Gavalda (2007): a list of buckets, each the list of its rewards, the oldest first."""

    def __init__(self, delta, buckets=5):
        self.delta, self.most = delta, buckets
        self.buckets = []

    def merge(self):
        size = 1
        while True:
            places = [i for i, bucket in enumerate(self.buckets) if len(bucket) == size]
            if len(places) <= self.most:
                return
            one = places[0]
            self.buckets[one : one + 2] = [self.buckets[one] + self.buckets[one + 1]]
            size *= 2

    def cut(self):
        n = sum(map(len, self.buckets))
        for k in range(1, len(self.buckets)):
            older = [y for bucket in self.buckets[:k] for y in bucket]
            newer = [y for bucket in self.buckets[k:] for y in bucket]
            m = 1.0 / (1.0 / len(older) + 1.0 / len(newer))
            if abs(mean(older) - mean(newer)) >= math.sqrt(math.log(4.0 * n / self.delta) / (2.0 * m)):
                return True
        return False

    def observe(self, y):
        self.buckets.append([y])
        self.merge()
        changed = False
        while self.cut():
            changed = True
            del self.buckets[0]
        return changed

    def clear(self):
        self.buckets = []


class NaiveEDetector:
    """Shin et al. (2024): sums of products over the whole past, a cell at a time."""

    def __init__(self, level, cells=64, bets=6):
        self.level, self.cells, self.bets = level, cells, bets
        self.clear()

    def evidence(self, cell):
        low, high = cell / self.cells, (cell + 1) / self.cells
        total = 0.0
        for j in range(1, self.bets + 1):
            for gain in (lambda y: y / high - 1.0, lambda y: (1.0 - y) / (1.0 - low) - 1.0):
                product, owned = 1.0, 0.0
                for y in reversed(self.rewards):
                    product *= 1.0 + 0.5**j * gain(y)
                    owned += product
                total += owned
        return total / (2 * self.bets)

    def observe(self, y):
        self.rewards.append(y)
        self.left = [cell for cell in self.left if self.evidence(cell) < self.level]
        return not self.left

    def clear(self):
        self.rewards, self.left = [], list(range(self.cells))


class NaiveIntervals:
    """Two confidence intervals for every split: an alarm if those before and after it are disjoint."""

    def __init__(self, delta):
        self.delta = delta
        self.rewards = []

    def observe(self, y):
        self.rewards.append(y)
        n = len(self.rewards)
        return any(
            abs(mean(self.rewards[:i]) - mean(self.rewards[i:])) > self.radius(i) + self.radius(n - i)
            for i in range(1, n)
        )

    def clear(self):
        self.rewards = []


class NaiveLaplace(NaiveIntervals):
    """Mukherjee and Maillard (2019)."""

    def radius(self, n):
        return math.sqrt((1 + 1 / n) * math.log(math.sqrt(n + 1) / self.delta) / (2 * n))


class NaiveAdwinExact(NaiveIntervals):
    """Komiyama, Fouche, Honda (2024)."""

    def radius(self, n):
        return math.sqrt(math.log(1 / self.delta) / (2 * n))
