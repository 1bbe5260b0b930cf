"""Plain twin of `auto`, written from its page: lists of rewards, every split tried, every index solved."""

import math

from naive_detectors import divergence
from naive_indices import first_largest, kl_index


class Memory:
    """What is known of one arm."""

    def __init__(self, since=0, kept=0.0, total=0.0):
        self.since = since  # the first decision that counts
        self.begun = since - kept
        self.asked = self.told = kept
        self.total = total
        self.rewards = []  # those that the detector has seen
        self.probe = None

    def mean(self):
        return min(max(self.total, 0.0) / self.told, 1.0) if self.told > 0 else 0.5


class NaiveAuto:
    def __init__(self, arms, horizon, key, environment=None, **params):
        self.arms = arms
        self.rate, self.width, self.fade, self.level = 0.01, 0.7, 0.9, 0.8
        self.kept, self.ahead, self.drop, self.accept, self.longest, self.patience = 5, 0.4, 0.4, 7.0, 30, 40.0
        self.everything = params.pop("forget", "one") == "all"
        self.__dict__.update(params)
        self.memory = [Memory() for _ in range(arms)]
        self.credit = [a / arms for a in range(arms)]
        self.rates = [0.0] * arms
        self.due = int(self.patience) * arms  # when the rates are reckoned again
        self.waiting = set()  # arms that a probe is due for
        self.drops = self.moves = self.rises = self.now = 0
        self.alert = None
        self.calls = 0.0
        self.fell = None

    def leader(self):
        known = [a for a in range(self.arms) if self.memory[a].told > 0] or [0]
        return max(known, key=lambda a: (self.memory[a].mean(), -a))

    def seriousness(self):
        return (1 + self.drops) / (1 + self.moves)

    def select(self, t):
        self.now = t + 1
        if t >= self.due:
            self.reckon(t)
        for a in range(self.arms):
            self.credit[a] += self.rates[a]
            if self.credit[a] >= 1:
                self.credit[a] -= 1
                self.waiting.add(a)
                self.memory[a].probe = None
        for a in range(self.arms):
            if a in self.waiting:
                self.waiting.remove(a)
                self.memory[a].probe = None if a == self.leader() else self.begin(a)
            probe = self.memory[a].probe
            if probe and probe["round"] is None:
                probe["round"] = t
                self.memory[a].asked += 1
                return a, 1.0
        best = self.play(t)
        self.memory[best].asked += 1
        return best, 1.0

    def play(self, t):
        indices = []
        for a, m in enumerate(self.memory):
            if m.asked == 0:
                return a
            level = self.width * (math.log(t + 1 - self.fade * m.begun) - math.log(m.asked) / 2)
            indices.append(kl_index(m.mean(), max(level, 0.0) / m.asked))
        return first_largest(indices)

    def reckon(self, t):
        top = self.memory[self.leader()].mean()
        start = self.patience * self.arms * self.seriousness()
        age = None if self.alert is None or self.alert > t else t - self.alert
        late = age is None or age >= start
        for a, m in enumerate(self.memory):
            gap = max(top - m.mean(), 0.05)
            nu = 1 + self.moves + self.rises
            rate = self.rate * math.sqrt(nu / self.arms * math.log(t + 2) / (t + 1) * (1 - top) / gap)
            rate = min(rate, 0.2 / self.arms)
            if age is not None and late:
                rate = max(rate, 0.7 / age)
            self.rates[a] = rate if a != self.leader() and self.rate > 0 else 0.0
        wait = t if age is None else age if late else min(t, int(start) - age)
        self.due = t + 1 + wait // 20

    def begin(self, a):
        m = self.memory[a]
        old = (m.total + 0.5) / (m.told + 1)
        top = max(old, self.memory[self.leader()].mean())
        new = top + self.ahead * (1 - top)
        old, new = min(max(old, 0.001), 0.999), min(max(new, 0.002), 0.9995)
        return {"round": None, "old": old, "new": new, "rewards": [], "ratio": 0.0}

    def update(self, t, a, y, q):
        m = self.memory[a]
        if t < m.since:
            return
        m.told += 1
        m.total += y
        if m.probe and m.probe["round"] == t:
            self.follow(a, y)
        if self.memory[a] is m:
            m.rewards.append(y)
            self.watch(a)

    def follow(self, a, y):
        m, probe = self.memory[a], self.memory[a].probe
        probe["rewards"].append(y)
        probe["round"] = None
        old, new = probe["old"], probe["new"]
        probe["ratio"] += y * math.log(new / old) + (1 - y) * math.log((1 - new) / (1 - old))
        if probe["ratio"] >= self.accept and m.told > len(probe["rewards"]):
            self.rises += 1
            self.forget(a, len(probe["rewards"]), sum(probe["rewards"]))
        elif probe["ratio"] <= -self.drop or len(probe["rewards"]) >= self.longest:
            m.probe = None

    def watch(self, a):
        seen = self.memory[a].rewards
        n, total = len(seen), sum(seen)
        threshold = self.level * (math.log(3) + 0.5 * math.log(self.now) + 1.5 * math.log(n))
        best, split, part, before = -1.0, 0, 0.0, 0.0
        for i in range(1, n):
            before += seen[i - 1]
            means = min(before / i, 1.0), min(max(total - before, 0.0) / (n - i), 1.0)
            ratio = i * divergence(means[0], total / n) + (n - i) * divergence(means[1], total / n)
            if ratio > best + 1e-9:
                best, split, part = ratio, i, before
        if best >= threshold:
            self.alarm(a, part / split, (total - part) / (n - split), n - split)

    def alarm(self, a, before, after, left):
        first = all(self.memory[b].mean() <= before for b in range(self.arms) if b != a)
        kept = min(self.kept, left)
        self.forget(a, kept, kept * after)
        if self.everything:
            for b in set(range(self.arms)) - {a}:
                self.forget(b, 0.0, 0.0)
        elif after >= before:
            self.rises += not first
        elif first:
            self.drops += 1
            self.moves += self.fell != a
            self.fell = a
            self.alert = self.now
            self.calls += 1 / self.seriousness()
            if self.calls >= 1:
                self.calls -= 1
                self.waiting |= set(range(self.arms)) - {a}
                for b in self.waiting:
                    self.memory[b].probe = None

    def forget(self, a, n, total):
        self.waiting.discard(a)
        self.memory[a] = Memory(self.now, n, total)
        self.due = self.now


TWINS = {"auto": NaiveAuto}
