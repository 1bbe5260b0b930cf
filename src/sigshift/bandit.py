"""The online bandit: ask for an arm, tell its reward whenever it comes, save and go on as if nothing had been."""

import base64
import hashlib
import json
import math
import os
import secrets
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import InvalidInput, real, refuse, whole
from sigshift.compile import dependencies
from sigshift.files import file_path, write_atomically
from sigshift.play import Play
from sigshift.policy import Policy, defaults, definition, own_files, policy
from sigshift.states import leaves

FORMAT = "sigshift-bandit"
VERSION = 1
MOST_ARMS = 65_535
Name = str | int | float


class Choice(NamedTuple):
    """A decision: its round, the arm's name and index, and the probability with which it was taken."""

    round: int
    arm: Name
    index: int  # type: ignore[assignment]  # a tuple has a method of that name
    propensity: float | None


class Bandit:
    """One policy that chooses among arms, round by round.

    ``arms`` is a number or a list of distinct names: texts or numbers, so that they can be saved (``Color.RED`` of a
    text ``Enum`` becomes ``"red"``). ``horizon`` is how many rounds you expect; leave it out if you cannot say:
    policies that plan for one then play epochs of 1, 2, 4, ... rounds. A horizon that was told is a plan, not a
    fence: past it they go on with an epoch twice as long. The same policy, arms, seed and sequence of asks and tells
    give the same state, bit for bit; without ``seed`` one is drawn, and :attr:`seed` says which.

    A choice waits for its reward until it is told; where rewards may never come, :meth:`forget` old rounds now and
    then, or the list of those that wait grows for ever. Several threads may share a bandit. ``pickle`` and
    ``copy.deepcopy`` make another one that goes on by itself from the same state.

    >>> import sigshift as ss
    >>> bandit = ss.Bandit("ucb1", arms=["red", "green", "blue"], seed=7)
    >>> choice = bandit.ask()
    >>> choice
    Choice(round=0, arm='red', index=0, propensity=1.0)
    >>> bandit.tell(choice, 1.0)
    """

    def __init__(
        self, policy: Any = "auto", arms: int | Iterable[Name] = 0, horizon: int | None = None, seed: int | None = None
    ) -> None:
        names = _names(arms)
        if horizon is not None:
            horizon = whole("horizon", horizon, 1, "Pass the number of rounds, or None if nobody knows.", 2**62)
        if seed is None:
            seed = secrets.randbits(63)
        seed = whole("seed", seed, 0, "Pass a whole number that is not negative.", 2**64 - 1)
        made = _policy(policy)
        made.caution(len(names), horizon)
        self._begin(made, names, horizon, seed)

    def _begin(self, made: Policy, names: list[Name], horizon: int | None, seed: int) -> None:
        self._policy = made
        self._source = _source_hash(made.files)
        self._arms = names
        self._retired: set[int] = set()
        self._place_in(range(len(names)))
        self._horizon = horizon
        self._seed = seed
        self._round = 0
        self._outstanding: dict[int, tuple[int, float]] = {}
        try:
            self._play = Play(made, len(names), horizon, seed)
        except MemoryError:
            rule = f"must fit into memory with policy {made.label!r}"
            raise refuse("arms", rule, len(names), "Play fewer arms or another policy.") from None
        self._play.bind()
        self._lock = threading.Lock()

    def _place_in(self, slots: Iterable[int]) -> None:
        """The policy's arms, as indices into the names, and back."""
        self._slots = list(slots)
        self._slot_of = {index: slot for slot, index in enumerate(self._slots)}

    @property
    def policy(self) -> Policy:
        """The policy that chooses."""
        return self._policy

    @property
    def arms(self) -> list[Name]:
        """The names of all arms, in the order of their indices; retired ones keep their place."""
        return list(self._arms)

    @property
    def retired(self) -> list[Name]:
        """The names of the arms that are never chosen again."""
        with self._lock:
            return [self._arms[index] for index in sorted(self._retired)]

    @property
    def round(self) -> int:
        """The next round."""
        return self._round

    @property
    def seed(self) -> int:
        """The seed of the bandit's own draws."""
        return self._seed

    @property
    def outstanding(self) -> list[int]:
        """The rounds whose rewards have not come yet."""
        with self._lock:
            return sorted(self._outstanding)

    def ask(self) -> Choice:
        """The arm to play now. Any number of choices may wait for their rewards."""
        with self._lock:
            t = self._round
            play = self._play
            play.enter(t)
            since = t - play.epoch_start
            # An interrupt from the keyboard finds both of the next two lines done, or none.
            self._round = t + 1
            slot, propensity = play.ask(play.params, play.state, since)
            if not 0 <= slot < play.arms:
                raise play.no_such_arm()
            index = self._slots[slot]
            self._outstanding[t] = (index, propensity)
            return Choice(t, self._arms[index], index, propensity if propensity == propensity else None)

    def tell(self, choice: Choice | int, reward: float) -> None:
        """The reward, in [0, 1], of a choice or of its round: at any later time, in any order, once.

        True and False are 1 and 0. A reward of an arm that is retired by now, or of an epoch that is over, is taken
        but may no longer matter to the policy.
        """
        with self._lock:
            t: Any = choice
            arm: Any = None
            if isinstance(choice, Choice):
                t, arm = choice[0], choice[1]
            decision = self._outstanding.get(t) if type(t) is int else None
            if decision is None or (arm is not None and arm != self._arms[decision[0]]):
                t, decision = self._decision(choice, t)
            if type(reward) is not float or not 0.0 <= reward <= 1.0:
                reward = _reward(reward)
            index, propensity = decision
            play = self._play
            since = t - play.epoch_start
            slot = self._slot_of.get(index) if since >= 0 else None
            # An interrupt from the keyboard finds both of the next two steps done, or none.
            del self._outstanding[t]
            if slot is not None:
                play.tell(play.params, play.state, since, slot, reward, propensity)
                play.make_room()

    def _decision(self, choice: Any, t: Any) -> tuple[int, tuple[int, float]]:
        """The decision that waits under an unusual key (a NumPy integer, say), or the reason why there is none."""
        cure = "Pass a choice that ask() returned, or its round."
        t = whole("round", t, 0, cure)
        if t >= self._round:
            raise refuse("round", f"must have been asked; the next round is {self._round}", t, cure)
        decision = self._outstanding.get(t)
        if decision is None:
            cure = "Tell each round once, and do not forget() rounds whose rewards may still come."
            raise refuse("round", "must wait for its reward; this one was told or forgotten", t, cure)
        if isinstance(choice, Choice) and choice.arm != self._arms[decision[0]]:
            rule = f"must be this bandit's; in round {t} it chose {self._arms[decision[0]]!r}"
            raise refuse("choice", rule, choice.arm, "Is it the choice of another bandit?")
        return t, decision

    def forget(self, before: int) -> int:
        """Stop waiting for the rewards of all rounds before this one; returns how many they were."""
        before = whole("before", before, 0, "Pass a round.")
        with self._lock:
            gone = [t for t in self._outstanding if t < before]
            for t in gone:
                del self._outstanding[t]
        return len(gone)

    def add_arm(self, name: Name) -> int:
        """A new arm, without evidence; returns its index."""
        (name,) = _checked_names("name", [name])
        with self._lock:
            if name in self._arms:
                raise refuse("name", "must be new", name, "A retired arm's name stays taken; pick another.")
            play = self._play.copy()
            play.enter(self._round)
            play.add_arm()
            self._play = play
            self._place_in([*self._slots, len(self._arms)])
            self._arms.append(name)
            return len(self._arms) - 1

    def retire_arm(self, name: Name) -> None:
        """Never choose this arm again; its late rewards are still taken."""
        (name,) = _checked_names("name", [name])
        with self._lock:
            if name not in self._arms:
                raise refuse("name", f"must be one of {', '.join(map(repr, self._arms))}", name, "Check the spelling.")
            index = self._arms.index(name)
            if index in self._retired:
                raise refuse("name", "must not be retired yet", name, "There is nothing left to do.")
            if len(self._retired) + 2 > len(self._arms):
                raise refuse("name", "must leave at least one arm to choose", name, "Add another arm first.")
            play = self._play.copy()
            play.enter(self._round)
            moved = play.retire_arm(self._slot_of[index])
            self._play = play
            if moved:
                self._place_in(other for other in self._slots if other != index)
            self._retired.add(index)

    def inspect(self) -> dict[str, Any]:
        """What the next ``ask`` will use, as plain data; nothing changes.

        Of a policy that has no report of its own it is the whole ``state``; its rows are the arms that are not
        retired, in order. Numbers that JSON does not know (an infinite width, say) are None.
        """
        with self._lock:
            facts = self._play.inspect(self._round, self._slots)
            return {
                "policy": self._policy.label,
                "round": self._round,
                "seed": self._seed,
                "arms": list(self._arms),
                "retired": sorted(self._retired),
                "outstanding": len(self._outstanding),
                **facts,
            }

    def to_json(self) -> str:
        """Everything, as versioned JSON."""
        with self._lock:
            play = self._play
            content = {
                "policy": self._policy.to_dict(),
                "defaults": {**defaults(self._policy.module), **dict(self._policy.params)},
                "source": self._source,
                "arms": self._arms,
                "retired": sorted(self._retired),
                "slots": self._slots,
                "horizon": self._horizon,
                "seed": self._seed,
                "round": self._round,
                "outstanding": [[t, a, q if q == q else None] for t, (a, q) in self._outstanding.items()],
                "play": play.facts(),
                "state": {name: _packed(value) for name, value in leaves(play.state).items()},
            }
            body = _canonical(content)
        return f'{{"format": "{FORMAT}", "version": {VERSION}, "sha256": "{_hash(body)}", "bandit": {body}}}'

    @classmethod
    def from_json(cls, text: str) -> "Bandit":
        """The bandit that :meth:`to_json` wrote, going on exactly where it stood."""
        content = _unsealed(text)
        try:
            return cls._restored(content)
        except InvalidInput:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, zlib.error) as error:
            raise InvalidInput(f"saved bandit lacks or garbles a part: {error!r}. Load another copy.") from error

    @classmethod
    def _restored(cls, content: dict[str, Any]) -> "Bandit":
        made = _saved_policy(content)
        bandit = object.__new__(cls)
        bandit._begin(made, list(content["arms"]), content["horizon"], content["seed"])
        bandit._retired = set(content["retired"])
        bandit._place_in(content["slots"])
        bandit._round = content["round"]
        waiting = content["outstanding"]
        bandit._outstanding = {t: (a, float("nan") if q is None else q) for t, a, q in waiting}
        bandit._play.restore(content["play"], {key: _unpacked(part) for key, part in content["state"].items()})
        return bandit

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_json` to a file; whatever happens, the file is the old one or the new one, whole.

        Where ``path`` is a link, the file that it points to is replaced.
        """
        text = self.to_json()
        write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit":
        """The bandit that :meth:`save` wrote."""
        file = file_path(path)
        if not file.is_file():
            raise refuse("path", "must be a file written by Bandit.save", str(path), "Check the name.")
        try:
            return cls.from_json(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise InvalidInput(f"{path} is not a saved bandit: it is not text. Check the name.") from None
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error}") from error

    def __repr__(self) -> str:
        return f"<Bandit {self._policy.label}: {len(self._arms)} arms, next round {self._round}>"


def _policy(wanted: Any) -> Policy:
    made = policy(wanted)
    if made.name.endswith(".py") and definition(made.name) is not made.module:
        raise refuse("policy file", "has changed since ss.policy() read it", made.name, "Call ss.policy() again.")
    if "environment" in made.needs:
        raise InvalidInput(
            f"policy {made.label!r} must be told the environment, which nobody knows online. "
            "Use it in ss.simulate only, or play another policy."
        )
    return made


def _saved_policy(content: dict[str, Any]) -> Policy:
    """The policy of a saved bandit, once its file, if it has one, is known to be the same (so that it may be run)."""
    name, params = content["policy"]["name"], content["policy"]["params"]
    files = own_files(str.__str__(name), params)  # a name that is no text is refused
    for file in files:
        if not Path(file).is_file():
            raise refuse("policy file", "must be where it was when the bandit was saved", file, "Put it back there.")
    if files and content["source"] != _source_hash(files):
        rule = "and what it imports must be as when the bandit was saved"
        raise refuse("policy file", rule, ", ".join(files), "Restore the old file, or start a new bandit.")
    try:
        made = policy(name, **params)
    except InvalidInput:  # with the defaults of another version these parameters went together
        made = policy(name, **content.get("defaults", params))
    known = {**defaults(made.module), **dict(made.params)}
    if known != content["defaults"]:  # another version had other defaults: keep what was in force
        made = policy(made, **{k: v for k, v in content["defaults"].items() if known.get(k) != v})
    return made


def _names(arms: Any) -> list[Name]:
    cure = 'Pass a number of at least 2, or a list of names such as ["red", "green"].'
    if isinstance(arms, set | frozenset):
        raise refuse("arms", "must have an order, which a set has not", arms, "Pass sorted(arms).")
    if isinstance(arms, np.ndarray) and arms.ndim == 0:
        arms = arms.item()
    if isinstance(arms, Iterable) and not isinstance(arms, str | bytes):
        names = _checked_names("arms", list(arms))
        if len(names) < 2:
            raise refuse("arms", "must be at least two", names, cure)
        if len(names) > MOST_ARMS:
            raise refuse("arms", f"must be at most {MOST_ARMS}", len(names), "Group some of them.")
        return names
    return list(range(whole("arms", arms, 2, cure, MOST_ARMS)))


def _checked_names(argument: str, names: list[Any]) -> list[Name]:
    plain = [_checked_name(argument, name) for name in names]
    if len(set(plain)) < len(plain):
        twice = next(name for name in plain if plain.count(name) > 1)
        raise refuse(argument, "must have distinct names", twice, "Rename or drop the one that is there twice.")
    return plain


def _checked_name(argument: str, name: Any) -> Name:
    """The name as a plain text or number, which comes back from a file as it was."""
    plain = name.item() if isinstance(name, np.generic) else name
    if isinstance(plain, str):
        return str.__str__(plain)
    if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) < 2**63:
        return int(plain)
    if isinstance(plain, float) and math.isfinite(plain):
        return float(plain)
    raise refuse(
        argument, "must be named by texts or finite numbers", name, "Keep a table of your own for other things."
    )


def _reward(value: Any) -> float:
    cure = "Scale the rewards to [0, 1]; leave out a reward that never came."
    if isinstance(value, bool | np.bool_):
        return float(value)
    number = hasattr(value, "__float__") or hasattr(value, "__index__")
    if not number or np.shape(value) != () or np.iscomplexobj(value):
        raise refuse("reward", "must be a finite number >= 0 and <= 1", value, cure)
    return real("reward", value, cure, least=0.0, most=1.0)


def _packed(value: Any) -> Any:
    """A part of a state as JSON: arrays as compressed little-endian bytes, so that they come back bit for bit."""
    array = np.asarray(value)
    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    data = base64.b64encode(zlib.compress(raw, 1)).decode("ascii")
    return {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "data": data}


def _unpacked(part: dict[str, Any]) -> Any:
    raw = zlib.decompress(base64.b64decode(part["data"], validate=True))
    array = np.frombuffer(raw, np.dtype(part["dtype"])).reshape(part["shape"])
    array = array.astype(array.dtype.newbyteorder("="))
    return array if array.ndim else array[()]


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _source_hash(files: Iterable[str]) -> str | None:
    """A hash of a user's files and of all that they import beside themselves; None where there are none."""
    ours = Path(__file__).parent
    found = [path for file in files for path in dependencies(Path(file), Path(file).parent)]
    own = [path for path in found if not path.is_relative_to(ours)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in own)).hexdigest() if own else None


def _unsealed(text: str) -> dict[str, Any]:
    """The content of a saved bandit, once it is known to be whole, ours and not from the future."""
    cure = "Load another copy."
    try:
        outer = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput(f"saved bandit must be whole JSON, but it ends early or is something else. {cure}") from None
    if not isinstance(outer, dict) or outer.get("format") != FORMAT:
        raise InvalidInput(f"saved bandit must be a file of Bandit.save, but it is some other JSON. {cure}")
    version = outer.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InvalidInput(
            f"saved bandit must be of version 1 to {VERSION}, but got {version!r}. Upgrade sigshift to read it."
        )
    content: Any = outer.get("bandit")
    try:
        whole_content = isinstance(content, dict) and _hash(_canonical(content)) == outer.get("sha256")
    except (ValueError, RecursionError):  # what to_json never writes
        whole_content = False
    if not whole_content:
        raise InvalidInput(f"saved bandit must be unchanged since it was saved, but its checksum differs. {cure}")
    found: dict[str, Any] = content
    return found


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
