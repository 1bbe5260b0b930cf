"""The leaderboard: every policy that is no oracle on the public suite, the good ones at longer horizons, too.

    scripts/bench leaderboard     play what ``leaderboard.csv`` lacks or what other code has played; write file,
                                  picture and tables
    scripts/docs                  write the tables from the file (``--check``: say whether they are up to date)

A run of seed r is ``ss.simulate(policy, ss.env(name, horizon=T, seed=r), runs=1, seed=r)``.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import catalogue
import numpy as np
import pandas as pd
from catalogue import FRAMES, KEY, LUCKY, grid, number, ratio, stored

import sigshift
from sigshift.environments.suite import SUITE
from sigshift.files import write_atomically
from sigshift.policy import names, policy
from sigshift.report.heatmap import regret_heat_map
from sigshift.study import Results, Spec, Store, complete
from sigshift.study.analyse import REFERENCE
from sigshift.study.spec import Cell, Entrant, entrant, short_name

HERE = Path(__file__).parent
FILE = HERE / "leaderboard.csv"
STORE = HERE / ".leaderboard"  # single runs: what a stopped command goes on from
DOCS = HERE.parent / "docs"
PAGES = (HERE.parent / "README.md", DOCS / "leaderboard.md")
PICTURE = DOCS / "pictures" / "leaderboard.png"

SEEDS = {20_000: range(5_000, 5_100), 100_000: range(5_000, 5_100), 1_000_000: range(5_000, 5_030)}
SHORT, MIDDLE, LONG = SEEDS
NEAR = 3.0  # times the best: who is that near at SHORT plays MIDDLE, too
DOZEN = 12  # the best ones of MIDDLE, which play LONG, too
LONGEST = 600.0  # seconds that a policy may take for all of one horizon

PAPERS = "meta(threshold='paper')"
VARIANTS = ("auto(forget='all')", "glr_kl_ucb(restart='local')", PAPERS, "bob(base='exp3s')")
KNOWN = ("kl_ucb", "ucb1", "thompson", "exp3s", "sw_ucb", "d_ucb", "glr_kl_ucb", "auto", "meta", *VARIANTS[:3])
ALWAYS = ("glr_kl_ucb", "auto", "auto(forget='all')", "kl_ucb", "meta", PAPERS)
TRUTHS = {  # what the rivals of the field may be told of each problem
    "changes": ("cusum_ucb", "d_ucb", "glr_kl_ucb", "m_ucb", "pht_ucb", "sw_kl_ucb", "sw_ts", "sw_ucb"),
    "switches": ("exp3s", "ser4"),
    "variation": ("rexp3",),
}
TENTH = "rate=tenth"  # how the tables call a parameter that goes with the horizon
DRAWN = 22  # rows of a picture


# What is played.


def entrants(horizon: int, table: pd.DataFrame | None) -> list[Entrant]:
    """Who plays at a horizon, given the results of the one before."""
    if horizon == SHORT:
        taking = [name for name in names() if "environment" not in policy(name).needs]
        chosen = [name for name in taking if name not in (*LUCKY, *FRAMES[:1])] + list(VARIANTS)
        chosen += [f"{name}({truth}=truth)" for truth, told in TRUTHS.items() for name in told]
    else:
        before = list(SEEDS)[list(SEEDS).index(horizon) - 1]
        found = results(table, before).summary().sort_values("over_reference")
        near = found[found["over_reference"] <= NEAR * found["over_reference"].min()]
        best = near["policy"] if horizon == MIDDLE else found["policy"][:DOZEN]
        time = found.set_index("policy")["ns_per_round"] * 1e-9 * horizon * len(SUITE) * len(SEEDS[horizon])
        both = {*best, *(KNOWN if horizon == MIDDLE else ALWAYS)}
        chosen = [label for label in both if TENTH not in label and time[label] <= LONGEST]
    return [*(entrant(label) for label in sorted(chosen)), *exploring_less(horizon)]


def exploring_less(horizon: int) -> list[Entrant]:
    """GLR-klUCB with a tenth of the forced exploration that its paper begins with for ten arms."""
    rate = round(0.1 * np.sqrt(10.0 * np.log(horizon) / horizon), 4)
    return [entrant(f"glr_kl_ucb({local}rate={rate})") for local in ("", "restart='local', ")]


def cells(horizon: int, table: pd.DataFrame | None) -> Iterator[Cell]:
    for one in entrants(horizon, table):
        for name in SUITE:
            yield Cell(one, name, horizon)


FIGURES = ["sigshift", "told", "tuning_free", "restarts", "ns_per_round", "regrets"]


def play(path: Path = FILE, store: Store | None = None) -> pd.DataFrame:
    """Play what is missing; the table with all that is wanted and nothing else, written to the file."""
    store = Store(STORE) if store is None else store
    old = stored(path)
    known = {row[: len(KEY)]: row for row in old.itertuples(index=False, name=None)}
    made = None
    for horizon, seeds in SEEDS.items():
        rows = []
        for cell in cells(horizon, made):
            key = catalogue.key(cell, seeds)
            if key not in known:
                complete(Spec((cell.entrant,), SUITE, (horizon,), seeds), store)
                known[key] = (*key, *_figures(cell, store))
                if cell.environment == SUITE[-1]:
                    print(f"{cell.entrant.label}, T = {horizon:,}", flush=True)
            rows.append(known[key])
        new = pd.DataFrame(rows, columns=[*KEY, *FIGURES])
        made = pd.concat([made, new]) if made is not None else new
    write_atomically(path, lambda draft: made.to_csv(draft, index=False, lineterminator="\n"))
    return made


def _figures(cell: Cell, store: Store) -> tuple[object, ...]:
    seeds = SEEDS[cell.horizon]
    runs = store.read(cell, seeds)
    restarts = round(float(np.mean([runs[seed].restarts for seed in seeds])), 2)
    time = round(float(np.median([runs[seed].ns_per_round for seed in seeds])), 1)
    regrets = " ".join(f"{runs[seed].regret:.0f}" for seed in seeds)
    return sigshift.__version__, cell.entrant.told, cell.entrant.tuning_free, restarts, time, regrets


def results(table: pd.DataFrame, horizon: int) -> Results:
    """The stored figures of one horizon, as a study has them."""
    mine = table[table["horizon"] == horizon]
    facts = mine.drop_duplicates("policy").set_index("policy")
    rows = mine.set_index(["policy", "environment"]).loc[[(label, name) for label in facts.index for name in SUITE]]
    shape = len(facts), len(SUITE), len(SEEDS[horizon])
    regret = np.array([text.split() for text in rows["regrets"]], np.float64)
    alike = {name: rows[name].to_numpy(np.float64).reshape(*shape[:2], 1) for name in ("restarts", "ns_per_round")}
    return Results(
        horizon=horizon,
        seeds=SEEDS[horizon],
        purpose="for reporting",
        policies=tuple(re.sub(r"rate=[\d.]+", TENTH, label) for label in facts.index),
        told=tuple(facts["told"]),
        tuning_free=facts["tuning_free"].to_numpy(np.bool_),
        environments=SUITE,
        reference=REFERENCE,
        regret=regret.reshape(shape),
        **alike,
    )


# The tables.


class Board:
    """The stored figures, as the tables show them."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.at = {horizon: results(table, horizon) for horizon in SEEDS}
        self.summary = {horizon: found.summary().set_index("policy") for horizon, found in self.at.items()}

    def block(self, what: str) -> str:
        """What a comment asks for: ``all of 20000``, ``first 5 and a; b``, or ``one of a over b``."""
        kind, _, rest = what.partition(" ")
        if kind == "all":
            return self.everyone(int(rest.removeprefix("of ")))
        if kind == "first":
            count, _, others = rest.partition(" and ")
            return self.first(int(count), [label.strip() for label in others.split(";")])
        if kind == "one":
            mine, _, rival = rest.removeprefix("of ").partition(" over ")
            return self.one(mine, rival)
        raise ValueError(f"no such table: {what!r}")

    def everyone(self, horizon: int) -> str:
        """Who played this horizon, by regret over GLR-klUCB's."""
        found = self.summary[horizon].sort_values("over_reference", kind="stable")
        head = ["policy", "told", "over `glr_kl_ucb`", "worst", "over the best", "restarts", "ns a round"]
        rows = [
            [
                f"`{label}`",
                row.told,
                f"{_spread(row.over_reference, row.over_reference_low, row.over_reference_high)}",
                f"{ratio(row.reference_worst)} ({row.reference_worst_on})",
                f"{_spread(row.over_best, row.over_best_low, row.over_best_high)}",
                number(row.restarts),
                number(row.ns_per_round),
            ]
            for label, row in zip(found.index, found.itertuples(), strict=True)
        ]
        return grid(head, rows)

    def first(self, count: int, others: Sequence[str]) -> str:
        """The best of the middle horizon and some others, at all horizons."""
        order = self.summary[MIDDLE].sort_values("over_reference", kind="stable").index
        head = ["policy", "told", *(f"T = {horizon:,}" for horizon in SEEDS), "worst of all"]
        return grid(head, [self._one_of_all(label) for label in order if label in {*order[:count], *others}])

    def _one_of_all(self, label: str) -> list[str]:
        ratios, worst = [], (0.0, "")
        for found in self.summary.values():
            there = label in found.index
            ratios.append(ratio(found.at[label, "over_reference"]) if there else "-")
            if there:
                worst = max(worst, (float(found.at[label, "reference_worst"]), found.at[label, "reference_worst_on"]))
        told = str(self.summary[MIDDLE].at[label, "told"])
        return [f"`{label}`", told, *ratios, f"{ratio(worst[0])} ({worst[1]})"]

    def over(self, mine: str, rival: str, horizon: int, environment: str) -> float:
        """The mean regret of one over that of another, on one environment."""
        found = self.at[horizon]
        means = found.means()[:, found.environments.index(environment)]
        return float(means[found.policies.index(mine)] / means[found.policies.index(rival)])

    def best_other(self, mine: str, horizon: int, environment: str) -> str:
        """The best of the other tuning-free policies on one environment."""
        found = self.at[horizon]
        others = found.tuning_free & np.array([label.partition("(")[0] != mine for label in found.policies])
        means = found.means()[:, found.environments.index(environment)]
        return found.policies[int(np.where(others, means, np.inf).argmin())]

    def one(self, mine: str, rival: str) -> str:
        """The regret of one policy over another's and over that of the best of all others, by environment."""
        head = ["environment"]
        for horizon in SEEDS:
            head += [f"T = {horizon:,}: over `{rival}`", "over the best other", "which is"]
        rows = []
        for name in SUITE:
            row = [short_name(name)]
            for horizon in SEEDS:
                best = self.best_other(mine, horizon, name)
                row += [ratio(self.over(mine, other, horizon, name)) for other in (rival, best)] + [f"`{best}`"]
            rows.append(row)
        return grid(head, rows)


def _spread(value: float, low: float, high: float) -> str:
    return f"{ratio(value)} [{ratio(low)}, {ratio(high)}]"


def draw(board: Board, path: Path = PICTURE) -> None:
    """The heat map of the best policies at the middle horizon."""
    found = board.at[MIDDLE]
    shown = {*board.summary[MIDDLE].sort_values("over_best").index[:DRAWN], *ALWAYS}
    shown |= {label for label, _ in found.best()}  # what the others are compared with
    regret_heat_map(chosen(found, [row for row, label in enumerate(found.policies) if label in shown]), path)


def chosen(found: Results, rows: list[int]) -> Results:
    """The results of some of the policies."""
    parts = {name: getattr(found, name)[rows] for name in ("tuning_free", "regret", "restarts", "ns_per_round")}
    some = {name: tuple(getattr(found, name)[row] for row in rows) for name in ("policies", "told")}
    return replace(found, **parts, **some)


def main(arguments: Sequence[str] | None = None) -> int:
    given = catalogue.asked(arguments, __doc__)
    board = Board(stored(FILE) if given.still else play())
    if not given.still:
        draw(board)
    return 0 if catalogue.rewrite(PAGES, board, given.check) else 1


if __name__ == "__main__":
    sys.exit(main())
