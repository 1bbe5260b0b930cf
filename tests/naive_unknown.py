"""Plain twins of the policies that are not told the changes: every interval is looked at again in every round."""

import math

from sigshift.rng import uniform


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


TWINS = {"ad_switch": NaiveAdSwitch}
