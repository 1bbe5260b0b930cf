"""``ours.py RIVALS``: plays the same problem with sigshift and prints one table with the ratios.

RIVALS is a file of the lines that ``rivals.py`` prints.
"""

import json
import os
import sys
import warnings
from pathlib import Path

from problem import HORIZON, MEANS

import sigshift as ss

RUNS = 20


def nanoseconds(names: list[str], horizon: int) -> dict[str, float]:
    """The time per round of the fastest of many runs, as of the rivals; the rivals keep no checkpoints."""
    environment = ss.Environment.piecewise([0], [list(MEANS)], horizon, law="bernoulli")
    ss.simulate(names, environment, runs=1, jobs=1)  # compiles
    runs = ss.simulate(names, environment, runs=RUNS, jobs=1, checkpoints=1)
    return {name: float(runs.nanoseconds[name].min()) for name in names}


def main() -> None:
    warnings.simplefilter("ignore", ss.Caution)  # the time is asked for, and not the regret
    rivals = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    ours = {
        horizon: nanoseconds(sorted({rival["same_as"] for rival in rivals if rival["horizon"] == horizon}), horizon)
        for horizon in sorted({rival["horizon"] for rival in rivals})
    }
    print("| library | policy | ns a round | sigshift | ns a round | times faster |")
    print("| --- | --- | ---: | --- | ---: | ---: |")
    for rival in rivals:
        name, horizon = rival["same_as"], rival["horizon"]
        short = f", T = {horizon:,}" if horizon < HORIZON else ""
        left = f"| {rival['library']} {rival['version']} | {rival['policy']}{short} |"
        mine = ours[horizon][name]
        if "error" in rival:
            print(f"{left} does not run | `{name}` | {mine:,.0f} | - |")
        else:
            print(
                f"{left} {rival['ns_per_round']:,.0f} | `{name}` | {mine:,.0f} | {rival['ns_per_round'] / mine:,.0f} |"
            )
    print(f"\nLoad while measuring: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
