"""The contract suite for policies, which the built-in ones pass, and the file from which one's own policy starts.

The rules are those of :mod:`sigshift.policy`. A policy is first played as plain Python, where an index out of range is
an error and not a broken memory, and then compiled; both must decide alike. All draws are seeded, so the answer is the
same every time. The one statistical rule, that of the propensities, blames an honest policy with a probability of at
most :data:`FALSE_ALARM`; that bound is exact (Chernoff, and a union over the arms), not an approximation.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigshift.checks import InvalidInput, refuse
from sigshift.environment import Environment
from sigshift.play import Play
from sigshift.policy import Policy, policy
from sigshift.rng import POLICY_DOMAIN, REWARD_DOMAIN, derive
from sigshift.states import copied, leaves, replaced, shapes

FALSE_ALARM = 1e-6
ROUNDS = 240  # of a run that is played by hand
DRAWS = 4_000  # of one decision under fresh keys
EASY_ROUNDS = 50_000  # of two arms with these means, which every policy that learns can tell apart
EASY_MEANS = (0.1, 0.9)
EASY_SHARE = 0.9  # of uniform play's regret
CLOSE = 1e-9  # propensities of compiled and of plain code: exponentials may differ in their last bit
SITUATIONS = (
    (2, "mixed"),
    (5, "mixed"),
    (3, "zeros"),
    (3, "ones"),
    (4, "late"),
    (50, "mixed"),
    (1, "mixed"),
)
NUMBERS = (np.bool_, np.int64, np.uint64, np.float64)


class PolicyFault(AssertionError):
    """A policy breaks a rule of the protocol; the text says which one, what was seen, and the cure."""


def check_policy(policy: Any) -> None:
    """Play a policy through the rules of :mod:`sigshift.policy`; raises :class:`PolicyFault` at the first one broken.

    Takes what :func:`sigshift.policy` takes: a name, the path of a file, or a module or class with the parts.

    >>> check_policy("ucb1")
    """
    case = _Case(_policy(policy))
    for rule in RULES:
        with _blamed(case, rule):
            rule(case)


@dataclass(frozen=True)
class _Case:
    """The policy under test."""

    made: Policy

    def fault(self, rule: str, seen: str, cure: str) -> PolicyFault:
        return PolicyFault(f"policy {self.made.label!r} must {rule}, but {seen}. {cure}")

    def run(self, arms: int, plain: bool = False, seed: int = 0, horizon: int = ROUNDS) -> "_Run":
        return _Run(self, arms, horizon, seed, plain)

    @property
    def situations(self) -> Iterator[tuple[int, str]]:
        """Numbers of arms and kinds of rewards; an environment has at least two arms."""
        return (item for item in SITUATIONS if item[0] > 1 or "environment" not in self.made.needs)


class _Trace(NamedTuple):
    arms: list[int]
    propensities: list[float]


class _Run:
    """One run, played by hand: compiled, or as plain Python."""

    def __init__(self, case: _Case, arms: int, horizon: int, seed: int, plain: bool) -> None:
        self.case = case
        environment = _environment(arms, horizon) if "environment" in case.made.needs else None
        self.play = Play(case.made, arms, horizon, seed, environment=environment)
        self.ask, self.tell = self.play.compiled.ask, self.play.compiled.tell
        if plain:
            known: dict[int, Any] = {}
            module = case.made.module
            self.ask, self.tell = uncompiled(module.select, known), uncompiled(module.update, known)
        self.t = 0
        self.waiting: list[tuple[int, int, float, float]] = []

    def choose(self) -> tuple[int, float]:
        """Ask for the next round's arm and look at the answer."""
        play = self.play
        play.enter(self.t)
        answer = self.ask(play.params, play.state, self.t - play.epoch_start)
        self.t += 1
        return _sensible(self.case, answer, play.arms)

    def give(self, t: int, arm: int, reward: float, propensity: float) -> None:
        play = self.play
        self.tell(play.params, play.state, t - play.epoch_start, arm, reward, propensity)
        play.make_room()

    def go(self, rewards: NDArray[np.float64], late: bool = False) -> _Trace:
        """Play as many rounds as there are rows of rewards; ``late`` delays, shuffles and drops some of them."""
        trace = _Trace([], [])
        chance = np.random.default_rng(1)
        for row in rewards:
            t = self.t
            arm, propensity = self.choose()
            trace.arms.append(arm)
            trace.propensities.append(propensity)
            decision = (t, arm, float(row[arm]), propensity)
            if not late:
                self.give(*decision)
                continue
            self.waiting.append(decision)
            if chance.random() < 0.2:
                self.waiting.pop()
            while self.waiting and chance.random() < 0.5:
                self.give(*self.waiting.pop(int(chance.integers(len(self.waiting)))))
        self.sound()
        return trace

    def sound(self) -> None:
        """No part of the state may be nan."""
        for name, value in leaves(self.play.state).items():
            if np.asarray(value).dtype.kind == "f" and np.isnan(value).any():
                raise self.case.fault(
                    "keep numbers in its state",
                    f"`{name}` holds nan after {self.t} rounds with {self.play.arms} arms",
                    "Guard divisions and roots for arms without rewards, one arm, rewards of 0 and small horizons.",
                )


def _parts(case: _Case) -> None:
    """Each run gets arrays of its own from init, of types that do not depend on the problem."""
    kinds = set()
    for arms in (2, 5):
        one, other = case.run(arms).play.state, case.run(arms).play.state
        if not hasattr(one, "_fields"):
            raise case.fault(
                "have a NamedTuple for its state", f"init returned {type(one).__name__}", "Return State(...)."
            )
        twins = leaves(other)
        for name, value in leaves(one).items():
            _check_part(case, name, value)
            if isinstance(value, np.ndarray) and value.size and np.shares_memory(value, twins[name]):
                raise case.fault(
                    "give each run a state of its own",
                    f"init handed the same array `{name}` to two runs",
                    "Make the arrays inside init.",
                )
        kinds.add(tuple((getattr(v, "dtype", None), getattr(v, "ndim", None)) for v in leaves(one).values()))
    if len(kinds) > 1:
        raise case.fault(
            "have a state of one type",
            "the types or dimensions of its parts change with the number of arms",
            "Give every array a fixed dtype and number of dimensions.",
        )


def _check_part(case: _Case, name: str, value: Any) -> None:
    cure = "Use NumPy arrays of bool, int64, uint64 or float64, and np.uint64, int or float for single numbers."
    if isinstance(value, np.ndarray):
        if value.dtype.type not in NUMBERS or not value.flags.c_contiguous or not value.flags.writeable:
            raise case.fault(
                "keep plain arrays in its state",
                f"`{name}` is an array of {value.dtype} (contiguous: {value.flags.c_contiguous})",
                cure,
            )
    elif not isinstance(value, int | float | np.bool_ | np.int64 | np.uint64 | np.float64):
        raise case.fault("keep plain numbers in its state", f"`{name}` is {type(value).__name__}", cure)


def _plays_uncompiled(case: _Case) -> None:
    """Every situation ends well as plain Python, where a wrong index is an error."""
    for arms, kind in case.situations:
        case.run(arms, plain=True).go(_rewards(arms, kind), kind == "late")


def _small_horizons(case: _Case) -> None:
    """A policy that is told the horizon takes every horizon: who does not know it plays epochs of 1, 2, 4, ..."""
    for horizon in (1, 2, 3):
        case.run(2, plain=True, horizon=horizon).go(_rewards(2, "mixed", 2 * horizon + 1))


def _compiled_is_plain(case: _Case) -> None:
    """Compiled code decides as plain Python does."""
    for arms, kind in case.situations:
        rewards = _rewards(arms, kind)
        plain = case.run(arms, plain=True).go(rewards, kind == "late")
        compiled = case.run(arms).go(rewards, kind == "late")
        if plain.arms != compiled.arms or not np.allclose(
            plain.propensities, compiled.propensities, CLOSE, CLOSE, equal_nan=True
        ):
            raise case.fault(
                "decide alike compiled and not",
                f"with {arms} arms and {kind} rewards the two part in round {_parting(plain, compiled)}",
                "Look for whole numbers that overflow, indices out of range, and numbers read before they are set.",
            )


def _reproducible(case: _Case) -> None:
    """The same key and rewards give the same run, bit for bit."""
    rewards = _rewards(3, "mixed")
    first, second = case.run(3), case.run(3)
    one, two = first.go(rewards), second.go(rewards)
    if repr(one) != repr(two) or _bits(first.play.state) != _bits(second.play.state):
        raise case.fault(
            "give the same run for the same key and rewards",
            f"two runs part in round {_parting(one, two)}",
            "Draw with sigshift.rng.uniform(s.key, t, stream), never with np.random.",
        )


def _nothing_hidden(case: _Case) -> None:
    """All that a policy remembers is in its state: a copy of it goes on as the original does."""
    rewards = _rewards(3, "mixed")
    half = ROUNDS // 2
    run, branch = case.run(3), case.run(3)
    run.go(rewards[:half])
    branch.t = run.t
    branch.play.state = copied(run.play.state)
    one, two = run.go(rewards[half:]), branch.go(rewards[half:])
    if repr(one) != repr(two):
        raise case.fault(
            "keep all it remembers in its state",
            f"a copy of the state goes on differently in round {half + _parting(one, two)}",
            "Move what lives elsewhere (globals, other objects) into State.",
        )


def _honest(case: _Case) -> None:
    """The propensities are the frequencies of the arms over fresh keys; 1.0 without randomness."""
    for before in (0, ROUNDS // 2):
        decisions = _decisions(case, before)
        if decisions is None:
            continue
        for chances, counts in _profiles(decisions):
            _compare(case, before, chances, counts)


def _decisions(case: _Case, before: int) -> Counter[tuple[int, float]] | None:
    """What is decided after ``before`` rounds under fresh keys, or None if that cannot be seen."""
    run = case.run(3)
    run.go(_rewards(3, "mixed")[:before])

    def fresh(seed: int) -> Any:
        return case.made.module.init(run.play.params, 3, derive(seed, POLICY_DOMAIN, 1))

    one, other = fresh(0), fresh(1)
    mine, others = leaves(one), leaves(other)
    keyed = [name for name, value in mine.items() if np.asarray(value).tobytes() != np.asarray(others[name]).tobytes()]
    if before and any(isinstance(mine[name], np.ndarray) for name in keyed):
        return None  # the key has become a part of what was learnt
    decisions: Counter[tuple[int, float]] = Counter()
    for seed in range(DRAWS):
        drawn = leaves(fresh(seed))
        state = replaced(copied(run.play.state), {name: drawn[name] for name in keyed})
        decisions[_sensible(case, run.ask(run.play.params, state, before), 3)] += 1
    return None if any(math.isnan(q) for _, q in decisions) else decisions


def _profiles(decisions: Counter[tuple[int, float]]) -> Iterator[tuple[dict[int, float], dict[int, int]]]:
    """Arms with their propensities and counts, where these can be compared.

    An arm that always has the same propensity is simple. One that has several belongs to a policy that tosses a coin
    first (META: does a replay begin?) and reports the chances after the toss; decisions of equal propensity then
    come from the same toss if together they have probability 1.
    """
    arms = [arm for arm, _ in decisions]
    if len(set(arms)) == len(arms):
        yield dict(decisions.keys()), {arm: count for (arm, _), count in decisions.items()}
        return
    groups: dict[float, dict[int, int]] = defaultdict(dict)
    for (arm, chance), count in decisions.items():
        groups[chance][arm] = count
    for chance, counts in groups.items():
        if abs(chance * len(counts) - 1.0) < CLOSE:
            yield dict.fromkeys(counts, chance), counts


def _compare(case: _Case, before: int, chances: dict[int, float], counts: dict[int, int]) -> None:
    number = sum(counts.values())
    missing = 1.0 - sum(chances.values())
    where = f"over {number} keys in round {before}"
    cure = "Return the exact probability of the arm chosen, 1.0 if there was no randomness, nan if you cannot know it."
    if missing < -CLOSE:
        seen = f"those it reports {where} add up to {1.0 - missing:.4g}"
        raise case.fault("return true propensities", seen, cure)
    limit = math.log(4.0 * (len(chances) + 1) / FALSE_ALARM)
    cells = [(f"arm {arm}", chance, counts[arm]) for arm, chance in chances.items()]
    for name, chance, count in [*cells, ("the other arms", max(missing, 0.0), 0)]:
        if number * _divergence(count / number, chance) > limit:
            seen = f"{where} {name} had the propensity {chance:.4g} and the frequency {count / number:.4g}"
            raise case.fault("return true propensities", seen, cure)


def _divergence(seen: float, told: float) -> float:
    """The relative entropy of two coins."""
    total = 0.0
    for p, q in ((seen, told), (1.0 - seen, 1.0 - told)):
        if p > 0.0:
            if q < CLOSE * CLOSE:
                return math.inf
            total += p * math.log(p / q)
    return total


def _grows(case: _Case) -> None:
    """Growing early changes nothing, and growing helps."""
    module = case.made.module
    if not hasattr(module, "crowded"):
        return
    if not hasattr(module, "grow"):
        raise case.fault("define grow(p, s)", "it has crowded and no grow", "Return the state with larger arrays.")
    rewards = _rewards(3, "mixed")
    run, branch = case.run(3), case.run(3)
    run.go(rewards[: ROUNDS // 2])
    before = copied(run.play.state)
    branch.t = run.t
    branch.play.state = module.grow(run.play.params, copied(before))
    if type(before) is not type(branch.play.state) or shapes(before) != shapes(branch.play.state):
        raise case.fault("keep the type of its state when it grows", "grow changed it", "Keep dtypes and dimensions.")
    if uncompiled(module.crowded)(run.play.params, branch.play.state):
        raise case.fault("have room after it has grown", "crowded is still true", "Make the arrays larger in grow.")
    one, two = run.go(rewards[ROUNDS // 2 :]), branch.go(rewards[ROUNDS // 2 :])
    if repr(one) != repr(two):
        seen = f"a grown state goes on differently in round {ROUNDS // 2 + _parting(one, two)}"
        raise case.fault("decide alike before and after it grows", seen, "Copy all of the old arrays in grow.")


def _arms_come_and_go(case: _Case) -> None:
    """A new arm is taken in, a retired one is never chosen again."""
    module = case.made.module
    if getattr(module, "FIXED_ARMS", False) or "environment" in case.made.needs:
        return
    run = case.run(3, horizon=4 * ROUNDS)
    run.go(_rewards(3, "mixed"))
    run.play.add_arm()
    run.go(_rewards(4, "mixed"))
    gone = run.play.retire_arm(0)
    later = run.go(_rewards(4, "mixed"))
    if not gone and 0 in later.arms:
        seen = "it chose a retired one"
        raise case.fault("never choose a retired arm", seen, "Set FIXED_ARMS = True, or mend retire_arm(p, s, a).")


def _reports(case: _Case) -> None:
    """What inspect tells is plain data, and restarts are the rounds so far in order."""
    run = case.run(3)
    run.go(_rewards(3, "mixed")[:-1])
    try:
        json.dumps(run.play.inspect(run.t, range(3)))
    except TypeError as error:
        raise case.fault("inspect as plain data", str(error), "Return ints, floats, texts, lists and dicts.") from None
    rounds = run.play.restarts()
    if rounds != sorted(set(rounds)) or any(not 0 <= t < run.t for t in rounds):
        seen = f"restarts returned {rounds[:10]} after {run.t} rounds"
        raise case.fault("report its restarts in order", seen, "Return the rounds so far, each once.")


def _one_signature(case: _Case) -> None:
    """One machine code serves every number of arms and every horizon."""
    entries = [f for f in case.run(2).play.compiled[:3] if hasattr(f, "signatures")]
    _simulated(case, 2, 10, 0)
    case.run(2).go(_rewards(2, "mixed", 10))
    before = [len(f.signatures) for f in entries]
    _simulated(case, 7, 20, 1)
    case.run(7, horizon=1000).go(_rewards(7, "mixed", 10))
    if [len(f.signatures) for f in entries] != before:
        raise case.fault(
            "be compiled once",
            "another number of arms or another horizon made another machine code",
            "Convert parameters in configure (float(c), int(n)) and give arrays a fixed dtype.",
        )


def _learns(case: _Case) -> None:
    """On two arms that anyone can tell apart the regret is well below that of uniform play."""
    if not getattr(case.made.module, "LEARNS", True):
        return
    uniform = EASY_ROUNDS * (max(EASY_MEANS) - min(EASY_MEANS)) / 2
    runs = 3
    regret = sum(_simulated(case, 2, EASY_ROUNDS, seed) for seed in range(runs)) / runs
    if regret > EASY_SHARE * uniform:
        raise case.fault(
            "learn",
            f"on two arms with means {EASY_MEANS} its regret after {EASY_ROUNDS} rounds is {regret:.0f}, "
            f"and that of uniform play {uniform:.0f}",
            "Check that update uses the reward and select what update learnt; a policy that is not to learn says so "
            "with LEARNS = False.",
        )


RULES: tuple[Callable[[_Case], None], ...] = (
    _parts,
    _plays_uncompiled,
    _small_horizons,
    _reproducible,
    _nothing_hidden,
    _compiled_is_plain,
    _honest,
    _grows,
    _arms_come_and_go,
    _reports,
    _one_signature,
    _learns,
)


def uncompiled(function: Any, known: dict[int, Any] | None = None) -> Any:
    """A kernel as plain Python, with all the kernels that it calls by name."""
    known = {} if known is None else known
    source = getattr(function, "py_func", None)
    if source is None:
        return function
    if id(function) not in known:
        names = dict(source.__globals__)
        cells = tuple(CellType(uncompiled(cell.cell_contents, known)) for cell in source.__closure__ or ())
        twin = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells or None)
        known[id(function)] = twin
        for name in source.__code__.co_names:
            if name in names:
                names[name] = (
                    _Uncompiled(names[name], known) if _holds_kernels(names[name]) else uncompiled(names[name], known)
                )
    return known[id(function)]


class _Uncompiled:
    """A module whose kernels are plain Python: what ``base.select`` means in the code of an assembled policy."""

    def __init__(self, module: ModuleType, known: dict[int, Any]) -> None:
        self._module, self._known = module, known

    def __getattr__(self, name: str) -> Any:
        return uncompiled(getattr(self._module, name), self._known)


def _holds_kernels(value: Any) -> bool:
    return isinstance(value, ModuleType) and "sigshift" in value.__name__


@contextmanager
def _blamed(case: _Case, rule: Callable[[_Case], None]) -> Iterator[None]:
    """Whatever the policy raises becomes a fault that names the rule."""
    from numba.core.errors import NumbaError

    purpose = " ".join((rule.__doc__ or "").split())
    try:
        with np.errstate(all="ignore"):
            yield
    except PolicyFault:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = next((line for line in lines if "Failed in" not in line), "")
        if isinstance(error, NumbaError) or "NRT" in text:
            cure = (
                "Decorate select, update and what they call with @kernel from sigshift.kernel; make arrays in init, "
                "not in a kernel; use plain numbers and loops."
            )
            raise case.fault("compile", f"numba says: {' '.join(lines)[:600]}", cure) from error
        cure = "Play it with NUMBA_DISABLE_JIT=1 in a debugger."
        seen = f"{type(error).__name__}: {text}"
        raise case.fault(f"keep the rule: {purpose.rstrip('.')}", f"it raised {seen}", cure) from error


def _policy(given: Any) -> Policy:
    return policy(given)


def _sensible(case: _Case, answer: Any, arms: int) -> tuple[int, float]:
    """The arm and its propensity, if select answered with such."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise case.fault("return (arm, propensity) from select", f"it returned {answer!r}", "Return both.")
    arm, chance = answer
    if isinstance(arm, bool | np.bool_) or not isinstance(arm, int | np.integer) or not 0 <= arm < arms:
        seen = f"with {arms} arms it chose {arm!r}"
        raise case.fault("choose a whole number from 0 to K - 1", seen, "Look at how select ends.")
    if not isinstance(chance, float | int | np.floating) or not (0.0 < chance <= 1.0 or math.isnan(chance)):
        seen = f"it returned {chance!r}"
        raise case.fault("return a propensity within (0, 1], or nan", seen, "It is the probability of the arm chosen.")
    return int(arm), float(chance)


def _rewards(arms: int, kind: str, rounds: int = ROUNDS) -> NDArray[np.float64]:
    if kind in ("zeros", "ones"):
        return np.full((rounds, arms), float(kind == "ones"))
    chance = np.random.default_rng(arms)
    coins = (chance.random((rounds, arms)) < np.linspace(0.2, 0.8, arms)).astype(np.float64)
    return np.where(chance.random((rounds, arms)) < 0.7, coins, chance.random((rounds, arms)))


def _environment(arms: int, horizon: int) -> Environment:
    """For those who must be told: the best arm changes in the middle."""
    means = np.linspace(0.1, 0.9, arms)
    if horizon < 2:
        return Environment.piecewise([0], [means], horizon)
    return Environment.piecewise([0, horizon // 2], [means, means[::-1]], horizon)


def _simulated(case: _Case, arms: int, rounds: int, seed: int) -> float:
    """The regret of one simulated run on a stationary environment."""
    env = Environment.piecewise([0], [np.linspace(*EASY_MEANS, arms)], rounds)
    play = Play(case.made, arms, rounds, seed, environment=env)
    nothing = (np.empty(0, np.int64), np.empty(0))
    key = derive(seed, REWARD_DOMAIN)
    return sum(play.simulate(b.first, b.last, b, env.law_code, env.spread, key, *nothing) for b in env.blocks())


def _bits(state: Any) -> list[bytes]:
    return [np.asarray(value).tobytes() for value in leaves(state).values()]


def _parting(one: _Trace, two: _Trace) -> int:
    """The first round in which two runs differ."""
    pairs = zip(zip(*one, strict=True), zip(*two, strict=True), strict=True)
    return next((t for t, (a, b) in enumerate(pairs) if repr(a) != repr(b)), len(one.arms))


def skeleton() -> str:
    """The text of a policy to start from: it works, and says what each part is for."""
    return SKELETON


def write_skeleton(path: Any) -> Path:
    """Write :func:`skeleton` to a new .py file; returns its path."""
    file = Path(path).expanduser()
    if file.suffix != ".py":
        raise refuse("path", "must end in .py", str(path), f"Write for example {file.with_suffix('.py').name}.")
    if not file.parent.is_dir():
        raise refuse("path", "must lie in a folder that is there", str(path), f"Make {file.parent} first.")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(skeleton())
    except FileExistsError:
        raise refuse("path", "must be new", str(path), "Pick another name, or delete the old file first.") from None
    except OSError as error:
        raise InvalidInput(f"path {str(path)!r} cannot be written: {error.strerror}. Pick another place.") from None
    return file


SKELETON = '''"""Epsilon-greedy with a memory that fades: one line on what the policy does, and where it is from.

Change it as you like; `ss.check_policy("this_file.py")` says whether it keeps the rules (sigshift.policy has them all),
and `ss.simulate(["this_file.py", "ucb1"], "pb1")` what it is worth.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel
from sigshift.rng import uniforms

PAPER = "my own"
GUARANTEE = "none"


class Params(NamedTuple):
    """What select and update read; the same in every round. Plain numbers (or arrays), each always of one type."""

    epsilon: float
    kept: float


class State(NamedTuple):
    """What the policy remembers: all of it, nothing lives elsewhere. Kernels change the arrays in place."""

    key: np.uint64
    count: np.ndarray  # faded number of rewards of each arm
    total: np.ndarray  # faded sum of them


def configure(*, epsilon: float = 0.05, memory: float = 1000.0) -> Params:
    """From what the user says (with defaults) to what the kernels read.

    Put `arms`, `horizon` or `environment` before the star if you need to be told them.
    """
    epsilon = real("epsilon", epsilon, "The share of rounds that explore.", least=0.0, most=1.0)
    memory = real("memory", memory, "About how many rounds are remembered.", least=1.0)
    return Params(epsilon, 1.0 - 1.0 / memory)


def init(p, arms, key):
    """The state before the first round. Plain Python: make the arrays here, kernels cannot."""
    return State(key, np.zeros(arms), np.zeros(arms))


@kernel
def select(p, s, t):
    """The arm of round t = 0, 1, 2, ... and the exact probability with which it was chosen."""
    arms = s.count.size
    best = 0
    largest = -1.0
    for a in range(arms):
        mean = s.total[a] / s.count[a] if s.count[a] > 0.0 else 1.0  # an arm without rewards is promising
        if mean > largest:
            largest = mean
            best = a
    coin, which = uniforms(s.key, t, 0, 0)  # the draws of (key, round, stream): never np.random
    arm = int(which * arms) if coin < p.epsilon else best
    chance = p.epsilon / arms
    if arm == best:
        chance += 1.0 - p.epsilon
    return arm, chance


@kernel
def update(p, s, t, a, y, q):
    """The reward y of the decision of round t: arm a, chosen with probability q. It may be late, or never come."""
    for b in range(s.count.size):
        s.count[b] *= p.kept
        s.total[b] *= p.kept
    s.count[a] += 1.0
    s.total[a] += y
'''
