"""One run laid open: its choices, and for META and auto its episodes, replays and evictions, round by round.

The run is the very run that :func:`sigshift.simulate` plays under the same seed: the same compiled policy on the same
rewards, one round at a time, and between each choice and its reward a look at what META says of itself (its
``inspect``). Rounds, arms and bases count from 0. A base (an episode's root, or a replay) lives in the rounds
``start <= t < end``.

The active base plays META: in the paper's form it draws from its candidates. In the calibrated form, and in auto, the
replays do, and in the rounds of the root an index chooses, now and then an evicted arm, too; what is forgotten of one
arm alone is in :attr:`Anatomy.forgotten`.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigshift.checks import InvalidInput, whole
from sigshift.environment import Environment
from sigshift.play import Play
from sigshift.policy import Policy
from sigshift.policy import policy as policy_of
from sigshift.progress import Progress
from sigshift.rng import REWARD_DOMAIN, derive
from sigshift.simulation import as_environment

if TYPE_CHECKING:
    import pandas

    from sigshift.report.style import Chart

Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]

OUT_OF_TIME = "returned"  # it had played to its scheduled end
SUPERSEDED = "superseded"  # a replay began that ends no sooner: it would never have been active again
EPISODE_OVER = "episode over"
STILL_RUNNING = "still running"

ONWARD = 1_024  # rounds between two steps of the progress bar
AT_ONCE = 2**18  # rewards that are drawn together
LISTED = 12  # restarts that the text lists


class Bases(NamedTuple):
    """The bases in the order in which they began; the root of an episode has depth 0 and parent -1."""

    start: Integers
    length: Integers  # scheduled duration m0: it may play length + 1 rounds
    end: Integers  # the first round in which it did not live any more
    depth: Integers
    parent: Integers  # the base below it on the stack
    episode: Integers
    ended: tuple[str, ...]


class Evictions(NamedTuple):
    """Arms that were given up, in order. What empties the master set comes with the restart in the same round."""

    round: Integers  # the first round without the arm
    arm: Integers
    base: Integers  # the base whose candidate set it left, or -1 if it left the master set only
    master: Masks  # whether it left the master set in this round


class Changes(NamedTuple):
    """What held from each of these rounds on, until the next of them."""

    round: Integers
    base: Integers  # the active base
    candidates: Masks  # [change, arm] its candidate set
    master: Masks  # [change, arm] the master set


class Forgotten(NamedTuple):
    """What was forgotten, in order: an arm, and the first round whose reward counts again."""

    round: Integers
    arm: Integers


@dataclass(frozen=True, eq=False, repr=False)
class Anatomy:
    """What happened in one run. Made by :func:`anatomy`."""

    policy: Policy
    environment: Environment
    seed: int
    run: int
    choices: NDArray[np.unsignedinteger]
    """The arm of each round."""
    restarts: Integers
    """The rounds in which the policy started over by itself."""
    bases: Bases
    evictions: Evictions
    changes: Changes
    forgotten: Forgotten
    soft_restarts: Integers
    """Those restarts that began the master set anew only because evicted arms had been played too often."""

    @property
    def rounds(self) -> int:
        """The number of rounds played."""
        return int(self.choices.size)

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return self.environment.arms

    @property
    def has_bases(self) -> bool:
        """Whether the policy has episodes and replays to show, as META does."""
        return self.bases.start.size > 0

    @cached_property
    def episodes(self) -> Integers:
        """The first round of each episode."""
        if self.has_bases:
            return np.asarray(self.bases.start[self.bases.depth == 0])
        return np.concatenate([np.zeros(1, np.int64), self.restarts])

    @cached_property
    def active_base(self) -> NDArray[np.int32]:
        """[round]: the number of the base that played it."""
        self._needs_bases()
        return np.repeat(self.changes.base, self._lengths).astype(np.int32)

    @cached_property
    def active_size(self) -> NDArray[np.uint16]:
        """[round]: the number of candidates of the active base, |A_t|."""
        self._needs_bases()
        return np.repeat(self.changes.candidates.sum(axis=1), self._lengths).astype(np.uint16)

    @property
    def _lengths(self) -> Integers:
        return np.asarray(np.diff(self.changes.round, append=self.rounds))

    def candidates(self, t: int) -> list[int]:
        """The candidate set of the active base in round ``t``, A_t; that of a calibrated root is the master set."""
        return self._arms_at(self.changes.candidates, t)

    def master(self, t: int) -> list[int]:
        """The master set in round ``t``."""
        return self._arms_at(self.changes.master, t)

    def _arms_at(self, masks: Masks, t: int) -> list[int]:
        self._needs_bases()
        t = whole("t", t, 0, f"The rounds are 0 to {self.rounds - 1}.", self.rounds - 1)
        row = int(np.searchsorted(self.changes.round, t, side="right")) - 1
        return [int(arm) for arm in np.flatnonzero(masks[row])]

    def _needs_bases(self) -> None:
        if not self.has_bases:
            raise InvalidInput(
                f"policy {self.policy.label!r} has no bases, so its anatomy is its choices only. "
                'Ask for the anatomy of "meta".'
            )

    def table(self) -> "pandas.DataFrame":
        """One row per base; ``rounds`` is how many it was active in, ``evicted`` how many arms its set lost."""
        import pandas

        count = self.bases.start.size
        active = np.zeros(count, np.int64)
        np.add.at(active, self.changes.base, self._lengths)
        evicted = np.bincount(self.evictions.base[self.evictions.base >= 0], minlength=count)
        columns = {"base": np.arange(count), **self.bases._asdict(), "rounds": active, "evicted": evicted}
        return pandas.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and lists, ready for JSON."""

        def plain(parts: Any) -> dict[str, Any]:
            return {key: np.asarray(value).tolist() for key, value in parts._asdict().items()}

        changes = plain(self.changes)
        for key, masks in (("candidates", self.changes.candidates), ("master", self.changes.master)):
            changes[key] = [np.flatnonzero(row).tolist() for row in masks]
        return {
            "policy": self.policy.label,
            "environment": self.environment.name,
            "arms": self.arms,
            "rounds": self.rounds,
            "seed": self.seed,
            "run": self.run,
            "choices": self.choices.tolist(),
            "restarts": self.restarts.tolist(),
            "episodes": self.episodes.tolist(),
            "bases": plain(self.bases),
            "evictions": plain(self.evictions),
            "changes": changes,
            "forgotten": plain(self.forgotten),
            "soft_restarts": self.soft_restarts.tolist(),
        }

    def plot(self, path: str | os.PathLike[str] | None = None, *, first: int = 0, last: int | None = None) -> "Chart":
        """The picture of the rounds ``first`` to ``last``; written to ``path`` (.png, .pdf, .svg) if given."""
        from sigshift.report.charts import anatomy_chart

        return anatomy_chart(self, path, first=first, last=last)

    def __repr__(self) -> str:
        return f"<Anatomy: {self.policy.label} on {self.environment.name}, {self.rounds:,} rounds, run {self.run}>"

    def __str__(self) -> str:
        where = f"{self.policy.label} on {self.environment.name}, seed {self.seed}, run {self.run}"
        soft = f" ({self.soft_restarts.size:,} soft)" if self.soft_restarts.size else ""
        lines = [f"{where}: {_counted(self.rounds, 'round')}, {_counted(self.restarts.size, 'restart')}{soft}"]
        if self.restarts.size:
            shown = ", ".join(f"{t:,}" for t in self.restarts[:LISTED])
            more = self.restarts.size - LISTED
            lines.append(f"  restarts in rounds {shown}" + (f" and {more:,} more" if more > 0 else ""))
        if not self.has_bases:
            lines.append("  this policy has no bases: there is nothing but its choices to show")
        else:
            lines += self._about_bases()
        plays = np.bincount(self.choices, minlength=self.arms) / self.rounds
        order = np.argsort(-plays, kind="stable")[:LISTED]
        lines.append("  played: " + ", ".join(f"arm {a} {plays[a]:.1%}" for a in order))
        return "\n".join(lines)

    def _about_bases(self) -> list[str]:
        replays = self.bases.depth > 0
        lengths = self.bases.length[replays]
        inside = 1.0 - float((self.bases.depth[self.active_base] == 0).mean())
        about = ""
        if lengths.size:
            about = f" of {lengths.min():,} to {lengths.max():,} rounds, up to {self.bases.depth.max()} deep"
            about += f", which played {inside:.1%} of the rounds"
        left = Counter(bool(master) for master in self.evictions.master)
        lines = [
            f"  {_counted(self.episodes.size, 'episode')}, {_counted(lengths.size, 'replay')}{about}",
            f"  {_counted(self.evictions.round.size, 'eviction')}, {left[True]:,} of them from the master set",
        ]
        if self.forgotten.round.size:
            lines.append(f"  forgot an arm {_counted(self.forgotten.round.size, 'time')}")
        return lines


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def anatomy(policy: Any = "meta", env: Any = "pb2", seed: int = 0, run: int = 0, horizon: int | None = None) -> Anatomy:
    """Play the run that ``ss.simulate(policy, env, seed=seed)`` plays as its run number ``run``, and lay it open.

    ``horizon`` stops it after so many rounds (the policy still plans for the whole environment, as in ``simulate``).
    A policy without bases gives its choices only. It takes 10 to 20 microseconds a round.

    >>> import sigshift as ss
    >>> opened = ss.anatomy(ss.policy("meta", threshold="paper"), "pb2", seed=1, horizon=3_000)
    >>> opened.candidates(0), opened.episodes.tolist(), opened.restarts.tolist()
    ([0, 1, 2], [0, 373], [373])
    >>> opened.bases.ended[0], int(opened.bases.end[0])
    ('episode over', 373)
    """
    made = policy_of(policy)
    env = as_environment(env)
    seed = whole("seed", seed, 0, "Pass a whole number that is not negative.", 2**64 - 1)
    run = whole("run", run, 0, "Runs count from 0.", 2**32 - 1)
    rounds = env.horizon
    if horizon is not None:
        cure = f"Pass how many of the {env.horizon:,} rounds to play."
        rounds = whole("horizon", horizon, 1, cure, env.horizon)
    play = Play(made, env.arms, env.horizon, seed, run, env)
    record = _Record(play)
    with Progress(None, rounds, f"{made.label} on {env.name}") as bar:
        choices = _watched(play, env, rounds, record.look, bar) if _has_bases(play) else _played(play, env, rounds, bar)
    restarts = np.array(play.restarts(), np.int64)
    return Anatomy(made, env, seed, run, choices, restarts[restarts < rounds], *record.parts(rounds))


def _has_bases(play: Play) -> bool:
    """Whether the policy says which bases there are, and whom it has not given up."""
    told = hasattr(play.policy.module, "inspect")
    return told and {"bases", "master"} <= play.inspect(0, range(play.arms)).keys()


def _played(play: Play, env: Environment, rounds: int, bar: Progress) -> NDArray[np.unsignedinteger]:
    """Play the rounds; the choices."""
    choices = np.empty(rounds, np.min_scalar_type(env.arms - 1))
    key = derive(play.seed, REWARD_DOMAIN)
    arms, rewards = np.empty(ONWARD, np.int64), np.empty(ONWARD)
    for block in env.blocks(0, rounds):
        for t in range(block.first, block.last, ONWARD):
            last = min(t + ONWARD, block.last)
            play.simulate(t, last, block, env.law_code, env.spread, key, arms[: last - t], rewards[: last - t])
            choices[t:last] = arms[: last - t]
            bar.add(last - t)
    return choices


def _watched(
    play: Play, env: Environment, rounds: int, look: Callable[[int], None], bar: Progress
) -> NDArray[np.unsignedinteger]:
    """Play the rounds one by one, with a look at each between its choice and its reward; the choices."""
    choices = np.empty(rounds, np.min_scalar_type(env.arms - 1))
    paid = _rewards(play, env, rounds)
    play.bind()
    for t in range(rounds):
        play.enter(t)
        since = t - play.epoch_start
        arm, chance = play.ask(play.params, play.state, since)
        if not 0 <= arm < env.arms:
            raise play.no_such_arm()
        look(t)
        choices[t] = arm
        play.tell(play.params, play.state, since, arm, paid(t, arm), chance)
        if (t + 1) % ONWARD == 0:
            bar.add(ONWARD)
    return choices


def _rewards(play: Play, env: Environment, rounds: int) -> Callable[[int, int], float]:
    """What each arm pays in each round, asked in order."""
    pulls, rows = [0] * env.arms, max(1, AT_ONCE // env.arms)
    first, table = 0, np.empty((0, env.arms))

    def by_round(t: int, arm: int) -> float:
        nonlocal first, table
        if t >= first + len(table):
            first, table = t, env.rewards(t, min(t + rows, rounds), play.run, play.seed)
        return float(table[t - first, arm])

    def by_pull(t: int, arm: int) -> float:
        pulls[arm] += 1
        return env.reward(pulls[arm] - 1, arm, play.run, play.seed)

    return by_pull if env.clock == "pulls" else by_round


class _Record:
    """What is written down while META plays: all changes of the active base, its candidates and the master set."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.seen: tuple[Any, ...] = ()
        self.stack: list[int] = []  # the live bases, from the root to the active one
        self.sets: dict[int, Masks] = {}  # the candidates of these
        self.master: Masks = np.empty(0, np.bool_)
        self.soft = 0
        self.bases: list[list[int]] = []
        self.ended: list[str] = []
        self.evictions: list[tuple[int, int, int, bool]] = []
        self.changes: list[tuple[int, int]] = []
        self.masks: list[tuple[Masks, Masks]] = []
        self.since: list[int] = []  # for each arm the first round that counts
        self.forgotten: list[tuple[int, int]] = []
        self.soft_restarts: list[int] = []

    def look(self, t: int) -> None:
        """Note what has changed in round ``t``, whose arm has just been chosen."""
        play = self.play
        facts = play.policy.module.inspect(play.params, play.state, play.epoch_start, range(play.arms))
        self._note_forgotten([arm["since"] for arm in facts.get("memories", ())])
        seen = (play.epoch, facts["episode"], facts["bases"], facts["master"])
        if seen != self.seen:
            soft = facts.get("soft_restarts", 0)
            self._note(t, seen, softly=soft > self.soft)
            self.seen, self.soft = seen, soft

    def _note(self, t: int, seen: tuple[Any, ...], softly: bool) -> None:
        """Note that the bases, the active one's candidates or the master set are others."""
        bases = seen[2]
        fresh = seen[:2] != self.seen[:2]
        restarted = fresh and seen[:1] == self.seen[:1]  # and not an epoch of the doubling horizon that is over
        self._renew_stack(t, bases, fresh)
        active = self.stack[-1]
        candidates, master = self._mask(bases[-1]["candidates"]), self._mask(seen[3])
        if restarted and softly:
            self.soft_restarts.append(t)
        elif restarted:
            self._give_up(t, -1, np.zeros_like(master), self.master)
        elif not fresh:
            lost = self.sets.get(active, candidates) & ~candidates
            self._give_up(t, active, lost, self.master & ~master)
        self.sets[active], self.master = candidates, master
        self.changes.append((t, active))
        self.masks.append((candidates, master))

    def _mask(self, arms: list[int]) -> Masks:
        mask = np.zeros(self.play.arms, np.bool_)
        mask[arms] = True
        return mask

    def _note_forgotten(self, since: list[int]) -> None:
        if since != self.since:
            pairs = enumerate(zip(since, self.since or since, strict=True))
            self.forgotten += [(now, arm) for arm, (now, before) in pairs if now != before]
            self.since = since

    def _renew_stack(self, t: int, bases: list[Mapping[str, Any]], fresh: bool) -> None:
        """End the bases that are not on META's stack any more, and add the one that is new."""
        starts = [base["start"] for base in bases]
        while self.stack and (fresh or self._start(self.stack[-1]) not in starts):
            self._end(self.stack.pop(), t, fresh)
        if len(self.stack) < len(starts):
            depth = len(self.stack)
            parent = self.stack[-1] if self.stack else -1
            episode = self.bases[parent][5] if self.stack else self.bases[-1][5] + 1 if self.bases else 0
            self.stack.append(len(self.bases))
            self.bases.append([starts[depth], bases[depth]["length"], -1, depth, parent, episode])
            self.ended.append(STILL_RUNNING)

    def _start(self, base: int) -> int:
        return self.bases[base][0]

    def _end(self, base: int, t: int, fresh: bool) -> None:
        start, length = self.bases[base][:2]
        self.bases[base][2] = t
        self.ended[base] = EPISODE_OVER if fresh else OUT_OF_TIME if t > start + length else SUPERSEDED
        del self.sets[base]

    def _give_up(self, t: int, base: int, lost: Masks, master: Masks) -> None:
        for arm in np.flatnonzero(lost | master).tolist():
            self.evictions.append((t, arm, base if lost[arm] else -1, bool(master[arm])))

    def parts(self, rounds: int) -> tuple[Bases, Evictions, Changes, Forgotten, Integers]:
        """All of it as arrays."""
        arms = self.play.arms
        for base in self.stack:
            self.bases[base][2] = rounds
        start, length, end, depth, parent, episode = np.array(self.bases, np.int64).reshape(-1, 6).T
        when, arm, by = np.array([row[:3] for row in self.evictions], np.int64).reshape(-1, 3).T
        since, active = np.array(self.changes, np.int64).reshape(-1, 2).T
        masks = np.array(self.masks, np.bool_).reshape(len(self.masks), 2, arms)
        renewed, forgotten = np.array(self.forgotten, np.int64).reshape(-1, 2).T
        return (
            Bases(start, length, end, depth, parent, episode, tuple(self.ended)),
            Evictions(when, arm, by, np.array([row[3] for row in self.evictions], np.bool_)),
            Changes(since, active, masks[:, 0], masks[:, 1]),
            Forgotten(renewed, forgotten),
            np.array(self.soft_restarts, np.int64),
        )
