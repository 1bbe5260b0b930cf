"""One policy on its way through the rounds: its state, its epochs, its growth, its arms.

This is what the simulation and the online bandit share; so both give the same run. A policy that plans for a
horizon and is not told one plays epochs of 1, 2, 4, ... rounds, each afresh with a key of its own. One that
was told goes on past its horizon with an epoch twice as long: a horizon is a plan, not a fence.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sigshift.checks import InvalidInput
from sigshift.compile import bound, specialise
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
        self.retired: list[int] = []
        self.online = False
        self._begin()

    def _begin(self) -> None:
        key = derive(self.seed, POLICY_DOMAIN, self.run, self.epoch)
        self.params = self.policy.configure(self.arms, self.epoch_horizon, self.environment)
        self.state = self.policy.module.init(self.params, self.arms, key)
        for slot in self.retired:
            self.state = self.policy.module.retire_arm(self.params, self.state, slot)
        if self.online:
            self.bind()

    def bind(self) -> None:
        """Make ``ask(p, s, t)`` and ``tell(p, s, t, a, y, q)`` for calls from Python, once per make of the state."""
        self.online = True
        self.ask = bound(self.compiled.ask, self.params, self.state, 0)
        self.tell = bound(self.compiled.tell, self.params, self.state, 0, 0, 1.0, 1.0)

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
        if self.compiled.crowded is not None and self.compiled.crowded(self.params, self.state):
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

    def add_arm(self) -> None:
        """One more arm, the last one, without evidence."""
        self._allows("add_arm")
        maker = self.policy.module
        self.params = self.policy.configure(self.arms + 1, self.epoch_horizon, self.environment)
        fresh = maker.init(self.params, self.arms + 1, derive(self.seed, POLICY_DOMAIN, self.run, self.epoch))
        if hasattr(maker, "add_arm"):
            self.state = maker.add_arm(self.params, self.state, fresh)
        else:
            self.state = _merged(self.state, fresh, _padded)
        self.arms += 1

    def retire_arm(self, slot: int) -> bool:
        """Never choose this arm again. Returns whether its place is gone, so that later arms have moved down one."""
        self._allows("retire_arm")
        maker = self.policy.module
        if hasattr(maker, "retire_arm"):
            self.state = maker.retire_arm(self.params, self.state, slot)
            self.retired.append(slot)
            return False
        self.params = self.policy.configure(self.arms - 1, self.epoch_horizon, self.environment)
        fresh = maker.init(self.params, self.arms - 1, derive(self.seed, POLICY_DOMAIN, self.run, self.epoch))
        self.state = _merged(self.state, fresh, lambda old, new: _without(old, new, slot))
        self.arms -= 1
        return True

    def _allows(self, change: str) -> None:
        if getattr(self.policy.module, "FIXED_ARMS", False):
            raise InvalidInput(
                f"{change} needs a policy that can do it, but {self.policy.label!r} has a fixed set of arms. "
                "Start a new bandit with the new arms, or play another policy."
            )

    def inspect(self, t: int, names: Sequence[int]) -> dict[str, Any]:
        """What the policy will use in round ``t``, found on a copy; ``names`` maps its arms to the caller's."""
        probe = object.__new__(Play)
        probe.__dict__.update(self.__dict__)
        probe.past_restarts = list(self.past_restarts)
        probe.state = copied(self.state)
        probe.bind()
        probe.enter(t)
        facts: dict[str, Any] = {} if self.endless else {"horizon": probe.epoch_horizon}
        if hasattr(self.policy.module, "inspect"):
            probe.ask(probe.params, probe.state, t - probe.epoch_start)
            facts |= self.policy.module.inspect(probe.params, probe.state, probe.epoch_start, names)
        else:
            facts["state"] = {key: _plain(value) for key, value in probe.state._asdict().items()}
        if hasattr(self.policy.module, "restarts"):
            facts["restarts"] = probe.restarts()
        return facts


def copied(state: Any) -> Any:
    """The same state in memory of its own."""
    return type(state)(*[value.copy() if isinstance(value, np.ndarray) else value for value in state])


def _merged(old: Any, fresh: Any, change: Any) -> Any:
    """A state of the new size with what the old one knows; axes of a length that follows the arms are changed."""
    values = [change(a, b) if isinstance(a, np.ndarray) else a for a, b in zip(old, fresh, strict=True)]
    return type(old)(*values)


def _padded(old: Any, fresh: Any) -> Any:
    if old.shape == fresh.shape:
        return old
    fresh[tuple(slice(0, length) for length in old.shape)] = old
    return fresh


def _without(old: Any, fresh: Any, slot: int) -> Any:
    for axis in range(old.ndim):
        if old.shape[axis] != fresh.shape[axis]:
            old = np.delete(old, slot, axis)
    return old


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
