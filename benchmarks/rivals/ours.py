"""``ours.py RIVALS``: plays the same problem with sigshift and prints one table with the ratios.

RIVALS is a file of the lines that ``rivals.py`` prints.
"""

import json
import sys
from pathlib import Path

from problem import HORIZON, MEANS

import sigshift as ss


def main() -> None:
    rivals = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    environment = ss.Environment.piecewise([0], [list(MEANS)], HORIZON, law="bernoulli")
    policies = sorted({rival["same_as"] for rival in rivals})
    ss.simulate(policies, environment, runs=1, jobs=1)  # compiles
    summary = ss.simulate(policies, environment, runs=20, jobs=1, checkpoints=1).summary()  # the rivals keep none
    ours = dict(zip(summary["policy"], summary["ns_per_round"], strict=True))
    print("| library | policy | ns a round | sigshift | ns a round | times faster |")
    print("| --- | --- | ---: | --- | ---: | ---: |")
    for rival in rivals:
        name, theirs = rival["same_as"], rival["ns_per_round"]
        left = f"| {rival['library']} {rival['version']} | {rival['policy']} | {theirs:,.0f} |"
        print(f"{left} `{name}` | {ours[name]:,.0f} | {theirs / ours[name]:,.0f} |")


if __name__ == "__main__":
    main()
