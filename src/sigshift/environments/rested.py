"""Rotting arms, each of which pays less the more it has been played. Regret is to the greedy oracle."""

import numpy as np

from sigshift.checks import real
from sigshift.environment import Environment
from sigshift.environments.registry import entry, rounds

LEVINE = "Levine, Crammer, Mannor (NIPS 2017)"
SEZNEC = "Seznec, Locatelli, Carpentier, Lazaric, Valko (AISTATS 2019)"


@entry(LEVINE, law="normal", sd=0.149)
def rotting(*, horizon: int = 30_000) -> Environment:
    """Rested: one arm pays .5 for ever, the other .67 for as many pulls as T/4 and .47 from then on.

    The non-parametric case of the paper's simulations, where the means are .5, 1 (for 7,500 pulls) and .4 and the
    rewards normal of variance .2: here moved up by 1 and on a scale of 1/3, to fit into [0, 1]. Tell it to the policies
    that ask: sigma=.149.
    """
    means = (1.0 + np.array([[0.5, 1.0], [0.5, 0.4]])) / 3.0
    return Environment.rested(means, rounds(horizon, 4), starts=[0, horizon // 4])


@entry(SEZNEC, law="normal")
def rotting_two(*, horizon: int = 10_000, drop: float = 0.4) -> Environment:
    """Rested: one arm pays .5, the other more by drop/20 for T/4 of its pulls and less by as much from then on.

    The paper's Figure 1 on a scale of 1/10, to fit into [0, 1]: there the means are 0 and +-L/2 with normal rewards of
    deviation 1, and ``drop`` is L; here the deviation is .1. Tell it to the policies that ask: sigma=.1.
    """
    half = real("drop", drop, "It is the paper's L, twice the distance of the means.", least=0.0, most=10.0) / 20.0
    starts = [0, rounds(horizon, 4) // 4]
    return Environment.rested([[0.5 + half, 0.5], [0.5 - half, 0.5]], horizon, starts=starts)


@entry(SEZNEC, law="normal", sd=0.05)
def rotting_ten(*, horizon: int = 25_000) -> Environment:
    """Rested: ten arms fall from .5 + m to .5 - m after 1,000 of their pulls, for m from 0 to .5 in powers.

    The paper's Figure 2 on a scale of 1/20, to fit into [0, 1]: there m is 0 and .001 sqrt(10)^i for i = 0 to 8, with
    normal rewards of deviation 1; here it is .05. Tell it to the policies that ask: sigma=.05. The fall moves in
    proportion to the horizon.
    """
    size = np.append(0.0, 0.001 * np.sqrt(10.0) ** np.arange(9)) / 20.0
    starts = [0, rounds(horizon, 25) // 25]
    return Environment.rested([np.minimum(0.5 + size, 1.0), np.maximum(0.5 - size, 0.0)], horizon, starts=starts)
