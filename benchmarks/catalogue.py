"""The tables of regret on the pages of the policies: every policy on the catalogue, stored in ``catalogue.csv``.

    scripts/bench catalogue     play what the file lacks or what other code has played; write file, picture and tables
    scripts/docs                write the tables from the file (``--check``: say whether they are up to date)

A run of seed r is ``ss.simulate(policy, ss.env(name, horizon=T, seed=r), runs=1, seed=r)``.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import sigshift
from sigshift.files import write_atomically
from sigshift.policy import knowledge, names, policy
from sigshift.report.heatmap import regret_heat_map
from sigshift.study import Spec, Store, complete
from sigshift.study.spec import TRUTHS, Cell, Entrant, entrant, instance, short_name
from sigshift.study.store import digest, version

HERE = Path(__file__).parent
FILE = HERE / "catalogue.csv"
STORE = HERE / ".catalogue"  # single runs: what a stopped command goes on from
PAGES = HERE.parent / "docs" / "policies"
PICTURE = HERE.parent / "docs" / "pictures" / "catalogue.png"

SEEDS = range(5_000, 5_050)
HORIZON = 20_000
LONGER = {  # where 20,000 rounds show nothing
    "ctr": 200_000,  # rates of 1 to 3 %
    "suite-riser": 200_000,  # so short a rise is found by luck as soon as by design
}
EVERY_ROUND = 10  # one change in so many rounds: then a policy cannot be told their number to any use

KINDS = {
    "nothing that matters": ("stationary", "season", "losers", "blips"),
    "a few jumps": ("pb1", "pb2", "pb3", "pb4", "random-piecewise", "mukherjee"),
    "drift": ("sinus", "trig", "drift", "brownian", "suite-riser"),
    "hard cases": ("rotate", "many-arms", "hard", "adversarial", "ctr"),
}
RESTED = ("rotting", "rotting-two", "rotting-ten")
STATIONARY, YARDSTICK = "stationary", "kl_ucb"
LEAST_SHARE = 0.01  # of uniform play's regret: ratios of less than that say nothing

FAMILIES = {
    "stationary": "uniform ucb1 ucbl kl_ucb moss moss_anytime thompson exp3 exp3_ix tsallis_inf",
    "passive": "sw_ucb sw_kl_ucb d_ucb d_kl_ucb sw_ts d_ts sw_ucb_sharp lm_dsee slow_elimination exp3s rexp3",
    "detecting": "glr_kl_ucb cusum_ucb pht_ucb m_ucb adr_bandit ucbl_cpd imp_cpd exp3r ser3 ser4 detect",
    "unknown-changes": "auto meta ad_switch master bob",
    "both-worlds": "tsallis_inf exp3_pp sao",
    "structured": "raw_ucb fewa swa heidari",
    "oracles": "restarting oracle",
}
SIGMA = "sigma=0.15"  # true of the rested problems, and of no other
VARIANTS = (  # beside the defaults, and those that are told the truth
    "glr_kl_ucb(restart='local')",
    "detect(detector='adwin')",
    "detect(detector='e_detector')",
    "meta(threshold='paper')",
    "bob(base='exp3s')",
    "raw_ucb(alpha=1.4)",
    f"raw_ucb({SIGMA})",
    f"raw_ucb(alpha=1.4, {SIGMA})",
    "fewa(alpha=0.06)",
    f"fewa({SIGMA})",
    f"fewa(alpha=0.06, {SIGMA})",
    "swa(scale=0.2)",
    f"swa({SIGMA})",
    f"swa(scale=0.2, {SIGMA})",
    "restarting(at='switches')",
    "restarting(at='significant')",
)
FRAMES = ("detect", "bob")  # what they can be told, a policy of a narrower name or their own search shows
DRAWN = (
    *("kl_ucb", "thompson", "ucb1", "tsallis_inf", "sw_kl_ucb", "sw_ts", "d_ts", "exp3s", "glr_kl_ucb", "cusum_ucb"),
    *("pht_ucb", "adr_bandit", "ucbl_cpd", "auto", "meta", "meta(threshold='paper')", "ad_switch"),
    "uniform",
)
LUCKY = ("heidari",)  # no yardstick: with coins it ends up on the first arm, which is the best one of some problems


# What is played.


def entrants() -> list[Entrant]:
    """Every policy as it is, then with what it can be told, then in other variants."""
    texts = []
    for name in names():
        told = [key for key in knowledge(policy(name).module) if key in TRUTHS and name not in FRAMES]
        texts += [name, *(f"{name}({key}=truth)" for key in told)]
        texts += [text for text in VARIANTS if text.partition("(")[0] == name]
    return [entrant(text) for text in texts]


def problems() -> list[str]:
    return [name for group in KINDS.values() for name in group] + list(RESTED)


def cells() -> Iterator[Cell]:
    for one in entrants():
        for name in problems():
            if plays(one, name):
                yield Cell(one, name, LONGER.get(name, HORIZON))


def plays(one: Entrant, name: str) -> bool:
    """Whether it makes sense: nobody can be told of changes that never end, or of those that arms do to themselves."""
    if name in RESTED:
        return not (one.truths or "environment" in one.policy.needs)
    if "sigma" in one.policy.knowledge:
        return False
    if "changes" in one.truths or one.label == "restarting":
        segments = instance(name, HORIZON, SEEDS[0]).segments()
        return segments is not None and len(segments[0]) * EVERY_ROUND < HORIZON
    return True


KEY = ["policy", "environment", "horizon", "first_seed", "seeds", "policy_version", "environment_version"]


def key(cell: Cell, seeds: range) -> tuple[object, ...]:
    """What a row must agree in, to be that of this cell as the code is now."""
    made = version(cell.entrant), digest(cell.environment, cell.horizon)
    return (cell.entrant.label, cell.environment, cell.horizon, seeds.start, len(seeds), *made)


def stored(path: Path = FILE) -> pd.DataFrame:
    texts = dict.fromkeys(("policy_version", "environment_version"), str)  # one may look like a number
    return pd.read_csv(path, dtype=texts) if path.exists() else pd.DataFrame(columns=KEY)


def missing(table: pd.DataFrame) -> list[Cell]:
    """What has to be played: other code, another definition, something new."""
    there = set(table[KEY].itertuples(index=False, name=None))
    return [cell for cell in cells() if key(cell, SEEDS) not in there]


def play(path: Path = FILE, store: Store | None = None) -> pd.DataFrame:
    """Play what is missing; the table with all that is wanted and nothing else, written to the file."""
    store = Store(STORE) if store is None else store
    table = stored(path)
    lacking = missing(table)
    for one in {cell.entrant: None for cell in lacking}:
        mine = [cell for cell in lacking if cell.entrant == one]
        for horizon in sorted({cell.horizon for cell in mine}):
            places = tuple(cell.environment for cell in mine if cell.horizon == horizon)
            complete(Spec((one,), places, (horizon,), SEEDS), store, jobs=1)
        print(f"{one.label}: {len(mine)} problems", flush=True)
    known = {row[: len(KEY)]: row for row in table.itertuples(index=False, name=None)}
    fresh = {key(cell, SEEDS): (*key(cell, SEEDS), *_figures(cell, store)) for cell in lacking}
    rows = [fresh.get(key(cell, SEEDS)) or known[key(cell, SEEDS)] for cell in cells()]
    table = pd.DataFrame(rows, columns=[*KEY, *FIGURES])
    write_atomically(path, lambda draft: table.to_csv(draft, index=False, lineterminator="\n"))
    return table


FIGURES = ["sigshift", "told", "tuning_free", "regret", "se", "q95", "restarts"]


def _figures(cell: Cell, store: Store) -> tuple[object, ...]:
    runs = store.read(cell, SEEDS)
    regret = np.array([runs[seed].regret for seed in SEEDS])
    spread = regret.std(ddof=1) / np.sqrt(len(SEEDS))
    figures = regret.mean(), spread, np.quantile(regret, 0.95), np.mean([runs[seed].restarts for seed in SEEDS])
    facts = sigshift.__version__, cell.entrant.told, cell.entrant.tuning_free
    return (*facts, *(round(float(figure), 2) for figure in figures))


# The tables.

BLOCK = re.compile(r"(?P<head><!-- regret: (?P<what>[^>]+?) -->\n).*?(?P<end><!-- end of regret -->)", re.DOTALL)


def written(text: str, results: Any) -> str:
    """A page with its tables as the results are now."""
    return BLOCK.sub(lambda found: f"{found['head']}\n{results.block(found['what'])}\n\n{found['end']}", text)


def rewrite(pages: Sequence[Path], results: Any, check: bool) -> bool:
    """Write the tables of these pages anew, or only say which are out of date; whether all is well."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    old = {page: made for page, text in texts.items() if (made := written(text, results)) != text}
    for page, made in old.items():
        if check:
            print(f"{page.name} has tables that are out of date: run `scripts/docs`", file=sys.stderr)
        else:
            write_atomically(page, lambda draft, made=made: draft.write_text(made, encoding="utf-8"))
    return not (check and old)


class Regrets:
    """The stored figures, as the tables show them."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.mean = table.pivot(index="policy", columns="environment", values="regret")
        self.high = table.pivot(index="policy", columns="environment", values="q95")
        facts = table.drop_duplicates("policy").set_index("policy")
        self.told = facts["told"]
        free = self.mean[facts["tuning_free"].reindex(self.mean.index)]
        free.loc[list(LUCKY), [name for name in free if name not in RESTED]] = np.nan
        self.best, self.winner = free.min(), free.idxmin()
        least = LEAST_SHARE * self.mean.loc["uniform"]
        self.over = self.mean.clip(lower=least, axis="columns") / self.best.clip(lower=least)

    def block(self, what: str) -> str:
        """What a comment asks for: ``family passive``, ``summary of a; b`` or ``on pb1, pb2 of a; b``."""
        kind, _, rest = what.partition(" ")
        if kind == "family":
            return self.family(rest)
        if kind == "summary":
            return self.summary(_listed(rest.removeprefix("of "), ";"))
        if kind == "on":
            places, _, policies = rest.partition(" of ")
            return self.detail(_listed(places, ","), _listed(policies, ";"))
        raise ValueError(f"no such table: {what!r}")

    def family(self, name: str) -> str:
        """The summary of a family, and its regret on every problem, by kind."""
        rows = [label for one in FAMILIES[name].split() for label in self.variants(one)]
        rows += [label for label in (YARDSTICK, "uniform") if label not in rows]
        parts = [self.summary(rows)]
        for kind, places in KINDS.items():
            parts += [
                f"**{kind.capitalize()}:** mean regret, and in brackets its 95 % quantile.",
                self.detail(places, rows),
            ]
        return "\n\n".join(parts)

    def variants(self, name: str) -> list[str]:
        """The policy and its variants, as far as they play more than rested arms."""
        there = self.mean[STATIONARY].dropna().index
        return [label for label in map(str, there) if label.partition("(")[0] == name]

    def tax(self, label: str) -> float:
        """What it pays for being ready for changes, where there are none."""
        return float(self.mean.at[label, STATIONARY] / self.mean.at[YARDSTICK, STATIONARY])

    def summary(self, policies: Sequence[str]) -> str:
        head = ["policy", "told", "stationary tax", *KINDS, "worst"]
        return grid(head, [self._summed(label) for label in policies])

    def _summed(self, label: str) -> list[str]:
        over = self.over.loc[label, [name for group in KINDS.values() for name in group]].dropna()
        means = [self.over.loc[label, list(group)].dropna() for group in KINDS.values()]
        ratios = [ratio(float(np.exp(np.log(some).mean()))) if len(some) else "-" for some in means]
        worst = f"{ratio(over.max())} ({short_name(str(over.idxmax()))})"
        return [f"`{label}`", str(self.told[label]), ratio(self.tax(label)), *ratios, worst]

    def detail(self, places: Sequence[str], policies: Sequence[str]) -> str:
        """Mean regret and its 95 % quantile, with the least of those that are told at most the horizon."""
        if len(places) == 1:
            policies = sorted(policies, key=lambda label: float(self.mean.at[label, places[0]]))
        rows = [[f"`{label}`", *(self._cell(label, name) for name in places)] for label in policies]
        least = [f"{number(self.best[name])} `{self.winner[name]}`" for name in places]
        return grid(["policy", *map(_headed, places)], [*rows, ["least, tuning-free", *least]])

    def _cell(self, label: str, name: str) -> str:
        mean, high = self.mean.at[label, name], self.high.at[label, name]
        return "-" if np.isnan(mean) else f"{number(mean)} ({number(high)})"


def _headed(name: str) -> str:
    long = f", T = {LONGER[name]:,}" if name in LONGER else ""
    return f"{short_name(name)}{long}"


def draw(results: Regrets, path: Path = PICTURE) -> None:
    """The heat map of the policies that docs/policies/which.md compares."""
    places = [name for group in KINDS.values() for name in group]
    over = results.over.loc[list(DRAWN), places]
    means = np.exp(np.log(over).mean(axis=1))
    free = np.ones(len(DRAWN), np.bool_)
    shown = SimpleNamespace(
        policies=DRAWN,
        environments=[_headed(name) for name in places],
        tuning_free=free,
        over_best=over.to_numpy,
        summary=lambda: pd.DataFrame({"policy": DRAWN, "tuning_free": free, "over_best": means.to_numpy()}),
        horizon=HORIZON,
        seeds=SEEDS,
        purpose="for reporting",
    )
    regret_heat_map(shown, path)


def _listed(text: str, between: str) -> list[str]:
    return [part.strip() for part in text.split(between)]


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *("---:" if name not in ("told", "worst") else "---" for name in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def number(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.0f}"


def asked(arguments: Sequence[str] | None, doc: str | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tables", action="store_true", help="play nothing: write the tables from the file")
    options.add_argument("--check", action="store_true", help="write nothing: exit with 1 if a table is out of date")
    given = options.parse_args(arguments)
    given.still = given.tables or given.check
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = asked(arguments, __doc__)
    results = Regrets(stored() if given.still else play())
    if not given.still:
        draw(results)
    if not rewrite(sorted(PAGES.glob("*.md")), results, given.check):
        return 1
    stale = len(missing(stored()))
    if stale:
        print(f"{stale} results are of other code: `scripts/bench catalogue` plays them anew", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
