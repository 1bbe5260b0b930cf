"""Plain twins of the index policies, written from the papers: everything is summed over the past in every round."""

import math


def first_largest(values):
    return values.index(max(values))


def kl_index(mean, level):
    """-ln(1 - q) of the largest q with kl(mean, q) <= level, by bisection. It grows with q."""
    if mean >= 1:
        return math.inf
    entropy = sum(x * math.log(x) for x in (mean, 1 - mean) if x > 0)
    low, high = -math.log(1 - mean), (level - entropy) / (1 - mean)
    for _ in range(100):
        z = (low + high) / 2
        log = math.log(-math.expm1(-z)) if mean > 0 else 0.0
        if entropy - mean * log + (1 - mean) * z > level:
            high = z
        else:
            low = z
    return low


class NaiveIndex:
    """Play the arm with the largest index, one without decisions first. `past` has (weight, arm, reward or None)."""

    untold = 1.0

    def __init__(self, arms, horizon, key, environment=None):
        self.arms, self.horizon = arms, horizon
        self.decisions = []  # [arm, reward or None] of each round
        self.since = [0] * arms  # the first round of which an arm is known

    def chosen(self, t, a):
        self.decisions.append([a, None])

    def forget(self, a):
        self.since[a] = len(self.decisions)
        self.decisions = [[None, None] if arm == a else [arm, reward] for arm, reward in self.decisions]

    def past(self, t):
        return [(1.0, arm, reward) for arm, reward in self.decisions]

    def select(self, t):
        past = self.past(t)
        indices = []
        for a in range(self.arms):
            asked = math.fsum(w for w, arm, _ in past if arm == a)
            told = math.fsum(w for w, arm, reward in past if arm == a and reward is not None)
            total = math.fsum(w * reward for w, arm, reward in past if arm == a and reward is not None)
            mean = total / told if told > 0 else self.untold
            indices.append(self.index(mean, asked, t - self.since[a]) if asked > 0 else math.inf)
            if asked == 0:
                self.decisions.append([a, None])
                return a, 1.0
        arm = first_largest(indices)
        self.decisions.append([arm, None])
        return arm, 1.0

    def update(self, t, a, y, q):
        self.decisions[t][1] = y


class NaiveKlUcb(NaiveIndex):
    untold = 0.5

    def __init__(self, arms, horizon, key, environment=None, c=0.0, clock="arm"):
        super().__init__(arms, horizon, key)
        self.c, self.clock = c, clock

    def index(self, mean, asked, t):
        if self.clock == "known":
            t = sum(arm is not None for arm, _ in self.decisions)
        log = math.log(t + 1)
        return kl_index(mean, (log + (self.c * math.log(log) if log > 1 else 0.0)) / asked)


class NaiveMoss(NaiveIndex):
    def index(self, mean, asked, t):
        return mean + math.sqrt(max(math.log(self.horizon / (self.arms * asked)), 0.0) / asked)


class NaiveMossAnytime(NaiveIndex):
    def __init__(self, arms, horizon, key, environment=None, alpha=1.35):
        super().__init__(arms, horizon, key)
        self.alpha = alpha

    def index(self, mean, asked, t):
        return mean + math.sqrt((1 + self.alpha) / 2 * max(math.log((t + 1) / (self.arms * asked)), 0.0) / asked)


class NaiveWindow(NaiveIndex):
    """The last `window` rounds are all there is."""

    def __init__(self, arms, horizon, key, environment=None, changes=None, window=None, exploration=0.5):
        super().__init__(arms, horizon, key)
        root = math.sqrt(horizon * math.log(horizon) / (changes or 1))
        self.length = max(1, math.floor(2 * root)) if window is None else window
        self.exploration = exploration

    def window(self, t):
        return self.length

    def past(self, t):
        return super().past(t)[max(0, t - self.window(t)) :]


class NaiveSwUcb(NaiveWindow):
    def index(self, mean, asked, t):
        return mean + math.sqrt(self.exploration * math.log(min(t, self.length)) / asked)


class NaiveSwKlUcb(NaiveWindow):
    untold = 0.5

    def index(self, mean, asked, t):
        return kl_index(mean, math.log(min(t, self.length)) / asked)


class NaiveSwUcbSharp(NaiveWindow):
    def __init__(self, arms, horizon, key, environment=None, changes=None, alpha=None, scale=1.0):
        super().__init__(arms, horizon, key, window=1)
        nu = min(1.0, math.log(changes) / math.log(horizon)) if changes and horizon > 1 else 0.0
        self.alpha = (1 - nu) / 2 if alpha is None else alpha
        self.scale = scale

    def window(self, t):
        return min(math.ceil(self.scale * t**self.alpha), t)

    def index(self, mean, asked, t):
        return mean + math.sqrt((1 + self.alpha) * math.log(t) / asked)


class NaiveDiscounted(NaiveIndex):
    """k rounds ago weighs discount^k."""

    def __init__(self, arms, horizon, key, environment=None, changes=None, discount=None, exploration=0.5):
        super().__init__(arms, horizon, key)
        self.discount = 1 - math.sqrt((changes or 1) / horizon) / 4 if discount is None else discount
        self.exploration = exploration

    def past(self, t):
        return [(self.discount ** (t - 1 - s), arm, reward) for s, (arm, reward) in enumerate(self.decisions)]

    def weight(self, t):
        return math.fsum(self.discount**k for k in range(t))


class NaiveDUcb(NaiveDiscounted):
    def index(self, mean, asked, t):
        return mean + 2 * math.sqrt(self.exploration * math.log(self.weight(t)) / asked)


class NaiveDKlUcb(NaiveDiscounted):
    untold = 0.5

    def index(self, mean, asked, t):
        return kl_index(mean, math.log(self.weight(t)) / asked)


class NaiveLmDsee:
    """Epochs as lists: the arms to explore in turn, then the best of them."""

    def __init__(self, arms, horizon, key, environment=None, changes=None, gap=0.5, a=1.0, b=0.25, rho=None):
        self.arms, self.a, self.b, self.gamma = arms, a, b, 2 / gap**2
        nu = math.log(changes) / math.log(horizon) if changes and horizon > 1 else 0.0
        self.rho = (1 - nu) / (1 + nu) if rho is None else rho
        self.length = 1
        while not a * self.length >= arms * math.ceil(self.gamma * math.log(self.length * b)) > 0:
            self.length += 1
        self.epoch, self.start, self.plan = 0, 0, []
        self.rewards = {}

    def select(self, t):
        if t == self.start + len(self.plan):
            self.epoch += 1
            growth = self.epoch**self.rho
            samples = math.ceil(self.gamma * math.log(growth * self.length * self.b))
            explore = [arm for arm in range(self.arms) for _ in range(samples)]
            rounds = math.ceil(self.a * growth * self.length)
            self.start, self.plan = t, explore + [None] * (rounds - len(explore))
            self.rewards = {arm: [] for arm in range(self.arms)}
        arm = self.plan[t - self.start]
        if arm is None:
            arm = first_largest([sum(r) / len(r) if r else 0.5 for r in self.rewards.values()])
        return arm, 1.0

    def update(self, t, a, y, q):
        if t >= self.start and self.plan[t - self.start] is not None:
            self.rewards[a].append(y)


TWINS = {
    "kl_ucb": NaiveKlUcb,
    "moss": NaiveMoss,
    "moss_anytime": NaiveMossAnytime,
    "sw_ucb": NaiveSwUcb,
    "sw_kl_ucb": NaiveSwKlUcb,
    "sw_ucb_sharp": NaiveSwUcbSharp,
    "d_ucb": NaiveDUcb,
    "d_kl_ucb": NaiveDKlUcb,
    "lm_dsee": NaiveLmDsee,
}
