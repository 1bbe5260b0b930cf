"""Published regrets beside ours: the policies and problems of Besson, Kaufmann, Maillard and Seznec (JMLR 2022).

``published.py [--runs N] [--policies NAME ...]`` plays all of them and prints one Markdown table. The published means
and standard deviations (over 300 runs, T = 20,000) are those of an independent re-implementation with the tunings of
the authors' code, which are said here. A cell is within its band if the means differ by no more than the standard
deviation of a run: the published one, or ours where none was published. It also says by how many standard errors.
"""

import argparse
import math
import os
from typing import NamedTuple

import numpy as np

import sigshift as ss

RUNS = 300  # of the published figures
HORIZON = 20_000
CHANGES = {"pb1": 4, "pb2": 4, "pb3": 5, "pb4": 5, "random-piecewise": 6}
LAZY = {"every": 10, "splits_every": 5}  # the authors' code tests in every 10th round, and one split in 5
LAZIER = {"every": 10, "splits_every": 10, "restart": "local"}
Figures = tuple[float, float | None]  # mean and standard deviation over runs


class Row(NamedTuple):
    """A policy, its tuning, and its published figures on each problem; ``changes`` is told where ``told``."""

    policy: str
    params: dict[str, object]
    told: bool
    figures: tuple[Figures | None, ...]

    def player(self, problem: str) -> ss.Policy:
        """The policy as it was tuned for a problem."""
        if self.policy == "exp3s":
            return ss.policy("exp3s", **gamma_of(problem))
        return ss.policy(self.policy, **self.params, **({"changes": CHANGES[problem]} if self.told else {}))


def gamma_of(problem: str) -> dict[str, float]:
    """EXP3.S with L where Corollary 8.3 has the number of segments, L + 1: so the authors' code."""
    arms = ss.env(problem).arms
    gain = CHANGES[problem] * math.log(arms * HORIZON) + math.e
    return {"gamma": min(1.0, math.sqrt(arms * gain / ((math.e - 1.0) * HORIZON))), "alpha": 1.0 / HORIZON}


def detecting(detector: str, **params: object) -> dict[str, object]:
    return {"base": "kl_ucb", "detector": detector, **{f"detector_{name}": value for name, value in params.items()}}


LIU = {"restart": "local", "exploration": "random", "base_clock": "known"}  # Liu, Lee, Shroff (2018)
ROWS = {
    "kl-UCB, restarted at the changes": Row(
        "restarting", {"base": "kl_ucb"}, False, ((82, 16), (92, 17), (301, 37), (126, 15), (216, 69))
    ),
    "kl-UCB": Row("kl_ucb", {}, False, ((989, 190), (528, 138), (1279, 197), (849, 83), (532, 447))),
    "EXP3.S": Row("exp3s", {}, True, ((869, 62), (664, 61), (1003, 86), (1153, 80), (1093, None))),
    "SW-klUCB": Row("sw_kl_ucb", {}, True, ((467, 37), (455, 27), (1037, 41), (641, 32), (830, None))),
    "D-klUCB": Row("d_kl_ucb", {}, True, ((579, 26), (592, 29), (1258, 40), (852, 32), (1022, None))),
    "M-klUCB, w = 200": Row(
        "detect", detecting("window", window=200), True, ((620, None), (1846, None), (1673, None), (2330, None), None)
    ),
    "M-klUCB, w = 800": Row(
        "detect", detecting("window", window=800), True, ((629, None), (1288, None), (935, None), (1832, None), None)
    ),
    "CUSUM-klUCB, 200, .1": Row(
        "detect",
        LIU | detecting("cusum", samples=200, tolerance=0.1),
        True,
        ((647, None), (519, None), (723, None), (997, None), (926, None)),
    ),
    "CUSUM-klUCB, 400, .05": Row(
        "detect",
        LIU | detecting("cusum", samples=400, tolerance=0.05),
        True,
        ((737, None), (531, None), (804, None), (1007, None), None),
    ),
    "GLR-klUCB, global": Row("glr_kl_ucb", LAZY, False, ((456, 89), (445, 16), (724, 61), (610, 44), (622, 138))),
    "GLR-klUCB, local": Row("glr_kl_ucb", LAZIER, False, ((468, 98), (445, 26), (693, 59), (639, 49), (716, 226))),
    "uniform": Row("uniform", {}, False, ((5865, None), (5467, None), (4487, None), (7949, None), (5987, None))),
    "META, c0 = 1, replay_rate = 1": Row(
        "meta", {"c0": 1.0, "replay_rate": 1.0}, False, ((5529, None), (5178, None), (4382, None), (7474, None), None)
    ),
}


def regrets(row: Row, problem: str, runs: int, seed: int = 0) -> np.ndarray:
    """The final regret of each run; on random problems each run has an instance of its own."""
    player = row.player(problem)
    options = {"checkpoints": 1, "progress": False, "jobs": 1}
    if problem == "random-piecewise":
        seeds = range(seed, seed + runs)
        instances = (ss.env(problem, border="turn", seed=one) for one in seeds)  # the authors' borders
        played = (
            ss.simulate(player, env, runs=1, seed=one, **options) for one, env in zip(seeds, instances, strict=True)
        )
        return np.array([found.regret(player)[0, -1] for found in played])
    return ss.simulate(player, problem, runs=runs, seed=seed, **options).regret(player)[:, -1]


class Cell(NamedTuple):
    """Our figures beside the published ones."""

    mean: float
    deviation: float
    published: float
    band: float
    z: float

    @property
    def within(self) -> bool:
        """Whether the means differ by no more than a run's standard deviation."""
        return abs(self.mean - self.published) <= self.band


def cell(row: Row, problem: str, runs: int, seed: int = 0) -> Cell | None:
    """One figure of the table, played anew; None where nothing was published."""
    figures = row.figures[list(CHANGES).index(problem)]
    if figures is None:
        return None
    found = regrets(row, problem, runs, seed)
    mean, deviation = float(found.mean()), float(found.std(ddof=1))
    published, spread = figures
    error = math.sqrt(deviation**2 / runs + (spread or deviation) ** 2 / RUNS)
    return Cell(mean, deviation, published, spread or deviation, (mean - published) / max(error, 1e-9))


def shown(found: Cell | None) -> str:
    if found is None:
        return "-"
    mark = "" if found.within else " **out**"
    return f"{found.mean:.0f} +- {found.deviation:.0f} ({found.published:.0f}; {found.z:+.1f}){mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--policies", nargs="+", default=list(ROWS), metavar="NAME", choices=list(ROWS))
    said = parser.parse_args()
    print(f"| policy | {' | '.join(CHANGES)} |")
    print(f"| --- |{' ---: |' * len(CHANGES)}")
    cells = []
    for name in said.policies:
        found = [cell(ROWS[name], problem, said.runs) for problem in CHANGES]
        print(f"| {name} | {' | '.join(map(shown, found))} |", flush=True)
        cells += [one for one in found if one is not None]
    within = sum(one.within for one in cells)
    print(f"\nOurs (published; difference in standard errors), {said.runs} runs: {within} of {len(cells)} cells are")
    print(f"within a run's standard deviation. Load while playing: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
