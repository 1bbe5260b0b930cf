"""One policy on its way through the rounds: its state, its epochs, its growth, its arms.

This is what the simulation and the online bandit share; so both give the same run. A policy that plans for a
horizon and is not told one plays epochs of 1, 2, 4, ... rounds, each afresh with a key of its own. One that
was told goes on past its horizon with an epoch twice as long: a horizon is a plan, not a fence.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sigshift.checks import InvalidInput
from sigshift.compile import specialise
from sigshift.policy import Policy
from sigshift.rng import POLICY_DOMAIN, derive

ENDLESS = 2**62


class Play:
    """The moving parts of one run of one policy."""

    def __init__(
        self, policy: Policy, arms: int, horizon: int | None, seed: int, run: int = 0, environment: Any = None
    ) -> None:
        self.policy = policy
        self.arms = arms
        self.seed = seed
        self.run = run
        self.environment = environment
        if "environment" in policy.needs and environment is None:
            raise InvalidInput(
                f"policy {policy.label!r} must be told the environment, which nobody knows online. "
                "Use it in ss.simulate only, or play another policy."
            )
        self.compiled = specialise(policy.module)
        self.epoch = 0
        self.epoch_start = 0
        self.past_restarts: list[int] = []
        planned = policy.horizon(horizon)
        self.epoch_horizon = planned or 1
        self.endless = "horizon" not in policy.needs
        self._begin()

    def _begin(self) -> None:
        key = derive(self.seed, POLICY_DOMAIN, self.run, self.epoch)
        self.params = self.policy.configure(self.arms, self.epoch_horizon, self.environment)
        self.state = self.policy.module.init(self.params, self.arms, key)

    @property
    def epoch_end(self) -> int:
        """The first round that the present epoch does not cover."""
        return ENDLESS if self.endless else self.epoch_start + self.epoch_horizon

    def enter(self, t: int) -> None:
        """Be ready to choose in round ``t``: begin the next epoch, or let the state grow."""
        if t >= self.epoch_end:
            self.past_restarts += self._own_restarts()
            self.epoch_start = self.epoch_end
            self.epoch += 1
            self.epoch_horizon *= 2
            self._begin()
        if self.compiled.grows and self.compiled.full(self.params, self.state):
            self.state = self.policy.module.grow(self.params, self.state)

    def simulate(
        self,
        first: int,
        last: int,
        block: Any,
        law: int,
        spread: float,
        key: Any,
        choices: "np.ndarray[Any, Any]",
        rewards: "np.ndarray[Any, Any]",
    ) -> float:
        """Play the rounds first to last of a block of an environment; the regret that this added."""
        regret = 0.0
        t = first
        while t < last:
            self.enter(t)
            stop = min(last, self.epoch_end)
            arguments = (block.starts, block.means, law, spread, key, self.run)
            rows = slice(t - first, stop - first)
            t, more = self.compiled.play(
                self.params, self.state, self.epoch_start, t, stop, *arguments, choices[rows], rewards[rows]
            )
            regret += more
        return regret

    def restarts(self) -> list[int]:
        """The rounds of the whole run in which the policy started over by itself."""
        return self.past_restarts + self._own_restarts()

    def _own_restarts(self) -> list[int]:
        report = getattr(self.policy.module, "restarts", None)
        if report is None:
            return []
        return [self.epoch_start + int(t) for t in report(self.params, self.state)]

    def inspect(self, t: int, names: Sequence[int]) -> dict[str, Any]:
        """What the policy will use in round ``t``, from a copy of its state; ``names`` maps its arms to the caller's."""
        probe = object.__new__(Play)
        probe.__dict__.update(self.__dict__)
        probe.past_restarts = list(self.past_restarts)
        probe.state = copied(self.state)
        probe.enter(t)
        report = getattr(self.policy.module, "inspect", None)
        facts: dict[str, Any] = {}
        if report is not None:
            facts = report(probe.params, probe.state, t - probe.epoch_start, probe.epoch_start, names)
        if "restarts" not in facts and hasattr(self.policy.module, "restarts"):
            facts["restarts"] = probe.restarts()
        if "restarts" in facts:
            facts["restarts"] = probe.past_restarts + facts["restarts"]
        return facts


def copied(state: Any) -> Any:
    """The same state in memory of its own."""
    return type(state)(*[value.copy() if isinstance(value, np.ndarray) else value for value in state])
