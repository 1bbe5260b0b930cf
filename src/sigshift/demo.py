"""The demonstration: auto, META and their rivals on three problems, in one table, in pictures and in three sentences.

The sentences are computed from the numbers, so that they stay true whatever these are.
"""

import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sigshift.analysis.phases import Phases, phases
from sigshift.checks import InvalidInput, whole
from sigshift.environment import Environment
from sigshift.environments import env
from sigshift.policy import Policy, policy
from sigshift.report.anatomy import anatomy
from sigshift.report.charts import means_and_phases, regret_curves
from sigshift.simulation import Runs, simulate

HORIZON = 1_000_000
RUNS = 5
OPENED = 0.25  # the share of the rounds that the anatomy shows
WIDTH = 80

AUTO, META, PAPERS = policy("auto"), policy("meta"), policy("meta", threshold="paper")
CAREFUL = policy("meta", c0=1.0, replay_rate=1.0)
OURS = (AUTO, META, PAPERS, CAREFUL)
RIVALS = ("ucb1", "exp3", "exp3s", "uniform", "oracle")
STILL, CROSSING, MOVING = 0, 1, 2  # the problems: season, trig, rotate


@dataclass(frozen=True, eq=False, repr=False)
class Demo:
    """What :func:`demo` found: the runs and the significant phases of each problem, and the pictures' files."""

    runs: tuple[Runs, ...]
    phases: tuple[Phases, ...]
    pictures: tuple[Path, ...]

    def table(self) -> str:
        """One table of all problems and policies, at most 80 characters wide."""
        head = f"{'':31}  {'regret':>8}  {'sd':>7}  {'share':>6}  {'restarts':>8}  {'ns/round':>8}"
        lines = [head]
        for runs, found in zip(self.runs, self.phases, strict=True):
            lines += ["", _title(runs, found), *_rows(runs)]
        return "\n".join(lines)

    def sentences(self) -> tuple[str, str, str]:
        """What is to be seen: what the paper's META notices, what noticing is worth, and what it costs."""
        return _notices(self.runs, self.phases), _worth(self.runs[CROSSING]), _costs(self.runs)

    def __str__(self) -> str:
        count = len(next(iter(self.runs[0].restarts.values())))
        legend = (
            f"Means of {_counted(count, 'run')}. Share: of uniform play's regret. L: changes of means; S: best-arm "
            "switches; L~: significant shifts. The oracle knows the means; auto, meta, ucb1 and uniform are told "
            "nothing, the others the horizon."
        )
        seen = "\n".join(_wrapped(f"{i}. {said}", "   ") for i, said in enumerate(self.sentences(), 1))
        files = ", ".join(path.name for path in self.pictures)
        pictures = f"Pictures in {self.pictures[0].parent}{os.sep}: {files}"
        return "\n\n".join([self.table(), _wrapped(legend), seen, _wrapped(pictures, "  ")])


def demo(
    out: str | os.PathLike[str] = "sigshift-demo",
    runs: int = RUNS,
    seed: int = 0,
    jobs: int | None = None,
    *,
    horizon: int = HORIZON,
    say: Callable[[str], object] = lambda message: None,
) -> Demo:
    """Play auto, META and their rivals on three problems, and write the pictures into the folder ``out``.

    ``say`` is called with a line about each step.
    """
    whole("runs", runs, 1, "Pass how often each policy is to be played.")
    whole("seed", seed, 0, "Pass a whole number that is not negative.", 2**64 - 1)
    if jobs is not None:
        whole("jobs", jobs, 1, "Pass the number of cores to use.")
    problems = _problems(whole("horizon", horizon, 1_000, "The problems need that many rounds."))
    folder = _folder(out)
    players = [*OURS, *map(policy, RIVALS)]
    results, found, pictures = [], [], []
    for problem in problems:
        say(f"{problem.name}: {len(players)} policies, {_counted(runs, 'run')} of {problem.horizon:,} rounds")
        results.append(simulate(players, problem, runs, seed, jobs))
        found.append(phases(problem))
        pictures += _drawn(folder, problem, results[-1], found[-1])
    say(f"{problems[CROSSING].name}: a run of meta, round by round")
    pictures.append(_opened(folder, problems[CROSSING], seed))
    return Demo(tuple(results), tuple(found), tuple(pictures))


def _problems(horizon: int) -> list[Environment]:
    """Nothing matters; two arms cross; the best of five arms moves now and then while all of them swing."""
    return [
        env("season", horizon=horizon),
        env("trig", horizon=horizon),
        env("rotate", horizon=horizon, every=horizon // 5),
    ]


def _folder(out: str | os.PathLike[str]) -> Path:
    folder = Path(out).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"out must be a folder, or a name for one, but got {str(out)!r}: {error.strerror}."
        ) from None
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"out must be a folder that can be written to, but got {str(out)!r}. Pick another one.")
    return folder


def _drawn(folder: Path, problem: Environment, runs: Runs, found: Phases) -> list[Path]:
    means, regret = folder / f"{problem.name}-means.png", folder / f"{problem.name}-regret.png"
    means_and_phases(problem, found, means)
    scale = "linear" if found.significant else "log"  # where nothing matters those that learn are close to one another
    regret_curves(runs, regret, scale)
    return [means, regret]


def _opened(folder: Path, problem: Environment, seed: int) -> Path:
    path = folder / f"{problem.name}-meta-run.png"
    anatomy(META, problem, seed, run=0, horizon=int(OPENED * problem.horizon)).plot(path)
    return path


# The table.


def _title(runs: Runs, found: Phases) -> str:
    size = f"{runs.arms} arms, {runs.horizon:,} rounds"
    return f"{runs.environment}: {size}; L = {found.changes:,}, S = {found.switches:,}, L~ = {found.significant:,}"


def _rows(runs: Runs) -> list[str]:
    lines = []
    for row in runs.summary().sort_values("regret").to_dict("records"):
        spread = "-" if np.isnan(row["sd"]) else f"{row['sd']:,.0f}"
        lines.append(
            f"  {row['policy']:29}  {row['regret']:8,.0f}  {spread:>7}  {_share(runs, row['policy']):>6}"
            f"  {row['restarts']:8.1f}  {row['ns_per_round']:8.0f}"
        )
    return lines


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# The sentences.


def _regret(runs: Runs, label: Any) -> float:
    return float(runs.regret(label)[:, -1].mean())


def _share(runs: Runs, label: Any) -> str:
    """The regret as a share of uniform play's."""
    share = 100.0 * _regret(runs, label) / _regret(runs, "uniform")
    return f"{share:.0f}%" if share >= 1.0 else f"{share:.2f}%"


def _restarts(runs: Runs, made: Policy) -> float:
    return float(runs.restarts[made.label].mean())


def _notices(runs: Sequence[Runs], found: Sequence[Phases]) -> str:
    changes = sorted({one.changes for one in found})
    often = f"{changes[0]:,} times on each" if len(changes) == 1 else f"up to {changes[-1]:,} times"
    shifts, restarts = [one.significant for one in found], [_restarts(of, PAPERS) for of in runs]
    matter = _listed([f"{one.significant:,} ({of.environment})" for one, of in zip(found, runs, strict=True)])
    apart = [abs(seen - true) for true, seen in zip(shifts, restarts, strict=True)]
    close = all(gap <= max(1.0, 0.25 * true) for true, gap in zip(shifts, apart, strict=True))
    near = f"one for each shift that matters, give or take {max(apart):.1f}"
    verdict = near if close else "which does not follow the shifts that matter yet"
    return (
        f"The means change {often}, but with only {matter} significant shifts; the paper's META restarted "
        f"{_listed([f'{mean:.1f}' for mean in restarts])} times in a run, {verdict}."
    )


def _worth(runs: Runs) -> str:
    auto, meta, papers, ucb1, exp3 = (_share(runs, label) for label in (AUTO, META, PAPERS, "ucb1", "exp3"))
    ahead = max(_regret(runs, AUTO), _regret(runs, META)) < min(_regret(runs, "ucb1"), _regret(runs, "exp3"))
    verdict = "noticing pays" if ahead else "noticing does not pay yet"
    return (
        f"On {runs.environment}, where two arms cross, {verdict}: auto, the default policy, has {auto} of the regret "
        f"of uniform play, meta, which answers for what it gives up with unbiased evidence, {meta}, the paper's META "
        f"{papers}, UCB1, which trusts that nothing changes, {ucb1}, and EXP3, which aims at the best single arm, "
        f"{exp3}."
    )


def _costs(runs: Sequence[Runs]) -> str:
    still = runs[STILL]
    prices = f"auto has {_price(still, AUTO)} and meta {_price(still, META)}"
    better = [of.environment for of in runs if _regret(of, "exp3s") < _regret(of, PAPERS)]
    where = "all three" if len(better) == len(runs) else _listed(better) if better else "none of the three"
    careful = _listed([_share(of, CAREFUL) for of in runs])
    return (
        f"Being ready has its price: on {still.environment}, where nothing matters, {prices} UCB1's regret. A theorem "
        f"has a higher one: the paper's META has {_price(still, PAPERS)} UCB1's regret there, and EXP3.S does better "
        f"on {where}; with c0=1 and the paper's replay_rate=1, nearer to what the proof asks for, it has {careful} of "
        f"uniform play's regret: its guarantee is for horizons far beyond {still.horizon:,} rounds."
    )


def _price(runs: Runs, made: Policy) -> str:
    """How its regret compares with UCB1's."""
    return f"{_regret(runs, made) / _regret(runs, 'ucb1'):,.1f} times"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
