"""The Brownian arms of Slivkins and Upfal. They move by themselves: regret is to the best arm of each round."""

import numpy as np

from sigshift.checks import real, whole
from sigshift.environment import MOST_ARMS, Environment
from sigshift.environments.registry import entry, equal_starts, numbers, reflect, rounds

STREAM = 3


@entry("Slivkins, Upfal (COLT 2008)")
def brownian(
    *, horizon: int = 100_000, arms: int = 5, volatility: float = 0.005, steps: int = 100_000, seed: int = 0
) -> Environment:
    """Brownian motions reflected at 0 and 1, one per arm, moving by the volatility (.005) in every round.

    Started in the steady state, which is uniform. A motion takes ``steps`` steps over the horizon (one per round if it
    is shorter), each as far as all its rounds together, and is held constant between two of them, so that the longest
    horizon needs no more memory. A function of ``seed``.
    """
    whole("arms", arms, 2, "Pass the number of arms.", MOST_ARMS)
    whole("steps", steps, 1, "Pass the number of steps of the motions.", 10_000_000)
    real("volatility", volatility, "It is the standard deviation of what a mean moves in a round.", least=0.0, most=1.0)
    count = min(steps, rounds(horizon, 1))
    draws = numbers(seed, STREAM, 2, count, arms)
    walk = np.empty((count, arms))
    walk[0] = draws[0, 0]
    normal = np.sqrt(-2.0 * np.log(1.0 - draws[0, 1:])) * np.cos(2.0 * np.pi * draws[1, 1:])
    walk[1:] = normal * volatility * np.sqrt(horizon / count)
    return Environment.piecewise(equal_starts(horizon, count), reflect(np.cumsum(walk, axis=0)), horizon)
