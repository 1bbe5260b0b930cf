"""Plain twins of the policies that are not told the changes: every interval is looked at again in every round."""

import math

import numpy as np

from naive_indices import NaiveSwUcb
from naive_rivals import NaiveExp3, NaiveExp3S
from sigshift.rng import philox, uniform


class NaiveAdSwitch:
    """Algorithm 1 with lists: (3) and (4) over all intervals, (1) over the starts of the grid."""

    def __init__(self, arms, horizon, key, environment=None, detection=2.0, eviction=None, checking=1.0):
        self.arms, self.key = arms, key
        log = math.log(max(horizon, 2))
        self.c1 = (8.0 * detection if eviction is None else eviction) * log
        self.c = detection * log
        self.rate = checking / math.sqrt(arms * horizon * log)
        self.last = [-1] * arms
        self.episode, self.restarts = 0, []
        self.over = True

    def begin(self, t):
        if self.episode:
            self.restarts.append(t)
        self.episode += 1
        self.over = False
        self.start = t
        self.good = set(range(self.arms))
        self.asked = [0] * self.arms
        self.obligations = [[] for _ in range(self.arms)]
        self.evicted = {}
        # the sums of an arm's rewards after each of them; all counts and sums after each reward of a GOOD arm
        self.sums = [[0.0] for _ in range(self.arms)]
        self.states = [([0] * self.arms, [0.0] * self.arms)]
        self.highest = [[-math.inf, -math.inf] for _ in range(self.arms)]

    def busy(self, a):
        return a in self.good or any(self.asked[a] < end for end in self.obligations[a])

    def sizes(self, a):
        return [i for i in range(1, 31) if 2.0**-i >= self.evicted[a][1] / 16]

    def chance(self, i):
        return min(1.0, 2.0**-i * self.rate * math.sqrt(self.episode))

    def quiet(self, a):
        return math.prod(1 - self.chance(i) for i in self.sizes(a))

    def select(self, t):
        if self.over:
            self.begin(t)
        asleep = [a for a in range(self.arms) if not self.busy(a)]
        draws, reached, survival = 0, 0.0, 1.0
        for a in sorted(self.evicted):
            for i in reversed(self.sizes(a)):
                reached += survival * self.chance(i)
                if uniform(self.key, t, draws) < reached:
                    self.obligations[a].append(self.asked[a] + max(1, math.floor(self.c * 4.0**i)))
                    draws, reached, survival = draws + 1, 0.0, 1.0
                    break
                survival *= 1 - self.chance(i)
        arm = min((a for a in range(self.arms) if self.busy(a)), key=lambda a: self.last[a])
        propensity = 1 - self.quiet(arm) if arm in asleep else 1.0
        for a in asleep:
            if self.last[a] < self.last[arm]:
                propensity *= self.quiet(a)
        self.last[arm] = t
        self.asked[arm] += 1
        return arm, propensity

    def lower_bounds(self, a, side):
        """Of all intervals of arm a that end with its last reward: of the rewards, or (side 1) of 1 - reward."""
        sums = self.sums[a]
        now = len(sums) - 1
        gains = [sums[now] - sums[j] for j in range(now)]
        if side == 1:
            gains = [now - j - gain for j, gain in enumerate(gains)]
        return [gain / (now - j) - math.sqrt(self.c / (now - j)) for j, gain in enumerate(gains)]

    def update(self, t, a, y, q):
        if self.over or t < self.start:
            return
        self.sums[a].append(self.sums[a][-1] + y)
        if a in self.good:
            self.states.append(([len(sums) - 1 for sums in self.sums], [sums[-1] for sums in self.sums]))
        for b in self.good:
            for side in range(2):
                self.highest[b][side] = max([self.highest[b][side], *self.lower_bounds(b, side)])
            if sum(self.highest[b]) > 1.0:  # condition (3)
                self.over = True
        for b, (mean, gap) in self.evicted.items():
            bars = (mean + gap / 4, 1.0 - mean + gap / 4)
            if any(bound > bars[side] for side in range(2) for bound in self.lower_bounds(b, side)):  # condition (4)
                self.over = True
        if self.over:
            return
        self.evicted.update(self.losers())
        self.good -= set(self.evicted)
        if not self.good:
            self.over = True

    def losers(self):
        """The arms for which (1) holds, with (2)."""
        told = len(self.states) - 1
        found = {}
        for start in range(told - 1, -1, -1):
            power = start & -start  # the largest power of two that divides it
            if start and told - start > 8 * power:
                continue
            counts = [n - m for n, m in zip(self.states[told][0], self.states[start][0], strict=True)]
            sums = [x - y for x, y in zip(self.states[told][1], self.states[start][1], strict=True)]
            for a in self.good:
                gaps = []
                for b in self.good - {a}:
                    n = min(counts[a] - 1, counts[b])
                    if n > 0:
                        gap = sums[b] / counts[b] - sums[a] / counts[a]
                        if gap > math.sqrt(self.c1 / n):
                            gaps.append(gap)
                if gaps:  # the longest interval comes last
                    found[a] = (sums[a] / counts[a], max(gaps))
        return found


class NaiveMaster:
    """Algorithms 1 and 2 with a list of all instances and of all rounds; every sum is made anew in every round."""

    def __init__(self, arms, horizon, key, environment=None, scale=1.0, delta=None, width=2.0):
        self.arms, self.key, self.width = arms, key, width
        rounds = max(horizon, 2)
        self.log = math.log(rounds / (1 / rounds if delta is None else delta))
        self.margin = scale * 6 * (math.log2(rounds) + 1) * self.log
        self.restarts = []
        self.start, self.order = None, None

    def rho(self, n):
        return math.sqrt(self.arms * self.log / n) + self.arms * self.log / n

    def begin(self, t, order):
        self.start, self.order = t, order
        self.rounds = []  # (round, its f)
        self.rewards = []  # those of the block, in order of their coming
        self.instances = []  # [order, first round, round after the last, plays, rewards, rewards before it]

    def fails(self, t):
        if not self.rewards:
            return False
        smallest = min(f for _, f in self.rounds)
        for _, _, end, _, _, before in self.instances:
            told = self.rewards[before:]
            if end == t and told and math.fsum(told) / len(told) >= smallest + 9 * self.margin * self.rho(len(told)):
                return True
        behind = math.fsum(f for _, f in self.rounds) / len(self.rounds) - math.fsum(self.rewards) / len(self.rewards)
        return behind >= 3 * self.margin * self.rho(len(self.rewards))

    def index(self, instance, a):
        _, _, _, plays, told, _ = instance
        n, rewards = plays.count(a), [y for arm, y in told if arm == a]
        mean = math.fsum(rewards) / len(rewards) if rewards else 0.0
        return mean + self.width * math.sqrt(self.log / max(1, n))

    def choice(self, instance):
        indices = [self.index(instance, a) for a in range(self.arms)]
        return indices.index(max(indices)), max(indices)

    def running(self, t):
        return [one for one in self.instances if one[1] <= t < one[2]]

    def select(self, t):
        if self.start is None:
            self.begin(t, 0)
        elif self.fails(t):
            self.restarts.append(t)
            self.begin(t, 0)
        elif t == self.start + 2**self.order:
            self.begin(t, self.order + 1)
        before = self.running(t)
        none_begins = 1.0
        for m in range(self.order + 1):
            if (t - self.start) % 2**m == 0:
                probability = self.rho(2**self.order) / self.rho(2**m)
                none_begins *= 1 - probability
                if uniform(self.key, t, m) < probability:
                    self.instances.append([m, t, t + 2**m, [], [], len(self.rewards)])
        active = min(self.running(t))
        arm, f = self.choice(active)
        propensity = 1.0
        if before:
            propensity = 0.0
            if self.choice(min(before))[0] == arm:
                propensity += none_begins
            if arm == 0:
                propensity += 1 - none_begins
        active[3].append(arm)
        self.rounds.append((t, f))
        return arm, propensity

    def update(self, t, a, y, q):
        if t < self.start:
            return
        self.rewards.append(y)
        _, _, _, _, told, _ = min(one for one in self.instances if one[1] <= t < one[2])
        told.append((a, y))


class NaiveBob:
    """Algorithm 2 of Cheung et al.: a new base for every block, and the twin of EXP3 to choose its knob."""

    def __init__(self, arms, horizon, key, environment=None, base="sw_ucb", block=None, base_exploration=0.5):
        self.arms, self.key, self.base, self.exploration = arms, key, base, base_exploration
        self.block = min(math.isqrt(arms * horizon) if block is None else block, horizon)
        steps = max(1, math.ceil(math.log(self.block)))
        self.knobs = sorted({math.floor(self.block ** (i / steps) + 1e-9) for i in range(steps + 1)})
        if base == "exp3s":
            self.knobs = sorted({self.gamma(segments) for segments in self.knobs})
        self.chooser = NaiveExp3(len(self.knobs), math.ceil(horizon / self.block), key)
        self.rewards = []

    def gamma(self, segments):
        log = math.log(self.arms * self.block)
        return min(1.0, math.sqrt(self.arms * ((segments * log + math.e) / (math.e - 1)) / self.block))

    def begin(self, t):
        if self.rewards:
            self.chooser.update(None, self.knob, math.fsum(self.rewards) / len(self.rewards), self.chance)
        self.start, self.rewards = t, []
        number = t // self.block
        self.knob, self.chance = self.chooser.select(number)
        high, low, _, _ = philox(self.key, np.uint64(number), *[np.uint64(word) for word in (0, 0, 7)])
        key = self.key ^ ((high << np.uint64(32)) | low)
        if self.base == "sw_ucb":
            window = self.knobs[self.knob]
            self.player = NaiveSwUcb(self.arms, self.block, key, window=window, exploration=self.exploration)
        else:
            self.player = NaiveExp3S(self.arms, self.block, key)
            self.player.gamma = self.knobs[self.knob]

    def select(self, t):
        if t % self.block == 0:
            self.begin(t)
        return self.player.select(t - self.start)

    def update(self, t, a, y, q):
        if t >= self.start:
            self.rewards.append(y)
            self.player.update(t - self.start, a, y, q)


TWINS = {"ad_switch": NaiveAdSwitch, "master": NaiveMaster, "bob": NaiveBob}
