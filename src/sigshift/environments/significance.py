"""Problems that tell changes that matter from changes that do not: the signatures of significance."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from sigshift.checks import real, whole
from sigshift.environment import MOST_ARMS, Environment, Means, Rounds
from sigshift.environments.registry import entry, equal_starts, numbers, other_arms, reflect, rounds

SOURCE = "sigshift"
LONG = 100_000
SWING = 0.25
STREAM = 2
LADDER = (0.7, 0.6, 0.5, 0.4, 0.3)


def _swing(horizon: int, periods: int, t: Rounds) -> Means:
    """What the season adds to every arm, as a column."""
    return np.asarray(SWING * np.sin(2.0 * np.pi * periods * t / horizon)[:, np.newaxis])


@entry(SOURCE)
def season(*, horizon: int = LONG, periods: int = 20) -> Environment:
    """All arms share a swing of +-.25 and keep their gaps: the means change in every round (L), nothing matters."""
    _periods(periods)
    return Environment.from_function(partial(_season, rounds(horizon, 20), periods), horizon, len(LADDER))


def _season(horizon: int, periods: int, t: Rounds) -> Means:
    return np.array(LADDER) + _swing(horizon, periods, t)


@entry(SOURCE)
def losers(*, horizon: int = LONG, every: int = 250, seed: int = 0) -> Environment:
    """The best arm (.8) stays, four others jump within [0, .6] every 250 rounds: many changes, none matters."""
    whole("every", every, 1, "Pass the rounds between two jumps.")
    starts = np.arange(0, rounds(horizon, 1), every)
    means = np.concatenate([np.full((len(starts), 1), 0.8), 0.6 * numbers(seed, STREAM, len(starts), 4)], axis=1)
    return Environment.piecewise(starts, means, horizon)


@entry(SOURCE)
def blips(*, horizon: int = LONG, count: int = 20, length: int = 25) -> Environment:
    """Now and then another arm is best, but too shortly to matter: 40 switches, no significant shift.

    Arm 0 pays .6, the others .5, and in each of ``count`` blips of ``length`` rounds, spread evenly, the next of the
    others pays .9. The regret of arm 0 stays below the significant one as long as, for every number m of blips in a
    row, .3 m length < sqrt(5 ((m - 1) horizon / count + length)): with the defaults from a horizon of 5,000 on.
    """
    whole("count", count, 1, "Pass the number of blips.")
    whole("length", length, 1, "Pass the rounds of a blip.")
    rounds(horizon, 2 * count * (length + 1))
    calm = [0.6, 0.5, 0.5, 0.5, 0.5]
    starts, means = [0], [calm]
    for i in range(count):
        middle = (2 * i + 1) * horizon // (2 * count)
        starts += [middle, middle + length]
        means += [[0.9 if arm == 1 + i % 4 else mean for arm, mean in enumerate(calm)], calm]
    return Environment.piecewise(starts, means, horizon)


@entry(SOURCE)
def rotate(*, horizon: int = LONG, every: int = 5_000, periods: int = 20) -> Environment:
    """A season, in which the best of five arms (.2 above the others) rotates every 5,000 rounds."""
    _periods(periods)
    whole("every", every, 1, "Pass the rounds between two rotations.")
    return Environment.from_function(partial(_rotate, rounds(horizon, 20), every, periods), horizon, 5)


def _rotate(horizon: int, every: int, periods: int, t: Rounds) -> Means:
    best = (t // every % 5)[:, np.newaxis] == np.arange(5)
    return np.asarray(0.4 + 0.2 * best + _swing(horizon, periods, t))


@entry(SOURCE)
def drift(*, horizon: int = LONG, arms: int = 5, steps: int = 10_000, speed: float = 1.0, seed: int = 0) -> Environment:
    """Random walks reflected at 0 and 1, one per arm: everything drifts, and only sometimes it matters.

    A walk takes ``steps`` small uniform steps over the horizon (one per round if it is shorter) and is held constant
    between two of them, so that the longest horizon needs no more memory. ``speed`` is the standard deviation of a
    walk's whole way, before reflection. A function of ``seed``.
    """
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("steps", steps, 1, "Pass the number of steps of the walks.", 10_000_000)
    real("speed", speed, "Pass how far an arm drifts over the horizon.", least=0.0, most=1000.0)
    count = min(steps, rounds(horizon, 1))
    draws = numbers(seed, STREAM, count, arms)
    draws[1:] = (2.0 * draws[1:] - 1.0) * speed * np.sqrt(3.0 / count)
    return Environment.piecewise(equal_starts(horizon, count), reflect(np.cumsum(draws, axis=0)), horizon)


@entry(SOURCE)
def sinus(*, horizon: int = LONG, arms: int = 3, periods: int = 5) -> Environment:
    """Each arm is a sine, shifted against the next: the best arm changes slowly, arms x periods times."""
    _periods(periods)
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    return Environment.from_function(partial(_sinus, rounds(horizon, 20), arms, periods), horizon, arms)


def _sinus(horizon: int, arms: int, periods: int, t: Rounds) -> Means:
    turn = (t * (periods / horizon))[:, np.newaxis] + np.arange(arms) / arms
    return np.asarray(0.5 + 0.4 * np.sin(2.0 * np.pi * turn))


@entry(SOURCE)
def hard(*, horizon: int = LONG, arms: int = 5, segments: int = 20, seed: int = 0) -> Environment:
    """A change every T/20 rounds to another best arm, by a gap little more than large enough to be significant.

    All arms pay .5 but the best, which pays 2 sqrt(arms / rounds of a segment) more (at most .5): the scale of the
    lower bounds. Every change is a significant shift once a segment has 16 rounds per arm. A function of ``seed``.
    """
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("segments", segments, 1, "Pass the number of segments.", 1_000_000)
    rounds(horizon, segments * 4)
    gap = min(0.5, 2.0 * np.sqrt(arms * segments / horizon))
    best = other_arms(numbers(seed, STREAM, segments), arms)
    means = 0.5 + gap * (best[:, np.newaxis] == np.arange(arms))
    return Environment.piecewise(equal_starts(horizon, segments), means, horizon)


@entry(SOURCE, law="deterministic")
def adversarial(*, horizon: int = LONG, arms: int = 3, first: int = 100) -> Environment:
    """Rewards without noise: one arm pays 1 and the others 0, until its turn is over; every turn is twice as long.

    Whenever an arm has come to lead, it stops paying for longer than all that went before.
    """
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("first", first, 1, "Pass the rounds of the first turn.")
    starts = [0]
    while (start := starts[-1] + first * 2 ** (len(starts) - 1)) < rounds(horizon, 1):
        starts.append(start)
    means = np.arange(len(starts))[:, np.newaxis] % arms == np.arange(arms)
    return Environment.piecewise(starts, means, horizon, law="deterministic")


@entry(SOURCE)
def stationary(*, horizon: int = LONG, means: Sequence[float] = LADDER) -> Environment:
    """Nothing changes: what a policy pays for being ready for changes."""
    return Environment.piecewise([0], [means], horizon)


@entry(SOURCE)
def many_arms(*, horizon: int = LONG, arms: int = 50, shifts: int = 5, seed: int = 0) -> Environment:
    """Fifty arms within [.2, .6] and five shifts: each time all move, and another one, at .8, is best.

    A function of ``seed``.
    """
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("shifts", shifts, 0, "Pass the number of shifts.", 10_000)
    draws = numbers(seed, STREAM, shifts + 1, arms + 1)
    means = 0.2 + 0.4 * draws[:, 1:]
    means[np.arange(shifts + 1), other_arms(draws[:, 0], arms)] = 0.8
    return Environment.piecewise(equal_starts(rounds(horizon, shifts + 1), shifts + 1), means, horizon)


@entry(SOURCE)
def ctr(*, horizon: int = 1_000_000, arms: int = 10, shifts: int = 4, seed: int = 0) -> Environment:
    """Click rates: means of 1 to 3 %, all redrawn at four shifts, each to another best arm (3 %).

    A function of ``seed``.
    """
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("shifts", shifts, 0, "Pass the number of shifts.", 10_000)
    draws = numbers(seed, STREAM, shifts + 1, arms + 1)
    means = 0.01 + 0.015 * draws[:, 1:]
    means[np.arange(shifts + 1), other_arms(draws[:, 0], arms)] = 0.03
    return Environment.piecewise(equal_starts(rounds(horizon, shifts + 1), shifts + 1), means, horizon)


def _periods(periods: int) -> None:
    whole("periods", periods, 1, "Pass how often the season comes and goes.", 10**9)
