"""The two-armed sine of Suk (Adaptive Smooth Non-Stationary Bandits), the one published experiment with META."""

from functools import partial

import numpy as np

from sigshift.environment import Environment, Means, Rounds
from sigshift.environments.registry import entry, rounds

FREQUENCY = 8.32008886662
PHASE = 1.14789772478


@entry("Suk, Adaptive Smooth Non-Stationary Bandits")
def trig(*, horizon: int = 1_000_000) -> Environment:
    """Two arms: .5 and a sine around it; the gap changes sign exactly 8 times.

    Published with a gap of amplitude .01444588223 and rewards of deviation .01; here the gap is scaled to fill
    [0, 1] around .5, with Bernoulli rewards.
    """
    return Environment.from_function(partial(_means, rounds(horizon, 20)), horizon, 2)


def _means(horizon: int, t: Rounds) -> Means:
    wave = np.sin(FREQUENCY * np.pi * t / horizon + PHASE)
    return np.stack([np.full(len(t), 0.5), 0.5 - 0.5 * wave], axis=1)
