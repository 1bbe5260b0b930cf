"""One policy on its way through the rounds: its state, its epochs, its growth, its arms.

This is what the simulation and the online bandit share; so both give the same run. A policy that plans for a
horizon and is not told one plays epochs of 1, 2, 4, ... rounds, each afresh with a key of its own. One that
was told goes on past its horizon with an epoch twice as long: a horizon is a plan, not a fence.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sigshift.checks import InvalidInput
from sigshift.compile import bound, explained, specialise
from sigshift.policy import Policy
from sigshift.rng import POLICY_DOMAIN, derive
from sigshift.states import copied, leaves, replaced

ENDLESS = 2**62
FACTS = ("arms", "epoch", "epoch_start", "epoch_horizon", "past_restarts", "retired")


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
        self.play: Callable[..., Any] | None = None  # bound when first used
        self.rested = environment is not None and environment.clock == "pulls"
        self.own = np.zeros((2, arms if self.rested else 0), np.int64)  # a rested arm's pulls so far, and its segment
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
        with explained(self.policy.stem):
            self.ask = bound(self.compiled.ask, self.params, self.state, 0)
            self.tell = bound(self.compiled.tell, self.params, self.state, 0, 0, 1.0, 1.0)

    @property
    def epoch_end(self) -> int:
        """The first round that the present epoch does not cover."""
        return ENDLESS if self.endless else self.epoch_start + self.epoch_horizon

    def enter(self, t: int) -> None:
        """Be ready to choose in round ``t``: begin the next epoch, or let the state grow."""
        if t >= self.epoch_end:
            self._next_epoch()
        self.make_room()

    def make_room(self) -> None:
        """Let the state grow if it has to: before a choice, and after every reward, of which many may come at once."""
        if self.compiled.crowded is not None and self.compiled.crowded(self.params, self.state):
            self.state = self.policy.module.grow(self.params, self.state)
            if self.online:
                self.bind()

    def _next_epoch(self) -> None:
        after = self.copy()  # an interrupt from the keyboard finds all of the change made, or none
        after.past_restarts += self._own_restarts()
        after.epoch_start = self.epoch_end
        after.epoch += 1
        after.epoch_horizon *= 2
        after._begin()
        self.__dict__.update(after.__dict__)

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
            rows = slice(t - first, stop - first)
            clock = (self.own,) if self.rested else ()
            world = (block.starts, block.means, *clock, law, spread, key, self.run, choices[rows], rewards[rows])
            arguments = (self.params, self.state, self.epoch_start, t, stop, *world)
            if self.play is None:
                self.play = bound(self.compiled.play_rested if self.rested else self.compiled.play, *arguments)
            begun = t
            t, more = self.play(*arguments)
            if t < begun:
                raise self.no_such_arm()
            regret += self._behind(begun, t, more) if self.rested else more
        return regret

    def no_such_arm(self) -> InvalidInput:
        """What to raise where the policy, somebody's own, chose an arm that there is not."""
        return InvalidInput(
            f"policy {self.policy.label!r} must choose one of its {self.arms} arms, counted from 0, but select "
            "returned another number. ss.check_policy says where."
        )

    def _behind(self, first: int, last: int, total: float) -> float:
        """How much less than the greedy oracle of rested arms gains in these rounds that total of means is."""
        return float(self.environment.greedy_total(last) - self.environment.greedy_total(first) - total)

    def restarts(self) -> list[int]:
        """The rounds of the whole run in which the policy started over by itself."""
        return self.past_restarts + self._own_restarts()

    def _own_restarts(self) -> list[int]:
        report = getattr(self.policy.module, "restarts", None)
        if report is None:
            return []
        return [self.epoch_start + int(t) for t in report(self.params, self.state)]

    def add_arm(self) -> None:
        """One more arm, the last one, without evidence. A failure may leave the play half changed: try it on a copy."""
        self._allows("add_arm")
        before, after = self._fresh(self.arms), self._fresh(self.arms + 1)
        if hasattr(self.policy.module, "add_arm"):
            self.state = self.policy.module.add_arm(self.params, self.state, after)
        else:
            self.state = self._merged(before, after, _enlarged)
        self.arms += 1
        self.bind()

    def retire_arm(self, slot: int) -> bool:
        """Never choose this arm again. Returns whether its place is gone, so that later arms have moved down one."""
        self._allows("retire_arm")
        stays = hasattr(self.policy.module, "retire_arm")
        if stays:
            self.state = self.policy.module.retire_arm(self.params, self.state, slot)
            self.retired.append(slot)
        else:
            before, after = self._fresh(self.arms), self._fresh(self.arms - 1)
            self.state = self._merged(before, after, lambda old, new, axis: np.delete(old, slot, axis))
            self.arms -= 1
        self.bind()
        return not stays

    def _fresh(self, arms: int) -> Any:
        """The state of a policy that begins with so many arms, under parameters that follow."""
        self.params = self.policy.configure(arms, self.epoch_horizon, self.environment)
        key = derive(self.seed, POLICY_DOMAIN, self.run, self.epoch)
        return self.policy.module.init(self.params, arms, key)

    def _merged(self, before: Any, after: Any, change: Callable[[Any, Any, int], Any]) -> Any:
        """What the state knows, for another number of arms: the axes that follow it are those in which fresh states
        of both numbers differ, and that by one. All other axes may have grown since.
        """
        values = {}
        shapes = {name: (np.shape(leaves(before)[name]), np.shape(new)) for name, new in leaves(after).items()}
        for name, old in leaves(self.state).items():
            axes = [i for i, (one, other) in enumerate(zip(*shapes[name], strict=True)) if one != other]
            if any(abs(shapes[name][0][i] - shapes[name][1][i]) != 1 for i in axes):
                raise InvalidInput(
                    f"policy {self.policy.label!r} must have its own add_arm and retire_arm, because the array "
                    f"{name!r} of its state does not simply follow the arms, but it has none. Write them."
                )
            values[name] = old
            for axis in axes:
                values[name] = change(values[name], leaves(after)[name], axis)
        return replaced(after, values)

    def _allows(self, change: str) -> None:
        if getattr(self.policy.module, "FIXED_ARMS", False):
            raise InvalidInput(
                f"{change} needs a policy that can do it, but {self.policy.label!r} has a fixed set of arms. "
                "Start a new bandit with the new arms, or play another policy."
            )

    def facts(self) -> dict[str, Any]:
        """All that :meth:`restore` needs besides the state."""
        return {key: getattr(self, key) for key in FACTS}

    def restore(self, facts: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`facts` and a state held."""
        for key in FACTS:
            setattr(self, key, facts[key])
        self._begin()
        fresh = leaves(self.state)
        if set(state) != set(fresh) or not all(_fits(state[name], fresh[name]) for name in fresh):
            raise InvalidInput(
                f"saved state must be one of {self.policy.label!r} as this version knows it, but its parts differ. "
                "Load it with the version that saved it, or begin anew."
            )
        self.state = replaced(self.state, state)
        self.bind()

    def copy(self) -> "Play":
        """The same play, in memory of its own."""
        twin = object.__new__(Play)
        twin.__dict__.update(self.__dict__)
        twin.past_restarts = list(self.past_restarts)
        twin.retired = list(self.retired)
        twin.state = copied(self.state)
        twin.own = self.own.copy()
        return twin

    def inspect(self, t: int, names: Sequence[int]) -> dict[str, Any]:
        """What the policy will use in round ``t``, found on a copy; ``names`` maps its arms to the caller's."""
        probe = self.copy()
        probe.bind()
        probe.enter(t)
        facts: dict[str, Any] = {} if self.endless else {"horizon": probe.epoch_horizon}
        if hasattr(self.policy.module, "inspect"):
            probe.ask(probe.params, probe.state, t - probe.epoch_start)
            facts |= self.policy.module.inspect(probe.params, probe.state, probe.epoch_start, names)
        else:
            facts["state"] = {name: _plain(value) for name, value in leaves(probe.state).items()}
        if hasattr(self.policy.module, "restarts"):
            facts["restarts"] = probe.restarts()
        return facts


def _fits(value: Any, fresh: Any) -> bool:
    """Whether a part of a state is of the type of a fresh one and at least as large, so that no kernel can overrun."""
    old, new = np.asarray(value), np.asarray(fresh)
    alike = old.dtype == new.dtype and old.ndim == new.ndim
    return alike and all(length >= least for length, least in zip(old.shape, new.shape, strict=True))


def _enlarged(old: Any, fresh: Any, axis: int) -> Any:
    """One more entry on this axis, with what a fresh array has there."""
    shape = list(old.shape)
    shape[axis] = 1
    entry = np.zeros(shape, old.dtype)
    new = np.take(fresh, [fresh.shape[axis] - 1], axis)
    common = tuple(slice(0, min(one, other)) for one, other in zip(entry.shape, new.shape, strict=True))
    entry[common] = new[common]
    return np.concatenate([old, entry], axis)


def _plain(value: Any) -> Any:
    """An array or number as JSON has it, which knows no infinity: None."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        array = np.where(np.isfinite(array), array, None)  # type: ignore[call-overload]
    return array.tolist()
