"""The online bandit: ask for an arm, tell its reward whenever it comes, save and go on as if nothing had been."""

import base64
import hashlib
import json
import os
import secrets
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sigshift.checks import InvalidInput, real, refuse, whole
from sigshift.files import write_atomically
from sigshift.play import Play
from sigshift.policy import Policy, defaults, policy

FORMAT = "sigshift-bandit"
VERSION = 1
Name = str | int | float


class Choice(NamedTuple):
    """A decision: its round, the arm's name and index, and the probability with which it was taken."""

    round: int
    arm: Name
    index: int
    propensity: float | None


class Bandit:
    """One policy that chooses among arms, round by round.

    ``arms`` is a number or a list of distinct names. ``horizon`` is how many rounds you expect; leave it out if you
    cannot say: policies that plan for one then play epochs of 1, 2, 4, ... rounds. The same policy, arms, seed and
    sequence of asks and tells give the same state, bit for bit. Several threads may share a bandit.

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
        self._begin(_policy(policy), names, horizon, seed)

    def _begin(self, made: Policy, names: list[Name], horizon: int | None, seed: int) -> None:
        self._policy = made
        self._arms = names
        self._retired: set[int] = set()
        self._slots = list(range(len(names)))  # the policy's arms, as indices into self._arms
        self._horizon = horizon
        self._seed = seed
        self._round = 0
        self._outstanding: dict[int, tuple[int, float]] = {}
        self._play = Play(made, len(names), horizon, seed)
        self._play.bind()
        self._lock = threading.Lock()

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
        return sorted(self._outstanding)

    def ask(self) -> Choice:
        """The arm to play now. Any number of choices may wait for their rewards."""
        with self._lock:
            t = self._round
            play = self._play
            play.enter(t)
            slot, propensity = play.ask(play.params, play.state, t - play.epoch_start)
            index = self._slots[slot]
            self._outstanding[t] = (index, propensity)
            self._round = t + 1
            return Choice(t, self._arms[index], index, propensity if propensity == propensity else None)

    def tell(self, choice: Choice | int, reward: float) -> None:
        """The reward, in [0, 1], of a choice or of its round: at any later time, in any order, once."""
        with self._lock:
            t = choice[0] if isinstance(choice, tuple) else choice
            decision = self._outstanding.get(t) if type(t) is int else None
            if decision is None or (isinstance(choice, Choice) and choice[2] != decision[0]):
                t, decision = self._decision(choice, t)
            index, propensity = decision
            if type(reward) is not float or not 0.0 <= reward <= 1.0:
                cure = "Scale the rewards to [0, 1]; leave out a reward that never came."
                reward = real("reward", reward, cure, least=0.0, most=1.0)
            del self._outstanding[t]
            play = self._play
            if t >= play.epoch_start and index in self._slots:
                slot = self._slots.index(index)
                play.tell(play.params, play.state, t - play.epoch_start, slot, reward, propensity)

    def _decision(self, choice: Any, t: Any) -> tuple[int, tuple[int, float]]:
        """The decision that waits under an unusual key (a NumPy integer, say), or the reason why there is none."""
        cure = "Pass a choice that ask() returned, or its round."
        t = whole("round", t, 0, cure)
        if t >= self._round:
            raise refuse("round", f"must have been asked; the next round is {self._round}", t, cure)
        decision = self._outstanding.get(t)
        if decision is None:
            raise refuse("round", "must wait for its reward; this one was told or forgotten", t, "Tell each round once.")
        if isinstance(choice, Choice) and choice.index != decision[0]:
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
        (name,) = _checked_names([name])
        if name in self._arms:
            raise refuse("name", "must be new", name, "A retired arm's name stays taken; pick another.")
        with self._lock:
            self._play.enter(self._round)
            self._play.add_arm()
            self._slots.append(len(self._arms))
            self._arms.append(name)
            return len(self._arms) - 1

    def retire_arm(self, name: Name) -> None:
        """Never choose this arm again; its late rewards are still taken."""
        if name not in self._arms:
            raise refuse("name", f"must be one of {', '.join(map(repr, self._arms))}", name, "Check the spelling.")
        index = self._arms.index(name)
        if index in self._retired:
            raise refuse("name", "must not be retired yet", name, "There is nothing left to do.")
        if len(self._retired) + 2 > len(self._arms):
            raise refuse("name", "must leave at least one arm to choose", name, "Add another arm first.")
        with self._lock:
            slot = self._slots.index(index)
            self._play.enter(self._round)
            if self._play.retire_arm(slot):
                del self._slots[slot]
            self._retired.add(index)

    def inspect(self) -> dict[str, Any]:
        """What the next ``ask`` will use, as plain data; nothing changes."""
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
                "source": _source_hash(self._policy),
                "arms": self._arms,
                "retired": sorted(self._retired),
                "slots": self._slots,
                "horizon": self._horizon,
                "seed": self._seed,
                "round": self._round,
                "outstanding": [[t, a, q if q == q else None] for t, (a, q) in self._outstanding.items()],
                "play": {key: getattr(play, key) for key in PLAY_FIELDS},
                "state": {key: _packed(value) for key, value in play.state._asdict().items()},
            }
        sealed = {"format": FORMAT, "version": VERSION, "sha256": _hash(_canonical(content)), "bandit": content}
        return json.dumps(sealed, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Bandit":
        """The bandit that :meth:`to_json` wrote, going on exactly where it stood."""
        content = _unsealed(text)
        try:
            return cls._restored(content)
        except InvalidInput:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, zlib.error) as error:
            raise InvalidInput(f"saved bandit lacks or garbles a part: {error!r}. Load another copy.") from error

    @classmethod
    def _restored(cls, content: dict[str, Any]) -> "Bandit":
        made = policy(content["policy"]["name"], **content["policy"]["params"])
        known = {**defaults(made.module), **dict(made.params)}
        if known != content["defaults"]:  # another version had other defaults: keep what was in force
            made = policy(made, **{k: v for k, v in content["defaults"].items() if known.get(k) != v})
        if content["source"] != _source_hash(made):
            raise InvalidInput(
                f"policy file {made.name} must be the one the bandit was saved with, but it has changed since. "
                "Restore the old file, or start a new bandit."
            )
        bandit = object.__new__(cls)
        bandit._begin(made, list(content["arms"]), content["horizon"], content["seed"])
        bandit._retired = set(content["retired"])
        bandit._slots = list(content["slots"])
        bandit._round = content["round"]
        waiting = content["outstanding"]
        bandit._outstanding = {t: (a, float("nan") if q is None else q) for t, a, q in waiting}
        play = bandit._play
        for key in PLAY_FIELDS:
            setattr(play, key, content["play"][key])
        play.params = made.configure(play.arms, play.epoch_horizon)
        kind = type(play.state)
        if list(content["state"]) != list(kind._fields):
            raise InvalidInput(
                f"saved bandit must hold the state of {made.label!r} as this version knows it, but its parts differ. "
                "Load it with the version that saved it."
            )
        play.state = kind(*[_unpacked(value) for value in content["state"].values()])
        play.bind()
        return bandit

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_json` to a file; whatever happens, the file is the old one or the new one, whole."""
        text = self.to_json()
        write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit":
        """The bandit that :meth:`save` wrote."""
        file = Path(path).expanduser()
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


PLAY_FIELDS = ("arms", "epoch", "epoch_start", "epoch_horizon", "past_restarts", "retired")


def _policy(wanted: Any) -> Policy:
    made = policy(wanted)
    if "environment" in made.needs:
        raise InvalidInput(
            f"policy {made.label!r} must be told the environment, which nobody knows online. "
            "Use it in ss.simulate only, or play another policy."
        )
    return made


def _names(arms: Any) -> list[Name]:
    cure = 'Pass a number of at least 2, or a list of names such as ["red", "green"].'
    if isinstance(arms, Iterable) and not isinstance(arms, str | bytes):
        names = _checked_names(list(arms))
        if len(names) < 2:
            raise refuse("arms", "must be at least two", names, cure)
        return names
    return list(range(whole("arms", arms, 2, cure, 65_535)))


def _checked_names(names: list[Any]) -> list[Name]:
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    for name in plain:
        if isinstance(name, bool) or not isinstance(name, str | int | float) or name != name:
            raise refuse("arms", "must be named by texts or numbers", name, "Keep a table of your own for other things.")
    if len(set(plain)) < len(plain):
        twice = next(name for name in plain if plain.count(name) > 1)
        raise refuse("arms", "must have distinct names", twice, "Rename or drop the one that is there twice.")
    return plain


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


def _source_hash(made: Policy) -> str | None:
    return _hash(Path(made.name).read_text(encoding="utf-8")) if made.name.endswith(".py") else None


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
    if not isinstance(version, int) or version > VERSION:
        raise InvalidInput(
            f"saved bandit must be of version {VERSION} or older, but got {version!r}. Upgrade sigshift to read it."
        )
    content = outer.get("bandit")
    if not isinstance(content, dict) or _hash(_canonical(content)) != outer.get("sha256"):
        raise InvalidInput(f"saved bandit must be unchanged since it was saved, but its checksum differs. {cure}")
    return content


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))
