"""Plain twin of `auto`, written from its page: lists of rewards, every split tried, every index solved."""

import math

from naive import NaiveConscience
from naive_detectors import divergence
from naive_indices import first_largest, kl_index
from sigshift.rng import uniforms


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
        self.arms, self.key = arms, key
        self.rate, self.width, self.fresh, self.fade, self.level = 0.01, 0.7, 5.0, 0.9, 1.0
        self.kept, self.memory, self.patience = 5, 30.0, 40.0
        self.ahead, self.drop, self.accept, self.longest = 0.4, 0.4, 7.0, 30
        self.replay_rate, self.shortest, self.rounds = 0.0002, 64, 10**8
        self.excursion, self.soft_restarts = 4.0, 100
        self.everything = params.pop("forget", "one") == "all"
        self.__dict__.update(params)
        self.conscience = NaiveConscience(arms, self.rounds, self.replay_rate, self.shortest, 1.0, 0.1)
        self.conscience.begin(0)
        self.away = self.soft = 0  # plays of arms that are out in this episode, and soft restarts since the last hard
        self.spent = self.hard = self.limited = 0  # how often it has come to that
        self.confined = False
        self.known = [Memory() for _ in range(arms)]
        self.credit = [a / arms for a in range(arms)]
        self.rates = [0.0] * arms
        self.due = int(self.patience) * arms  # when the rates are reckoned again
        self.waiting = set()  # arms that a probe is due for
        self.drops = self.moves = self.rises = self.now = 0
        self.alert = None
        self.calls = 0.0
        self.fell = None

    def leader(self):
        told = [a for a in self.allowed() if self.known[a].told > 0] or [0]
        return max(told, key=lambda a: (self.known[a].mean(), -a))

    def allowed(self):
        """The arms that may be played."""
        return self.conscience.candidates(0) if self.confined else list(range(self.arms))

    def seriousness(self):
        return (1 + self.drops) / (1 + self.moves)

    def select(self, t):
        self.now = t + 1
        if self.replay_rate > 0:
            pick, chance = uniforms(self.key, t, 0, 0)
            self.conscience.due(t, chance)
            a, q = self.conscience.draw(pick)
            if a >= 0:
                self.known[a].asked += 1
                return a, q
        a = self.free(t)
        if a not in self.conscience.candidates(0):
            a = self.excuse(t, a)
        self.known[a].asked += 1
        return a, 1.0

    def free(self, t):
        """What is played but for the conscience."""
        if t >= self.due:
            self.reckon(t)
        for a in range(self.arms):
            self.credit[a] += self.rates[a]
            if self.credit[a] >= 1:
                self.credit[a] -= 1
                self.waiting.add(a)
                self.known[a].probe = None
        for a in range(self.arms):
            if a in self.waiting:
                self.waiting.remove(a)
                dismissed = a == self.leader() or a not in self.allowed()
                self.known[a].probe = None if dismissed else self.begin(a)
            probe = self.known[a].probe
            if probe and probe["round"] is None and a in self.allowed():
                probe["round"] = t
                return a
        return self.play(t)

    def play(self, t):
        indices = []
        for a in self.allowed():
            m = self.known[a]
            if m.asked == 0:
                return a
            width = self.width + (1 - self.width) * min(1, self.fresh / m.asked)
            level = width * max(math.log(t + 1 - self.fade * m.begun) - math.log(m.asked) / 2, 0.0)
            indices.append(kl_index(m.mean(), level / m.asked))
        return self.allowed()[first_largest(indices)]

    def excuse(self, t, a):
        """Arm a, which is out, was to be played."""
        self.away += 1
        age = t - self.conscience.stack[0][0] + 1
        if self.away <= self.excursion * math.sqrt(self.arms * age):
            return a
        self.spent += 1
        if self.soft < self.soft_restarts:
            self.soft += 1
            self.restart(t)
            return a
        self.confined = True
        return self.play(t)

    def restart(self, t):
        self.conscience.restart(t)
        self.away = 0
        self.confined = False

    def reckon(self, t):
        top = self.known[self.leader()].mean()
        start = self.patience * self.arms * self.seriousness()
        age = None if self.alert is None or self.alert > t else t - self.alert
        late = age is None or age >= start
        for a, m in enumerate(self.known):
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
        m = self.known[a]
        old = (m.total + 0.5) / (m.told + 1)
        top = max(old, self.known[self.leader()].mean())
        new = top + self.ahead * (1 - top)
        old, new = min(max(old, 0.001), 0.999), min(max(new, 0.002), 0.9995)
        return {"round": None, "old": old, "new": new, "rewards": [], "ratio": 0.0}

    def update(self, t, a, y, q):
        self.conscience.weigh(t, a, y, q)
        if not self.conscience.candidates(0):
            for b in range(self.arms):
                self.forget(b, 0.0, 0.0)
            self.soft = 0
            self.hard += 1
            self.restart(self.now)
        m = self.known[a]
        if t < m.since:
            return
        m.told += 1
        m.total += y
        if m.probe and m.probe["round"] == t:
            self.follow(a, y)
        if self.known[a] is m:
            m.rewards.append(y)
            self.watch(a)

    def follow(self, a, y):
        m, probe = self.known[a], self.known[a].probe
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
        seen = self.known[a].rewards
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
        first = a in self.allowed() and all(self.known[b].mean() <= before for b in self.allowed() if b != a)
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
                for b in set(range(self.arms)) - {a}:
                    self.waiting.add(b)
                    self.known[b].probe = None
                    self.limit(self.known[b])

    def limit(self, m):
        if m.told > self.memory:
            m.asked -= m.told - self.memory
            m.total *= self.memory / m.told
            m.told = self.memory
            self.limited += 1

    def forget(self, a, n, total):
        self.waiting.discard(a)
        self.known[a] = Memory(self.now, n, total)
        self.due = self.now


TWINS = {"auto": NaiveAuto}
