"""What a study of regret plays: policies, environments of the suite, horizons and seeds."""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sigshift.checks import InvalidInput, refuse, whole
from sigshift.environment import Environment
from sigshift.environments import env
from sigshift.environments.registry import ENTRIES
from sigshift.environments.suite import LEAST_HORIZON, SUITE
from sigshift.policy import Policy, policy

HORIZONS = (20_000, 100_000, 1_000_000)
SEEDS = (0, 20)
REPORTING = 5_000  # seeds below are for tuning
PREFIX = "suite-"
TRUTH = "truth"
TRUTHS = ("switches", "changes", "variation")  # what can be told so, of each instance
BLOCK_SEEDS = 20
BLOCK_ROUNDS = 4_000_000  # of one file: what is lost when a run is killed


@dataclass(frozen=True)
class Entrant:
    """A policy that takes part; ``truths`` names what it is told of each instance: its own number of changes, say."""

    policy: Policy
    truths: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The policy's label, with what it is told: ``sw_ucb(changes=truth)``."""
        if not self.truths:
            return self.policy.label
        said = [f"{key}={value!r}" for key, value in self.policy.params] + [f"{name}={TRUTH}" for name in self.truths]
        return f"{self.policy.stem}({', '.join(said)})"

    @property
    def told(self) -> str:
        """What it is told about the environment."""
        known = self.policy.told
        return ", ".join([*([known] if known != "nothing" else []), *self.truths]) or "nothing"

    @property
    def tuning_free(self) -> bool:
        """Whether it is told nothing but the horizon."""
        told = any(key in self.policy.knowledge and value is not None for key, value in self.policy.params)
        return not (self.truths or told or "environment" in self.policy.needs)

    def on(self, instance: Environment) -> Policy:
        """The policy that plays this instance."""
        if not self.truths:
            return self.policy
        from sigshift.analysis.phases import phases

        found = phases(instance)
        return policy(self.policy, **{name: getattr(found, truth(name)) for name in self.truths})


class Cell(NamedTuple):
    """One policy on one environment at one horizon."""

    entrant: Entrant
    environment: str
    horizon: int


@dataclass(frozen=True)
class Spec:
    """A study; make one with :func:`spec`."""

    entrants: tuple[Entrant, ...]
    environments: tuple[str, ...]
    horizons: tuple[int, ...]
    seeds: range

    def cells(self) -> Iterable[Cell]:
        """All that is to be played, the shortest horizons first."""
        for horizon in sorted(self.horizons):
            for environment in self.environments:
                for entrant in self.entrants:
                    yield Cell(entrant, environment, horizon)

    def purpose(self) -> str:
        """What results with these seeds are good for."""
        return "for tuning" if self.seeds.stop <= REPORTING else "for reporting"


def spec(
    policies: Any,
    environments: Sequence[str] | None = None,
    horizons: Sequence[int] = HORIZONS,
    seeds: tuple[int, int] = SEEDS,
) -> Spec:
    """The study of these policies (all of the suite by default); ``seeds`` is the first one and how many.

    >>> spec(["ucb1", "meta(c0=0.1)"], ["drop", "pb1"], [20_000]).environments
    ('suite-drop', 'pb1')
    """
    several = isinstance(policies, Iterable) and not isinstance(policies, str | Policy | Entrant)
    entrants = tuple(entrant(item) for item in (policies if several else [policies]))
    if not entrants:
        raise refuse("policies", "must name at least one policy", policies, 'Pass for example ["auto", "ucb1"].')
    _distinct("policies", [one.label for one in entrants])
    places = SUITE if environments is None else tuple(suite_name(name) for name in environments)
    _distinct("environments", places)
    if not places:
        raise refuse("environments", "must name at least one", environments, "Leave it out for the whole suite.")
    cure = f"Pass for example {HORIZONS[0]}."
    rounds = tuple(whole("horizons", horizon, LEAST_HORIZON, cure, 10**9) for horizon in horizons)
    if not rounds:
        raise refuse("horizons", "must name at least one", horizons, cure)
    _distinct("horizons", rounds)
    first = whole("the first seed", seeds[0], 0, "Pass a whole number.", 2**32)
    count = whole("the number of seeds", seeds[1], 1, "Pass how many instances of each environment to play.", 10**6)
    if first < REPORTING < first + count:
        rule = f"must lie on one side of {REPORTING}: those below are for tuning, the others for reporting"
        raise refuse("seeds", rule, f"{first} to {first + count - 1}", f"Pass for example {REPORTING} 100.")
    return Spec(entrants, places, rounds, range(first, first + count))


def entrant(thing: Any) -> Entrant:
    """A policy, or its name, perhaps with parameters: ``"sw_ucb(window=500)"``, ``"sw_ucb(changes=truth)"``."""
    if isinstance(thing, Entrant):
        return thing
    if not isinstance(thing, str):
        return _lasting(Entrant(policy(thing)))
    name, bracket, rest = thing.partition("(")
    if not bracket:
        return _lasting(Entrant(policy(name)))
    values: dict[str, Any] = {}
    truths = []
    for key, value in _keywords(thing, rest):
        if isinstance(value, ast.Name) and value.id == TRUTH:
            if not truth(key):
                raise refuse(f"parameter {key!r}", f"has no truth; only {', '.join(TRUTHS)} have", thing, "Set it.")
            truths.append(key)
        else:
            try:
                values[key] = ast.literal_eval(value)
            except ValueError:
                raise refuse("policy", "must have plain values as parameters", thing, _FORM) from None
    made = policy(name, **values)
    policy(made, **dict.fromkeys(truths, 1))  # refuses what it cannot be told
    return _lasting(Entrant(made, tuple(truths)))


def truth(parameter: str) -> str:
    """Which of the truths a parameter of a policy, or of one of its parts, is to be told; or nothing."""
    return next((known for known in TRUTHS if parameter == known or parameter.endswith(f"_{known}")), "")


_FORM = "Write it as name(parameter=value)."


def _keywords(thing: str, rest: str) -> Iterable[tuple[str, ast.expr]]:
    try:
        call = ast.parse(f"policy({rest}", mode="eval").body
    except SyntaxError:
        raise refuse("policy", "must be a name, perhaps with parameters", thing, _FORM) from None
    if not isinstance(call, ast.Call) or call.args or any(one.arg is None for one in call.keywords):
        raise refuse("policy", "must be a name, perhaps with parameters by name", thing, _FORM)
    return [(str(one.arg), one.value) for one in call.keywords]


def _lasting(made: Entrant) -> Entrant:
    """Refuse a policy that is not written down, since its results would be taken for those of its next version."""
    if made.policy.name.startswith("<"):
        raise InvalidInput(
            f"policies must be built in or live in a file, but {made.policy.name!r} is of a running program. "
            "Put it into a file and pass its path."
        )
    return made


def suite_name(name: str) -> str:
    """The name of an environment of the suite, given with or without its ``suite-``."""
    plain = str(name).replace("_", "-")
    for known in (PREFIX + plain, plain):
        if known in SUITE:
            return known
    listed = ", ".join(short_name(known) for known in SUITE)
    raise refuse("environment", "must be one of the suite", name, f"Known: {listed}.")


def short_name(name: str) -> str:
    """The name of an environment within the suite."""
    return name.removeprefix(PREFIX)


def instance(name: str, horizon: int, seed: int) -> Environment:
    """The environment of this name that belongs to a seed."""
    return env(name, horizon=horizon, **({"seed": seed} if "seed" in ENTRIES[name].defaults else {}))


def blocks(seeds: Iterable[int], horizon: int) -> list[list[int]]:
    """Seeds as they share a file: neighbours between two multiples of a block's size.

    >>> blocks([1, 2, 3, 18, 19, 20, 21], 20_000)
    [[1, 2, 3], [18, 19], [20, 21]]
    """
    size = max(1, min(BLOCK_SEEDS, BLOCK_ROUNDS // horizon))
    found: list[list[int]] = []
    for seed in sorted(seeds):
        if found and found[-1][-1] == seed - 1 and seed % size:
            found[-1].append(seed)
        else:
            found.append([seed])
    return found


def file_name(text: str) -> str:
    """A text as part of a file's name: no character that a file system or a shell could mind."""
    return re.sub(r"[^A-Za-z0-9_.=-]+", "_", text).strip("_.")[:60]


def _distinct(what: str, given: Sequence[Any]) -> None:
    if len(set(given)) < len(given):
        raise refuse(what, "must be distinct", list(given), "Drop the one that is there twice.")
