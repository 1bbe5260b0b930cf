"""The only loop there is: ask, tell and simulated play of one policy.

This file is real code, written against UCB1. :func:`sigshift.compile.specialise` copies its text with the
line marked `policy` pointed at another policy, so that every policy gets a loop of its own that numba can
keep on disk. Nothing here may name a policy anywhere else.
"""

import numpy as np

from sigshift.kernel import cached_kernel as entry
from sigshift.kernel import kernel
from sigshift.laws import draw
from sigshift.policies.ucb1 import select, update  # policy

NO_SUCH_ARM = -1  # the round that is said to be reached where a policy chose an arm that there is not


@kernel
def crowded(p, s):  # replaced where the policy's state can grow
    return False


@entry
def ask(p, s, t):
    """The arm of round ``t`` and its propensity."""
    return select(p, s, t)


@entry
def tell(p, s, t, a, y, q):
    """Give the reward ``y`` of the decision of round ``t``: arm ``a``, taken with propensity ``q``."""
    update(p, s, t, a, y, q)


@entry
def play(p, s, origin, first, last, starts, means, law, spread, key, run, arms, rewards):
    """Rounds ``first`` to ``last`` of an environment's block; returns the round reached and the regret added.

    ``origin`` is the first round of the policy's own clock. The means are ``means[i]`` in the rounds
    ``starts[i] <= t < starts[i + 1]``. Choices and rewards are written to ``arms`` and ``rewards`` unless
    these are empty. It stops early when the state must grow; the caller then enlarges it and goes on.
    """
    regret = 0.0
    t = first
    segment = np.searchsorted(starts, first, side="right") - 1
    while t < last:
        best = 0.0
        for a in range(means.shape[1]):
            best = max(best, means[segment, a])
        until = min(starts[segment + 1], last)
        while t < until:
            a, q = select(p, s, t - origin)
            if a < 0 or a >= means.shape[1]:
                return NO_SUCH_ARM, regret
            mean = means[segment, a]
            y = draw(law, spread, mean, key, t, run, a)
            update(p, s, t - origin, a, y, q)
            regret += best - mean
            if arms.size > 0:
                arms[t - first] = a
                rewards[t - first] = y
            t += 1
            if crowded(p, s):
                return t, regret
        segment += 1
    return t, regret


@entry
def play_rested(p, s, origin, first, last, starts, means, own, law, spread, key, run, arms, rewards):
    """The same where an arm's own pulls are its clock; returns the round reached and the total of the means met.

    ``own[0]`` counts the pulls of each arm and ``own[1]`` says in which segment of the means it is. The reward is that
    of (run, arm, number of the pull): the same for all policies.
    """
    total = 0.0
    t = first
    while t < last:
        a, q = select(p, s, t - origin)
        if a < 0 or a >= means.shape[1]:
            return NO_SUCH_ARM, total
        pull = own[0, a]
        while starts[own[1, a] + 1] <= pull:
            own[1, a] += 1
        own[0, a] = pull + 1
        mean = means[own[1, a], a]
        y = draw(law, spread, mean, key, pull, run, a)
        update(p, s, t - origin, a, y, q)
        total += mean
        if arms.size > 0:
            arms[t - first] = a
            rewards[t - first] = y
        t += 1
        if crowded(p, s):
            break
    return t, total
