"""How fast ``sigshift.phases`` is: nanoseconds per round and arm, seconds for long segments, and against the scan.

    PYTHONPATH=src python benchmarks/phases_speed.py

Bars: under 15 ns per round and arm at T = 4,000,000 and K = 10; under a second for 50 segments and T = 10^8.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sigshift.analysis.phases import phases
from sigshift.environment import Environment

ROUNDS, ARMS = 4_000_000, 10


def least_seconds(call: Callable[[], Any], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def borders(segments: int, rounds: int, rng: np.random.Generator) -> Any:
    return np.unique(np.append(0, rng.integers(1, rounds, segments - 1)))


def kinds(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    yield "independent uniform means", rng.random((ROUNDS, ARMS))
    yield "independent means, gaps below 0.001", 0.5 + 0.001 * rng.random((ROUNDS, ARMS))
    t = np.arange(ROUNDS) / ROUNDS
    yield "smooth drift", np.stack([0.5 + 0.4 * np.sin(2 * np.pi * (3 + k) * t + k) for k in range(ARMS)], axis=1)
    steps = rng.normal(0, 2e-4, (ROUNDS, ARMS))
    yield "random walks", np.clip(0.5 + np.cumsum(steps, axis=0, out=steps), 0, 1)
    starts = borders(50, ROUNDS, rng)
    yield "50 segments, round by round", np.repeat(rng.random((len(starts), ARMS)), np.diff(starts, append=ROUNDS), 0)


def main() -> None:
    rng = np.random.default_rng(0)
    phases(rng.random((100, 3)))  # compile
    print(f"T = {ROUNDS:,}, K = {ARMS}")
    for name, means in kinds(rng):
        nanoseconds = least_seconds(lambda table=means: phases(table)) / means.size * 1e9
        print(f"  {name:36s} {nanoseconds:6.2f} ns per round and arm")
    rounds = 100_000_000
    for segments in (50, 10_000):
        starts = borders(segments, rounds, rng)
        environment = Environment.piecewise(starts, rng.random((len(starts), ARMS)), rounds)
        seconds = least_seconds(lambda piecewise=environment: phases(piecewise))
        print(f"{segments:,} segments, T = {rounds:,}: {seconds:.4f} s")
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import naive_phases

    means = 0.5 + 0.05 * rng.random((3_000, ARMS))
    ratio = least_seconds(lambda: naive_phases.phases(means), 1) / least_seconds(lambda: phases(means))
    print(f"quadratic scan at T = 3,000: {ratio:,.0f} times slower")


if __name__ == "__main__":
    main()
