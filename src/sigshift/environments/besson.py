"""The problems of Besson, Kaufmann, Maillard and Seznec (JMLR 2022), with the numbers of the authors' code."""

import numpy as np

from sigshift.checks import choice, whole
from sigshift.environment import MOST_ARMS, Environment
from sigshift.environments.registry import entry, equal_starts, numbers, reflect, rounds, scaled_starts

SOURCE = "Besson, Kaufmann, Maillard, Seznec (JMLR 2022)"
PUBLISHED_HORIZON = 20_000
LEAST_HORIZON = 20
STREAM = 1


@entry(SOURCE)
def pb1(*, horizon: int = PUBLISHED_HORIZON) -> Environment:
    """Three arms, five equal segments; one arm moves at a time, and the best one changes twice."""
    means = [(0.9, 0.5, 0.3), (0.9, 0.2, 0.3), (0.1, 0.2, 0.3), (0.1, 0.7, 0.3), (0.1, 0.7, 0.5)]
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 5), means, horizon)


@entry(SOURCE)
def pb2(*, horizon: int = PUBLISHED_HORIZON) -> Environment:
    """Three arms, five equal segments; all arms move at every change, the best one sinks and another rises."""
    means = [(0.9, 0.5, 0.4), (0.7, 0.4, 0.5), (0.5, 0.3, 0.6), (0.3, 0.2, 0.7), (0.1, 0.1, 0.8)]
    return Environment.piecewise(equal_starts(rounds(horizon, LEAST_HORIZON), 5), means, horizon)


@entry(SOURCE)
def pb3(*, horizon: int = PUBLISHED_HORIZON) -> Environment:
    """Five arms, five changes at irregular times; the best arm changes twice."""
    changes = (6947, 9400, 10887, 13633, 16254)
    means = [
        (0.2769, 0.1817, 0.5667, 0.0130, 0.5938),
        (0.5070, 0.1817, 0.5667, 0.2813, 0.7107),
        (0.5070, 0.1817, 0.5667, 0.1631, 0.3575),
        (0.1681, 0.1817, 0.4112, 0.1631, 0.3575),
        (0.1681, 0.1817, 0.4112, 0.1631, 0.0260),
        (0.4364, 0.4062, 0.4734, 0.5587, 0.0260),
    ]
    starts = scaled_starts(rounds(horizon, LEAST_HORIZON), changes, PUBLISHED_HORIZON)
    return Environment.piecewise(starts, means, horizon)


@entry(SOURCE)
def pb4(*, horizon: int = PUBLISHED_HORIZON) -> Environment:
    """Five arms, five changes at irregular times; the best arm changes only once."""
    changes = (7388, 8403, 11866, 15716, 18183)
    means = [
        (0.2434, 0.5150, 0.1962, 0.9489, 0.5689),
        (0.3664, 0.5150, 0.1962, 0.8811, 0.8365),
        (0.3030, 0.1635, 0.2920, 0.6540, 0.8365),
        (0.2513, 0.5337, 0.2920, 0.6540, 0.8365),
        (0.2513, 0.5337, 0.2920, 0.5801, 0.8365),
        (0.2513, 0.5337, 0.2920, 0.5801, 0.9979),
    ]
    starts = scaled_starts(rounds(horizon, LEAST_HORIZON), changes, PUBLISHED_HORIZON)
    return Environment.piecewise(starts, means, horizon)


@entry(SOURCE)
def random_piecewise(
    *, horizon: int = PUBLISHED_HORIZON, arms: int = 5, breaks: int = 6, border: str = "reflect", seed: int = 0
) -> Environment:
    """Breaks at random times; at each, every arm moves with probability 1/2, by .05 to .3, reflected at 0 and 1.

    All segments, the first and the last too, have at least a twentieth of the horizon (1,000 rounds of 20,000).
    The first means are uniform. With ``border="turn"`` a step that would lead out of [0, 1] is taken the other way, as
    in the authors' code: means are then closer to each other. A function of ``seed``.
    """
    rounds(horizon, LEAST_HORIZON)
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("breaks", breaks, 0, "Pass the number of breaks.", 19)
    turns = choice("border", border, ["reflect", "turn"]) == "turn"
    least = horizon // 20
    draws = numbers(seed, STREAM, breaks + arms + 3 * breaks * arms)
    where, first, moves = draws[:breaks], draws[breaks : breaks + arms], draws[breaks + arms :]
    free = horizon - (breaks + 1) * least
    starts = np.floor(np.sort(where) * (free + 1)).astype(np.int64) + least * np.arange(1, breaks + 1)
    moved, up, size = moves.reshape(3, breaks, arms)
    steps = np.where(moved < 0.5, 0.0, np.where(up < 0.5, -1.0, 1.0) * (0.05 + 0.25 * size))
    means = [first]
    for step in steps:
        ahead = means[-1] + step
        back = np.where((ahead < 0.0) | (ahead > 1.0), means[-1] - step, ahead)
        means.append(back if turns else reflect(ahead))
    return Environment.piecewise([0, *starts], np.array(means), horizon)
