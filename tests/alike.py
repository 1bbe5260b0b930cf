"""A policy and its plain twin, decision for decision, on instances that hypothesis draws."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

from sigshift.environment import Environment
from sigshift.play import Play
from sigshift.policy import policy
from sigshift.rng import POLICY_DOMAIN, derive
from twins import TWINS

KINDS = ("coins", "numbers", "zeros", "ones", "pattern")


def rewards_of(kind, rounds, arms, chance):
    if kind in ("zeros", "ones"):
        return np.full((rounds, arms), float(kind == "ones"))
    if kind == "pattern":
        return np.array([[float((t // (a + 1)) % 2) for a in range(arms)] for t in range(rounds)])
    if kind == "turns":  # each arm is the best one for a while
        return np.array([[float(t // 40 % arms == a) for a in range(arms)] for t in range(rounds)])
    if kind == "numbers":
        return chance.random((rounds, arms))
    return (chance.random((rounds, arms)) < chance.random(arms)).astype(float)


def means_of(kind, rounds, arms, chance):
    """Means of environments that have significant shifts within a few hundred rounds."""
    if kind == "zeros":
        return np.zeros((rounds, arms))
    if kind == "ones":
        starts = np.sort(chance.integers(0, rounds, 4))
        return chance.random((5, arms))[np.searchsorted(starts, np.arange(rounds), side="right")]
    if kind == "numbers":
        return np.clip(np.cumsum(chance.normal(0, 0.05, (rounds, arms)), axis=0) + 0.5, 0.0, 1.0)
    return rewards_of(kind, rounds, arms, chance)


@st.composite
def instances(draw, kinds=KINDS):
    return SimpleNamespace(
        arms=draw(st.integers(2, 8)),
        rounds=draw(st.integers(1, 300)),
        kind=draw(st.sampled_from(kinds)),
        seed=draw(st.integers(0, 2**32 - 1)),
        delay=draw(st.sampled_from([0, 0, 1, 7, 50])),
        lost=draw(st.sampled_from([0.0, 0.3])),
    )


def delivered(instance, chance):
    """For each round the earlier rounds whose rewards arrive at its end, in a random order."""
    arrivals = [[] for _ in range(instance.rounds)]
    for t in range(instance.rounds):
        due = t + int(chance.integers(instance.delay + 1))
        if due < instance.rounds and chance.random() >= instance.lost:
            arrivals[due].append(t)
    for due in arrivals:
        chance.shuffle(due)
    return arrivals


def plays_alike(name, instance, **params):
    """They must. Returns both after the last round."""
    chance = np.random.default_rng(instance.seed)
    environment = Environment.from_means(means_of(instance.kind, instance.rounds, instance.arms, chance))
    rewards = rewards_of(instance.kind, instance.rounds, instance.arms, chance)
    arrivals = delivered(instance, chance)
    play = Play(policy(name, **params), instance.arms, instance.rounds, instance.seed, environment=environment)
    key = derive(instance.seed, POLICY_DOMAIN)
    twin = TWINS[name](instance.arms, instance.rounds, key, environment=environment, **params)
    decisions = []
    for t in range(instance.rounds):
        arm, propensity = play.compiled.ask(play.params, play.state, t)
        other, chance_of_other = twin.select(t)
        if other != arm and hasattr(twin, "yields") and twin.yields(other, arm):
            other = arm
        assert (t, arm) == (t, other)
        assert propensity == pytest.approx(chance_of_other, rel=1e-9, nan_ok=True)
        decisions.append((arm, rewards[t, arm], propensity))
        for earlier in arrivals[t]:
            play.compiled.tell(play.params, play.state, earlier, *decisions[earlier])
            play.make_room()
            twin.update(earlier, *decisions[earlier])
    return play, twin
