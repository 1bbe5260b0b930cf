"""The Monte Carlo that sets the constants of the calibrated META and of auto; its result is kept in calibration.json.

Run it with `scripts/bench calibrate` (a few minutes on one core). Four probabilities where nothing that
matters changes:

- that an arm which is never worse than another is evicted within 10^5 rounds of uniform play among the candidates, all
  arms being alike (so that one of any number of arms that are best throughout has the worst of it);
- that a run of 10^5 rounds, as META plays it, has a restart, and that it has a hard one, which forgets everything;
- that the arm which is best throughout it has been evicted when it ends.

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
from sigshift.meta import conscience, variance
from sigshift.play import Play
from sigshift.policies import auto
from sigshift.policy import policy
from sigshift.rng import REWARD_DOMAIN, derive, uniforms

SEED = 7
RESULT = Path(__file__).with_name("calibration.json")
ROUNDS = 100_000
RUNS = 200
EVICTION = {"arms": (2, 5, 10, 20), "means": (0.5, 0.9), "levels": (0.5, 0.75, 1.0)}
BLIND = ("suite-stat10", "season", "suite-benign-joint", "suite-benign-losers", "suite-blips")
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


def blind(name, runs, rounds=ROUNDS, seed=SEED):
    """In how many runs on this problem there is a restart, and a hard one, and the best arm is out at the end."""
    problem = env(name, horizon=rounds)
    best = int(problem.means().sum(axis=0).argmax())
    nothing = np.empty(0, np.int64), np.empty(0)
    restarted = hard = lost = 0
    for run in range(runs):
        play = Play(SUBJECT, problem.arms, rounds, seed, run, problem)
        for block in problem.blocks():
            key = derive(seed, REWARD_DOMAIN)
            play.simulate(block.first, block.last, block, problem.law_code, problem.spread, key, *nothing)
        restarted += bool(play.restarts())
        hard += len(play.restarts()) > play.state.clock[auto.SOFT]  # that counts soft ones since the last hard one
        lost += bool(conscience.out(play.state.conscience, best))
    return restarted, int(hard), lost


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
    found = {
        "seed": SEED,
        "rounds": ROUNDS,
        "eviction": [],
        "restart": [],
        "hard": [],
        "lost": [],
        "alarm": [],
        "rise": [],
    }
    for level in EVICTION["levels"]:
        for arms in EVICTION["arms"]:
            for mean in EVICTION["means"]:
                count = eviction(arms, mean, level, RUNS)
                found["eviction"].append(row(count, RUNS, level=level, arms=arms, mean=mean))
                print(found["eviction"][-1], flush=True)
    for name in BLIND:
        for part, count in zip(("restart", "hard", "lost"), blind(name, RUNS), strict=True):
            found[part].append(row(count, RUNS, environment=name))
            print(part, found[part][-1], flush=True)
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
