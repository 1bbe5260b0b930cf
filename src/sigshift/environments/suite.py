"""The public suite: fifteen problems that take turns in being hard, and the catalogue's six that belong to it.

Each scales with ``horizon``; whatever is random in it, the order of the arms too, is a function of ``seed``. How many
of the changes are significant shifts depends on the horizon; what is said of it here holds from 20,000 to 1,000,000
rounds unless it says otherwise.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from sigshift.environment import Environment, Means, Rounds
from sigshift.environments.registry import draws, entry, equal_starts, other_arms, reflect, rounds

SOURCE = "sigshift's suite"
LONG = 100_000
LEAST_HORIZON = 1_000
WALK_STEPS = 10_000
WAVE = 97  # rounds of the common wave of suite-adv-det
CANDIDATES = 100  # rows of means that suite-glr5 chooses from; each will do with probability .51

SUITE = (
    "suite-stat10",
    "suite-glr3",
    "suite-glr5",
    "suite-drop",
    "suite-riser",
    "suite-benign-joint",
    "suite-benign-losers",
    "suite-blips",
    "suite-fewsig",
    "suite-sinus",
    "suite-rwalk",
    "suite-hard",
    "suite-adv-det",
    "suite-k50",
    "suite-ctr",
    "pb1",
    "pb2",
    "pb3",
    "pb4",
    "random-piecewise",
    "season",
)

Draw = Callable[..., Means]


def _order(draw: Draw, arms: int) -> Rounds:
    """The arms in random order."""
    return np.argsort(draw(arms), kind="stable")


@entry(SOURCE)
def suite_stat10(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Nothing changes: ten arms at .6, .5 (three), .4 (three), .3 (two) and .2, in random order."""
    order = _order(draws(seed, 31), 10)
    means = np.array([0.6, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2])
    return Environment.piecewise([0], [means[order]], rounds(horizon, LEAST_HORIZON))


@entry(SOURCE)
def suite_glr3(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Three arms, four breaks near .2, .4, .6, .8 of the horizon (5 % of it to either side at most)."""
    draw = draws(seed, 32)
    means = np.array([(0.5, 0.4, 0.3), (0.5, 0.4, 0.7), (0.5, 0.4, 0.2), (0.3, 0.8, 0.4), (0.6, 0.3, 0.4)])
    breaks = 0.2 * np.arange(1, 5) + 0.05 * (2.0 * draw(4) - 1.0)
    starts = np.floor(breaks * rounds(horizon, LEAST_HORIZON)).astype(np.int64)
    return Environment.piecewise([0, *starts], means[:, _order(draw, 3)], horizon)


@entry(SOURCE)
def suite_glr5(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Five arms, five breaks at uniform times; all means are redrawn in [.1, .9], the best at least .1 ahead."""
    draw = draws(seed, 33)
    starts = np.floor(np.sort(draw(5)) * (rounds(horizon, LEAST_HORIZON) - 5)).astype(np.int64) + np.arange(1, 6)
    tables = 0.1 + 0.8 * draw(6, CANDIDATES, 5)
    ordered = np.sort(tables, axis=2)
    first = np.argmax(ordered[:, :, -1] - ordered[:, :, -2] >= 0.1, axis=1)
    return Environment.piecewise([0, *starts], tables[np.arange(6), first], horizon)


@entry(SOURCE)
def suite_drop(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Ten arms, .8, .6, .5 and seven of .2; at .4 of the horizon the best falls to .3, at .7 the second does."""
    means = np.full((3, 10), 0.2)
    means[:, :3] = [(0.8, 0.6, 0.5), (0.3, 0.6, 0.5), (0.3, 0.3, 0.5)]
    starts = [0, 4 * rounds(horizon, LEAST_HORIZON) // 10, 7 * horizon // 10]
    return Environment.piecewise(starts, means[:, _order(draws(seed, 34), 10)], horizon)


@entry(SOURCE)
def suite_riser(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Ten arms, one at .6, the others at .3; one of these rises to .9 over the middle half: one significant shift."""
    best, riser = _order(draws(seed, 35), 10)[:2].tolist()
    return Environment.from_function(partial(_riser, rounds(horizon, LEAST_HORIZON), best, riser), horizon, 10)


def _riser(horizon: int, best: int, riser: int, t: Rounds) -> Means:
    means = np.full((len(t), 10), 0.3)
    means[:, best] = 0.6
    means[:, riser] = 0.3 + 0.6 * np.clip(2.0 * t / horizon - 0.5, 0.0, 1.0)
    return means


@entry(SOURCE)
def suite_benign_joint(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Ten arms that move together, by a new offset in [-.2, .4] every T/200 rounds: no significant shift."""
    draw = draws(seed, 36)
    means = np.array([0.5, 0.4, 0.4, 0.35, 0.35, 0.3, 0.3, 0.25, 0.25, 0.2])[_order(draw, 10)]
    offsets = -0.2 + 0.6 * draw(200, 1)
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 200), means + offsets, horizon)


@entry(SOURCE)
def suite_benign_losers(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """The best of ten arms stays at .7; the others jump within [.1, .6] every T/200 rounds: no significant shift."""
    draw = draws(seed, 37)
    best = int(_order(draw, 10)[0])
    means = 0.1 + 0.5 * draw(200, 10)
    means[:, best] = 0.7
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 200), means, horizon)


@entry(SOURCE)
def suite_blips(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Best .6, others .45; every T/50 rounds another is at .7 for T/500: no significant shift up to T = 10^5.

    At T = 10^6 the blips are long enough to matter.
    """
    order = _order(draws(seed, 38), 10).tolist()
    calm = [0.6 if arm == order[0] else 0.45 for arm in range(10)]
    starts, means = [0], [calm]
    for i in range(1, 50):
        start = i * rounds(horizon, LEAST_HORIZON) // 50
        starts += [start, start + horizon // 500]
        means += [[0.7 if arm == order[1 + i % 9] else mean for arm, mean in enumerate(calm)], calm]
    return Environment.piecewise(starts, means, horizon)


@entry(SOURCE)
def suite_fewsig(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """99 changes of the best of ten arms; 3 (at .3, .5, .75 of T) are significant shifts, 96 are flips by .02.

    Two arms, at .62 and .6, change places every T/100 rounds; the others pay .3. At the shifts another two take over.
    At T = 10^6 the flips, too, add up to something significant.
    """
    order = _order(draws(seed, 39), 10)
    segment = np.arange(100)
    pair = 2 * ((segment >= 30).astype(np.int64) + (segment >= 50) + (segment >= 75))
    means = np.full((100, 10), 0.3)
    means[segment, order[pair]] = np.where(segment % 2 == 0, 0.62, 0.6)
    means[segment, order[pair + 1]] = np.where(segment % 2 == 0, 0.6, 0.62)
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 100), means, horizon)


@entry(SOURCE)
def suite_sinus(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Five sines of two periods, .5 +- .3, a fifth of a period apart, beginning anywhere."""
    draw = draws(seed, 40)
    phases = (float(draw()) + _order(draw, 5) / 5).tolist()
    return Environment.from_function(partial(_sinus, rounds(horizon, LEAST_HORIZON), phases), horizon, 5)


def _sinus(horizon: int, phases: list[float], t: Rounds) -> Means:
    turn = (t * (2.0 / horizon))[:, np.newaxis] + np.array(phases)
    return np.asarray(0.5 + 0.3 * np.sin(2.0 * np.pi * turn))


@entry(SOURCE)
def suite_rwalk(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Five Gaussian walks between mirrors at .1 and .9, with sd .8 over the whole horizon before reflection.

    A walk of sd 1 / sqrt(horizon) a round, reflected in [0, 1] and then mapped to [.1, .9]. It takes a step each round,
    but at most 10,000 of them: with a longer horizon it is held constant in between.
    """
    draw = draws(seed, 41)
    count = min(WALK_STEPS, rounds(horizon, LEAST_HORIZON))
    first, radius, angle = draw(1, 5), draw(count - 1, 5), draw(count - 1, 5)
    steps = np.sqrt(-2.0 * np.log(1.0 - radius)) * np.cos(2.0 * np.pi * angle) / np.sqrt(count)
    walk = reflect(np.cumsum(np.concatenate([first, steps]), axis=0))
    return Environment.piecewise(equal_starts(horizon, count), 0.1 + 0.8 * walk, horizon)


@entry(SOURCE)
def suite_hard(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Five arms, all redrawn in [0, 1] every T/1000 rounds: too fast to follow before T is large."""
    starts = equal_starts(rounds(horizon, LEAST_HORIZON), 1_000)
    return Environment.piecewise(starts, draws(seed, 42)(1_000, 5), horizon)


@entry(SOURCE, law="deterministic")
def suite_adv_det(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """No noise: five arms from .55 to .3 on a common wave of +-.25; best and worst change places five times."""
    base = np.linspace(0.55, 0.3, 5)
    levels = np.stack([base, base[[4, 1, 2, 3, 0]]])[:, _order(draws(seed, 43), 5)]
    return Environment.from_function(partial(_adv_det, rounds(horizon, LEAST_HORIZON), levels), horizon, 5)


def _adv_det(horizon: int, levels: Means, t: Rounds) -> Means:
    wave = 0.25 * np.sin(2.0 * np.pi / WAVE * (t % WAVE))
    return np.asarray(levels[6 * t // horizon % 2] + wave[:, np.newaxis])


@entry(SOURCE)
def suite_k50(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Fifty arms within [.1, .6] and one of them at .8; at five shifts, T/6 apart, all move and another is best."""
    draw = draws(seed, 44)
    best = other_arms(draw(6), 50)
    means = 0.1 + 0.5 * draw(6, 50)
    means[np.arange(6), best] = 0.8
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 6), means, horizon)


@entry(SOURCE)
def suite_ctr(*, horizon: int = LONG, seed: int = 0) -> Environment:
    """Click rates: ten arms within [.005, .015] and one of them at .03; redrawn at .25, .5 and .75 of the horizon.

    Each time another arm is best. That is a significant shift only where a quarter has some 33,000 rounds.
    """
    draw = draws(seed, 45)
    best = other_arms(draw(4), 10)
    means = 0.005 + 0.01 * draw(4, 10)
    means[np.arange(4), best] = 0.03
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 4), means, horizon)
