"""Heidari, Kearns and Roth's greedy policy for decaying rewards: play the arm whose latest reward was the largest.

Heidari, Kearns, Roth (IJCAI 2016), "Tight policy regret bounds for improving and decaying bandits", the case of
decreasing rewards. Every arm is played once; from then on the arm with the largest latest reward. The setting is one
without noise, where an arm's latest reward is an upper bound on all that it will still pay. There it never loses more
than K to the greedy oracle, whatever the horizon. With noise one unlucky reward can put the best arm away for ever:
nothing is promised, and none of the other rotting policies should be compared with it there.

It has no parameters. The paper has no delay: with late rewards "latest" is the reward of an arm's last decision that
has been told, and 1 before the first. Equal arms: the first one.
"""

from typing import NamedTuple

import numpy as np

from sigshift.kernel import kernel

PAPER = "Heidari, Kearns, Roth 2016"
GUARANTEE = "rested rotting without noise: regret at most K to the greedy oracle; none with noise"
LEARNS = False


class Params(NamedTuple):
    pass


class State(NamedTuple):
    latest: np.ndarray  # infinite before the first decision
    since: np.ndarray  # the round of the decision that it came from


def init(p, arms, key):
    return State(np.full(arms, np.inf), np.full(arms, -1))


@kernel
def select(p, s, t):
    best = 0
    for a in range(s.latest.size):
        if s.latest[a] > s.latest[best]:
            best = a
    if s.latest[best] == np.inf:
        s.latest[best] = 1.0
    return best, 1.0


@kernel
def update(p, s, t, a, y, q):
    if t > s.since[a]:
        s.since[a] = t
        s.latest[a] = y
