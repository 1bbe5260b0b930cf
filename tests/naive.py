"""Plain, slow twins of the kernels, written from the papers and not from the kernels."""

import math

import numpy as np

from sigshift.rng import uniforms


class NaiveMeta:
    """Algorithms 1 and 2 with the recursion as an explicit stack, scanning every interval.

    ``sums[s1, a]`` is the sum of |A_t| Y_t of arm a over the events that count for intervals starting at s1.
    A late reward counts for starts before the first base that began after its decision.
    """

    def __init__(self, arms, horizon, key, threshold="paper", c0=0.2, replay_rate=0.5, first=0):
        self.arms, self.horizon, self.key = arms, horizon, key
        self.threshold, self.c0, self.replay_rate = threshold, c0, replay_rate
        self.restarts = []
        self.begin(first)

    def begin(self, t):
        self.start = t
        self.now = t
        self.master = set(range(self.arms))
        self.stack = [(t, self.horizon - t, set(range(self.arms)))]
        self.sums = np.zeros((self.horizon + 2, self.arms))
        self.worst = np.full(self.arms, -1)  # the latest start of a violated interval against each arm

    def theta(self, n):
        k, log = self.arms, math.log(self.horizon)
        if self.threshold == "paper":
            return log * np.sqrt(self.c0 * np.maximum(k * n, k**2))
        return math.sqrt(self.c0) * np.sqrt(np.maximum(k * log * n, k**2 * log**2))

    def schedule(self, t, chance):
        """The largest m with B_{t,m} = 1: its law, read off with one uniform number."""
        lengths = [2**i for i in range(1, math.ceil(math.log2(self.horizon)) + 1)] if self.horizon > 1 else []
        reached = 0.0
        for i, m in reversed(list(enumerate(lengths))):
            p = [min(1.0, self.replay_rate / math.sqrt(x * (t - self.start))) for x in lengths]
            reached += p[i] * math.prod([1 - q for q in p[i + 1 :]])
            if chance < reached:
                return m
        return 0

    def select(self, t):
        pick, chance = uniforms(self.key, t, 0, 0)
        if t > self.start:
            self.scan(t - 1)
            m = self.schedule(t, chance)
            if m > 0:
                self.stack.append((t, m, set(range(self.arms))))
            else:
                while len(self.stack) > 1 and t > self.stack[-1][0] + self.stack[-1][1]:
                    self.stack.pop()
                start, _, candidates = self.stack[-1]
                self.master -= {a for a in range(self.arms) if self.worst[a] >= self.start}
                candidates -= {a for a in range(self.arms) if self.worst[a] >= start}
                if not self.master:
                    self.begin(t)
                    self.restarts.append(t)
        self.now = t
        candidates = sorted(self.stack[-1][2])
        return candidates[int(pick * len(candidates))], 1.0 / len(candidates)

    def update(self, t, a, y, q):
        if t < self.start:
            return
        cut = min([base["start"] for base in self.live() if base["start"] > t], default=self.now + 1)
        self.sums[self.start : min(self.now + 1, cut), a] += round(1 / q) * y

    def scan(self, s2):
        s1 = np.arange(self.start, s2)
        limit = self.theta(s2 - s1)
        sums = self.sums[self.start : s2]
        for a in range(self.arms):
            lost = (sums - sums[:, [a]]).max(axis=1)
            hit = np.flatnonzero(lost > limit)
            if hit.size:
                self.worst[a] = max(self.worst[a], s1[hit[-1]])

    def live(self):
        """The stack without the bases that will never be active again."""
        ends = [start + length for start, length, _ in self.stack]
        keep = [i for i in range(len(ends)) if i == 0 or all(e < ends[i] for e in ends[i + 1 :])]
        return [
            {"start": self.stack[i][0], "length": self.stack[i][1], "candidates": sorted(self.stack[i][2])}
            for i in keep
        ]


class NaiveVariance:
    """The eviction test in a variance clock, scanning every start of every pair after every round."""

    def __init__(self, arms, horizon, level=1.0, floor=0.1):
        self.arms = arms
        self.log = level * math.log(2 * arms * horizon)
        self.floor = floor * arms**2 * self.log
        self.clear()

    def clear(self):
        self.round = 0
        self.bases = [0]  # the round in which each base on the stack began
        self.dead = [set()]  # the arms that each has lost
        self.history = {}  # (b, a) -> rounds, gaps and clocks before each of its rounds, and both now

    def begin_base(self):
        self.bases.append(self.round)
        self.dead.append(set())

    def end_base(self):
        self.bases.pop()
        self.dead.pop()

    def low(self, a):
        return next((i for i, dead in enumerate(self.dead) if a not in dead), len(self.dead))

    def observe(self, b, x):
        candidates = [a for a in range(self.arms) if a not in self.dead[-1]]
        for a in candidates:
            for winner, loser, gain in ((b, a, x), (a, b, -x)):
                if a != b:
                    rounds, gaps, clocks = self.history.setdefault((winner, loser), ([], [0.0], [0.0]))
                    rounds.append(self.round)
                    gaps.append(gaps[-1] + gain)
                    clocks.append(clocks[-1] + x * x)
        for (winner, loser), (rounds, gaps, clocks) in self.history.items():
            if winner not in candidates or loser not in candidates:
                continue
            limit = np.sqrt(2 * self.log) * np.sqrt(clocks[-1] + self.floor - np.array(clocks[:-1]))
            hit = np.flatnonzero(gaps[-1] > np.array(gaps[:-1]) + limit)
            if hit.size:
                for start, dead in zip(self.bases, self.dead, strict=True):
                    if start <= rounds[hit[-1]]:
                        dead.add(loser)
        self.round += 1


class NaiveConscience:
    """Episodes, replays and their evidence, with the stack of bases as a list of [start, length]."""

    def __init__(self, arms, rounds, replay_rate, shortest, level, floor):
        self.arms, self.rounds, self.replay_rate, self.shortest = arms, rounds, replay_rate, shortest
        self.evidence = NaiveVariance(arms, rounds, level, floor)
        self.rewards, self.mean = 0, 0.0
        self.restarts = []

    def begin(self, t):
        self.evidence.clear()
        self.stack = [[t, max(self.rounds - t, 0)]]

    def restart(self, t):
        self.begin(t)
        self.restarts.append(t)

    def schedule(self, age, chance):
        """The largest length that is due: its law, read off with one uniform number."""
        lengths = [self.shortest * 2**i for i in range(64) if self.shortest * 2**i <= age]
        p = [min(1.0, self.replay_rate / math.sqrt(m * age)) for m in lengths]
        reached = 0.0
        for i in reversed(range(len(lengths))):
            reached += p[i] * math.prod([1 - x for x in p[i + 1 :]])
            if chance < reached:
                return lengths[i]
        return 0

    def due(self, t, chance):
        m = self.schedule(t - self.stack[0][0], chance)
        for i in reversed(range(1, len(self.stack))):  # over, or never active again
            if t > sum(self.stack[i]) or (m > 0 and sum(self.stack[i]) <= t + m):
                for parts in (self.stack, self.evidence.bases, self.evidence.dead):
                    del parts[i]
        if m > 0:
            self.stack.append([t, m])
            self.evidence.begin_base()

    def candidates(self, level=-1):
        return [a for a in range(self.arms) if a not in self.evidence.dead[level]]

    def draw(self, pick):
        count = len(self.candidates())
        if len(self.stack) == 1 or count < 2:
            return -1, 1.0
        return self.candidates()[int(pick * count)], 1.0 / count

    def weigh(self, t, a, y, q):
        if len(self.stack) == 1 or q == 1.0 or t < self.stack[-1][0]:
            return False
        before = sum(map(len, self.evidence.dead))
        if a in self.candidates():
            self.evidence.observe(a, round(1 / q) * (y - self.mean))
        self.rewards = min(self.rewards + 1, 200)
        self.mean += (y - self.mean) / self.rewards
        return sum(map(len, self.evidence.dead)) > before

    def listed(self):
        bases = enumerate(self.stack)
        return [{"start": start, "length": m, "candidates": self.candidates(i)} for i, (start, m) in bases]
