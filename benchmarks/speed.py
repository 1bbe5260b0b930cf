"""The speed bars, as ratios in one run; prints a Markdown table with each figure beside its bar.

Every compared pair is timed in turn, several times, and the best times are compared: what else the machine does
then weighs on both alike.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sigshift as ss

META_OF_THE_PAPER = ss.policy("meta", threshold="paper", c0=1.0, replay_rate=1.0)
Row = tuple[str, str, str, bool]


def stationary(horizon: int, arms: int = 10) -> ss.Environment:
    return ss.Environment.piecewise([0], [np.linspace(0.3, 0.7, arms)], horizon)


def nanoseconds(policy: object, env: ss.Environment, runs: int = 3) -> float:
    made = ss.policy(policy)
    return float(ss.simulate(made, env, runs=runs, jobs=1, progress=False).nanoseconds[made.label].min())


def row(what: str, figure: float, bar: float, unit: str, larger: bool = False) -> Row:
    held = figure >= bar if larger else figure <= bar
    return what, f"{figure:.3g} {unit}", f"{'at least' if larger else 'at most'} {bar:g} {unit}", held


def rounds_per_policy() -> list[Row]:
    env = stationary(1_000_000)
    policies = ("ucb1", META_OF_THE_PAPER, "meta", "auto")
    ucb1, meta, default, auto = (min(nanoseconds(one, env) for _ in range(3)) for one in policies)
    short = nanoseconds(META_OF_THE_PAPER, stationary(200_000), 9)
    long = nanoseconds(META_OF_THE_PAPER, stationary(5_000_000))
    return [
        row("UCB1's loop, K = 10", ucb1, 60, "ns a round"),
        row("the paper's META over UCB1, c0 = 1, replay_rate = 1, K = 10", meta / ucb1, 4, "times"),
        row("meta over UCB1, the defaults, K = 10", default / ucb1, 10, "times"),
        row("auto over UCB1, K = 10", auto / ucb1, 100, "times"),
        row("the paper's META at T = 5 x 10^6 over 2 x 10^5", long / short, 1.3, "times"),
        *(
            row(f"{name}, the defaults, at T = 5 x 10^6 over 2 x 10^5", growth(name), 1.3, "times")
            for name in policies[2:]
        ),
    ]


def growth(policy: str) -> float:
    return nanoseconds(policy, stationary(5_000_000)) / nanoseconds(policy, stationary(200_000), 9)


def published() -> list[Row]:
    made = ss.policy("meta", threshold="paper", c0=0.2, replay_rate=0.5)
    env = ss.env("trig", horizon=10**7)
    ss.simulate(made, env, runs=1, jobs=1, checkpoints=1, progress=False)
    seconds = timed(lambda: ss.simulate(made, env, runs=1, jobs=1, seed=1, checkpoints=1, progress=False))
    return [row("the paper's META on trig, T = 10^7, a run", seconds, 3, "s")]


def demo() -> list[Row]:
    """The whole command, with nothing compiled yet and with all that it needs."""
    with tempfile.TemporaryDirectory() as folder:
        place = {**os.environ, "SIGSHIFT_CACHE": str(Path(folder, "cache"))}
        command = [str(Path(sys.executable).parent / "sigshift"), "demo", "--out", str(Path(folder, "out"))]
        cold, warm = (
            timed(lambda: subprocess.run(command, check=True, capture_output=True, env=place), 1) for _ in range(2)
        )
    return [
        row("sigshift demo, nothing compiled yet", cold, 60, "s"),
        row("sigshift demo, all compiled", warm, 15, "s"),
    ]


INDICES = ("ucb1", "kl_ucb", "moss", "moss_anytime", "d_ucb", "d_kl_ucb", "sw_ucb", "sw_kl_ucb", "sw_ucb_sharp", "ucbl")
POSTERIORS = ("thompson", "d_ts", "sw_ts")


def zoo() -> list[Row]:
    env = stationary(20_000)
    index, posterior = (max((nanoseconds(name, env, 9), name) for name in names) for names in (INDICES, POSTERIORS))
    rows = [
        row(f"slowest index policy ({index[1]}), T = 20,000, K = 10", index[0], 150, "ns a round"),
        row(f"slowest of Thompson sampling ({posterior[1]})", posterior[0], 1_000, "ns a round"),
    ]
    for name, growth in (("glr_kl_ucb", 1.3), ("ad_switch", float(np.log(2e6) / np.log(2e4)))):
        short, long = nanoseconds(name, env, 9), nanoseconds(name, stationary(2_000_000))
        rows.append(row(f"{name}, T = 20,000, K = 10", short, 3_000, "ns a round"))
        rows.append(row(f"{name} at T = 2 x 10^6 over 2 x 10^4", long / short, round(growth, 2), "times"))
    few, many = (nanoseconds("ad_switch", stationary(20_000, arms), 9) for arms in (5, 50))
    rows.append(row("ad_switch at K = 50 over K = 5", many / few, 10, "times"))
    return rows


def long_horizon() -> list[Row]:
    script = (
        "import re, sigshift as ss, numpy as np\n"
        "wave = lambda t: 0.5 + 0.3 * np.sin(t[:, None] / 1e7 + np.arange(10))\n"
        "env = ss.Environment.from_function(wave, 10**8, 10)\n"
        "ss.simulate({}, env, runs=1, jobs=1, progress=False)\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1)) / 1024)"
    )
    made = {"the paper's META": "ss.policy('meta', threshold='paper')", "meta": "'meta'", "auto": "'auto'"}
    return [
        row(
            f"memory of {name} at T = 10^8, K = 10, means from a function",
            float(python(script.format(code))),
            500,
            "MB",
        )
        for name, code in made.items()
    ]


def online() -> list[Row]:
    rows = []
    players = {"ucb1": "ucb1", "the paper's META": META_OF_THE_PAPER, "meta": "meta", "auto": "auto"}
    for (name, policy), bar in zip(players.items(), (3.0, 12.0, 12.0, 12.0), strict=True):
        times = []
        for _ in range(5):
            bandit = ss.Bandit(policy, arms=10, horizon=1_000_000, seed=1)
            begun = time.perf_counter()
            for t in range(20_000):
                bandit.tell(bandit.ask(), float(t % 3 == 0))
            times.append((time.perf_counter() - begun) / 20_000 * 1e6)
        rows.append(row(f"ask + tell, {name}, K = 10", min(times), bar, "us"))
    return rows


def phases() -> list[Row]:
    random = np.random.default_rng(1)
    steps = random.normal(0, 5e-4, (4_000_000, 10)).cumsum(axis=0)
    means = np.abs((steps + 0.5) % 2 - 1)
    ss.phases(means[:1000])
    dense = timed(lambda: ss.phases(means)) / means.size * 1e9
    env = ss.Environment.piecewise(np.arange(50) * 2_000_000, random.random((50, 10)), 10**8)
    segments = timed(lambda: ss.phases(env))
    return [
        row("ss.phases, T = 4 x 10^6, K = 10", dense, 15, "ns per round and arm"),
        row("ss.phases, 50 segments, T = 10^8, K = 10", segments, 1, "s"),
    ]


def cores() -> list[Row]:
    env = stationary(2_000_000)

    def run(jobs: int) -> None:
        ss.simulate(ss.policy("meta", threshold="paper"), env, runs=20, jobs=jobs, progress=False)

    run(1)
    ratios = [timed(lambda: run(1), 1) / timed(lambda: run(2), 1) for _ in range(3)]
    return [row("20 runs on 1 core over 2 cores", max(ratios), 1.7, "times", larger=True)]


def starting() -> list[Row]:
    bare = wall([sys.executable, "-c", "pass"])
    load = wall([sys.executable, "-c", "import sigshift"]) - bare
    helped = wall([str(Path(sys.executable).parent / "sigshift"), "--help"])
    return [row("import sigshift", load, 0.15, "s"), row("sigshift --help", helped, 0.3, "s")]


def timed(work: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def wall(command: list[str]) -> float:
    return timed(lambda: subprocess.run(command, check=True, capture_output=True), 7)


def python(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    wanted = parser.parse_args()
    rows: list[Row] = []
    for part in (rounds_per_policy, published, zoo, online, phases, starting, demo, cores, long_horizon):
        rows += part()
    if wanted.json:
        print(json.dumps(rows))
    else:
        print("| what | measured | bar | held |\n| --- | --- | --- | --- |")
        for what, figure, bar, held in rows:
            print(f"| {what} | {figure} | {bar} | {'yes' if held else '**no**'} |")
        print(f"\nLoad while measuring: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    return 0 if all(held for *_, held in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
