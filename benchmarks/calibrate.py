"""The Monte Carlo that sets the constants of the calibrated META and of auto; its result is kept in calibration.json.

Run it with `scripts/bench calibrate` (a few minutes on one core). Three probabilities in runs in which nothing
changes, and one in runs in which nothing that matters does:

- that an arm which is never worse than another is evicted within 10^5 rounds of uniform play among the candidates, all
  arms being alike (so that one of any number of arms that are best throughout has the worst of it);
- that an arm of 10^5 rewards of one mean shows a change;
- that an arm whose mean is less than the leader's is promoted, for each of its rewards (in rounds from 10^5 on);
- that a run of 10^5 rounds, as META plays it, has a restart.

Two more are those of ``auto``: that its detector gives an alarm within 10^5 rewards of one mean, the first of which
comes in round 10^4, and that a probe of an arm that has not risen is accepted.

Each is found for several values of its constant, with the upper end of an exact 95 % interval (Clopper and Pearson).
"""

import json
from pathlib import Path

import numpy as np

from sigshift.detectors import hull
from sigshift.environments import env
from sigshift.kernel import kernel
from sigshift.meta import leading, variance
from sigshift.policies import auto
from sigshift.policy import policy
from sigshift.rng import derive, uniforms
from sigshift.simulation import simulate

SEED = 7
RESULT = Path(__file__).with_name("calibration.json")
ROUNDS = 100_000
RUNS = 200
EVICTION = {"arms": (2, 5, 10, 20), "means": (0.5, 0.9), "levels": (0.5, 0.75, 1.0)}
CHANGE = {"means": (0.01, 0.1, 0.5, 0.9), "factors": (0.9, 1.1, 1.3)}
PROMOTION = {"gaps": (0.05, 0.1, 0.3), "factors": (0.15, 0.2, 0.25)}
RESTART = ("suite-stat10", "season", "suite-benign-joint", "suite-benign-losers", "suite-blips")
ALARM = {"means": (0.05, 0.5, 0.9), "levels": (0.6, 0.8, 1.0)}
RISE = {"gaps": (0.02, 0.1, 0.3), "accepts": (4.0, 7.0)}
PROBES = 1_000_000
SUBJECT = policy("meta")


@kernel
def evicted(p, s, key, mean, rounds, centre):
    """Draw from the candidates, all of one mean, until arm 0 is evicted, the state must grow or time is up."""
    arms = s.low.size
    left = 0
    for a in range(arms):
        left += s.low[a] == 0
    t = int(centre[2])
    while t < rounds and s.clock[variance.CROWDED] == 0:
        pick, chance = uniforms(key, t, 0, 0)
        y = 1.0 if chance < mean else 0.0
        place = int(pick * left)
        drawn = 0
        while s.low[drawn] > 0 or place > 0:
            place -= s.low[drawn] == 0
            drawn += 1
        died = variance.observe(p, s, drawn, left * (y - centre[0]))
        centre[1] = min(centre[1] + 1.0, 200.0)
        centre[0] += (y - centre[0]) / centre[1]
        t += 1
        centre[2] = t
        if died:
            left = 0
            for a in range(arms):
                left += s.low[a] == 0
            if s.low[0] > 0:
                return True
    return False


@kernel
def changed(p, s, key, mean, rounds):
    """Whether an arm of one mean shows a change."""
    for t in range(rounds):
        chance, _ = uniforms(key, t, 0, 0)
        if leading.learn(p, s, 0, 1.0 if chance < mean else 0.0, t) == leading.CHANGED:
            return True
    return False


@kernel
def promoted(p, s, key, mean, lead, rounds):
    """How often an arm is promoted although its mean is less than the leader's."""
    count = 0
    s.leader[0] = 1
    s.recent[1] = 1
    s.paid[1] = lead
    for t in range(rounds):
        chance, _ = uniforms(key, t, 0, 0)
        shown = leading.learn(p, s, 0, 1.0 if chance < mean else 0.0, ROUNDS + t)
        if shown == leading.PROMOTED:
            count += 1
            leading.forget(p, s, 0, t, s.found[0], s.found[1])
    return count


def eviction(arms, mean, level, runs, rounds=ROUNDS, seed=SEED):
    """In how many runs arm 0 of so many arms, all alike, is evicted."""
    params = variance.configure(arms, rounds, level=level)
    count = 0
    for run in range(runs):
        state, centre = variance.init(arms), np.zeros(3)
        variance.clear(state)
        key = derive(seed, 100, run, arms)
        while centre[2] < rounds:
            if evicted(params, state, key, mean, rounds, centre):
                count += 1
                break
            if state.clock[variance.CROWDED]:
                state = variance.grow(state)
    return count


def change(mean, factor, runs, rounds=ROUNDS, seed=SEED):
    """In how many runs an arm of one mean shows a change."""
    params = SUBJECT.configure(2, rounds).leading._replace(change=factor, promotion=1e9)
    return sum(changed(params, leading.init(2), derive(seed, 101, run), mean, rounds) for run in range(runs))


def promotion(gap, level, runs, rounds=1_000, seed=SEED):
    """How often an arm of mean .5 is promoted against a leader that is better by ``gap``."""
    params = SUBJECT.configure(2, rounds).leading._replace(change=1e9, promotion=level)
    return sum(promoted(params, leading.init(2), derive(seed, 102, run), 0.5, 0.5 + gap, rounds) for run in range(runs))


def restart(name, runs, rounds=ROUNDS, seed=SEED):
    """In how many runs on this problem, on which nothing that matters changes, there is a restart."""
    runs = simulate(SUBJECT, env(name, horizon=rounds), runs=runs, seed=seed, jobs=1)
    return int((runs.restarts[SUBJECT.label] > 0).sum())


def row(count, total, **setting):
    """A share with the upper end of its exact interval."""
    from scipy import stats

    upper = float(stats.beta.ppf(0.975, count + 1, total - count)) if count < total else 1.0
    return {**setting, "count": count, "of": total, "share": round(count / total, 5), "upper": round(upper, 5)}


@kernel
def alarmed(level, detector, key, mean, first, rounds):
    """Whether auto's detector gives an alarm for an arm of one mean; -1 if its room is spent."""
    for t in range(rounds):
        chance, _ = uniforms(key, t, 0, 0)
        if auto.watched(level, detector, 0, 1.0 if chance < mean else 0.0, float(first + t)):
            return 1
        if detector.short[0]:
            return -1
    return 0


def alarm(mean, level, runs, rounds=ROUNDS, seed=SEED):
    """In how many runs an arm of one mean gives auto an alarm."""
    count = 0
    for run in range(runs):
        state = hull.init(None, 1)._replace(points=np.zeros((1, 2, 4096, 3)))
        found = alarmed(level, state, derive(seed, 103, run), mean, 10_000, rounds)
        if found < 0:
            raise RuntimeError("The hulls of an arm need more room than 4,096 vertices.")
        count += found
    return count


def rise(gap, accept, probes, seed=SEED):
    """How many of so many probes by auto of an arm of mean .5 are accepted, with the best arm better by ``gap``."""
    p = policy("auto", accept=accept).configure(2, ROUNDS)
    best = 0.5 + gap
    new = best + p.ahead * (1.0 - best)
    steps = np.log([(1.0 - new) / 0.5, new / 0.5])
    draw = np.random.default_rng(seed)
    ratio, alive, accepted = np.zeros(probes), np.ones(probes, np.bool_), 0
    for _ in range(p.longest):
        ratio[alive] += steps[(draw.random(alive.sum()) < 0.5).astype(int)]
        accepted += int((alive & (ratio >= p.accept)).sum())
        alive &= (ratio < p.accept) & (ratio > -p.drop)
    return accepted


def main():
    found = {"seed": SEED, "rounds": ROUNDS, "eviction": [], "change": [], "promotion": [], "restart": []}
    found |= {"alarm": [], "rise": []}
    for level in EVICTION["levels"]:
        for arms in EVICTION["arms"]:
            for mean in EVICTION["means"]:
                count = eviction(arms, mean, level, RUNS)
                found["eviction"].append(row(count, RUNS, level=level, arms=arms, mean=mean))
                print(found["eviction"][-1], flush=True)
    for factor in CHANGE["factors"]:
        for mean in CHANGE["means"]:
            found["change"].append(row(change(mean, factor, RUNS), RUNS, change=factor, mean=mean))
            print(found["change"][-1], flush=True)
    for level in PROMOTION["factors"]:
        for gap in PROMOTION["gaps"]:
            total = RUNS * 1_000
            found["promotion"].append(row(promotion(gap, level, RUNS), total, promotion=level, gap=gap))
            print(found["promotion"][-1], flush=True)
    for name in RESTART:
        found["restart"].append(row(restart(name, RUNS), RUNS, environment=name))
        print(found["restart"][-1], flush=True)
    for level in ALARM["levels"]:
        for mean in ALARM["means"]:
            found["alarm"].append(row(alarm(mean, level, RUNS), RUNS, level=level, mean=mean))
            print(found["alarm"][-1], flush=True)
    for accept in RISE["accepts"]:
        for gap in RISE["gaps"]:
            found["rise"].append(row(rise(gap, accept, PROBES), PROBES, accept=accept, gap=gap))
            print(found["rise"][-1], flush=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
