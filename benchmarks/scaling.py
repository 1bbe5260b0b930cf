"""Regret over the horizon on `trig`: the paper's META, with its constants and with playable ones, and uniform play.

    PYTHONPATH=src python benchmarks/scaling.py

Prints a Markdown table of mean regrets, shares of uniform play's, restarts and slopes, and writes
docs/pictures/scaling.png. The longest horizon, 10^8, takes a minute or two on two cores; ``--longest 1e7`` leaves it
out.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np

import sigshift as ss
from sigshift.report.charts import regret_scaling

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "scaling.png"
HORIZONS = (10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000, 31_622_777, 100_000_000)
PLAYERS = {
    "META, c0=1, replay_rate=1": ss.policy("meta", c0=1.0, replay_rate=1.0),
    "META, c0=0.2, replay_rate=0.5": ss.policy("meta", c0=0.2, replay_rate=0.5),
    "uniform": ss.policy("uniform"),
}
UNIFORM = "uniform"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each policy at each horizon (%(default)s)")
    parser.add_argument("--longest", type=float, default=1e8, help="leave out the longer horizons (%(default)g)")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="the picture to write")
    wanted = parser.parse_args()
    horizons = [horizon for horizon in HORIZONS if horizon <= wanted.longest]
    final = {label: np.zeros((wanted.runs, len(horizons))) for label in PLAYERS}
    restarts = {label: np.zeros(len(horizons)) for label in PLAYERS}
    for i, horizon in enumerate(horizons):
        env = ss.env("trig", horizon=horizon)
        runs = ss.simulate(PLAYERS.values(), env, runs=wanted.runs, seed=0, checkpoints=1)
        for label, made in PLAYERS.items():
            final[label][:, i] = runs.regret(made)[:, -1]
            restarts[label][i] = runs.restarts[made.label].mean()
        print(f"T = {horizon:,}: done", file=sys.stderr)
    print_table(horizons, {label: table.mean(axis=0) for label, table in final.items()}, restarts)
    runs_said = f"mean of {wanted.runs} runs, band: 5 % to 95 % of them"
    regret_scaling(horizons, final, wanted.picture, f"trig (2 arms, 8 crossings): {runs_said}")
    return 0


def print_table(horizons: list[int], means: dict[str, np.ndarray], restarts: dict[str, np.ndarray]) -> None:
    """One row per horizon; the slope is that since the row above."""
    metas = [label for label in means if label != UNIFORM]
    print("| T | uniform |" + "".join(f" {label} | share | restarts | slope |" for label in metas))
    print("| ---: | ---: |" + " ---: | ---: | ---: | ---: |" * len(metas))
    for i, horizon in enumerate(horizons):
        cells = [power(horizon), f"{means[UNIFORM][i]:,.0f}"]
        for label in metas:
            slope = "-"
            if i:
                slope = f"{math.log(means[label][i] / means[label][i - 1]) / math.log(horizon / horizons[i - 1]):.2f}"
            share = means[label][i] / means[UNIFORM][i]
            cells += [f"{means[label][i]:,.0f}", f"{share:.3f}", f"{restarts[label][i]:.1f}", slope]
        print(f"| {' | '.join(cells)} |")


def power(horizon: int) -> str:
    """A horizon as a power of ten, in steps of a half."""
    exponent = round(2 * math.log10(horizon)) / 2
    return f"10^{exponent:g}"


if __name__ == "__main__":
    sys.exit(main())
