"""Playing what a study still lacks, on all cores.

The run of seed r plays the instance of that seed with the rewards of that seed: it is run 0 of
``ss.simulate(policy, ss.env(name, horizon=T, seed=r), seed=r)``.
"""

import os
import threading
import time
from collections.abc import Callable

import numpy as np

from sigshift.checks import whole
from sigshift.progress import Progress
from sigshift.simulation import all_of, cores, play_run, warm
from sigshift.study.spec import Cell, Spec, blocks, instance
from sigshift.study.store import Row, Store

EVERY = 60.0  # seconds between two lines for those who have no terminal


def complete(
    study: Spec,
    store: Store,
    jobs: int | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] | None = None,
) -> int:
    """Play the runs of the study that the store lacks, and store them; how many they were."""
    jobs = whole("jobs", cores() if jobs is None else jobs, 1, "Pass the number of cores to use.")
    tasks = []
    for cell in study.cells():
        tasks += [(cell, seeds) for seeds in blocks(store.missing(cell, study.seeds), cell.horizon)]
    runs = sum(len(seeds) for _, seeds in tasks)
    if not runs:
        return 0
    rounds = sum(len(seeds) * cell.horizon for cell, seeds in tasks)
    stop = threading.Event()
    told = _Teller(runs, say)
    with Progress(progress, rounds, f"{runs:,} runs") as bar:
        told.silent = bar.shown

        def task(cell: Cell, seeds: list[int]) -> None:
            missing = store.missing(cell, seeds)  # less than before if another process is at work
            bar.add((len(seeds) - len(missing)) * cell.horizon)
            for part in blocks(missing, cell.horizon):
                rows = [_row(cell, seed, stop, bar) for seed in part if not stop.is_set()]
                if stop.is_set():
                    return
                store.write(cell, part, rows)
            told.more(len(seeds))

        for cell in {cell.entrant: cell for cell, _ in tasks}.values():
            world = instance(cell.environment, cell.horizon, study.seeds[0])
            made = cell.entrant.on(world)
            made.caution(world.arms, world.horizon, world)
            warm(made, world)
        all_of([(task, cell, seeds) for cell, seeds in _mixed(tasks)], jobs, stop)
    return runs


def _row(cell: Cell, seed: int, stop: threading.Event, bar: Progress) -> Row:
    world = instance(cell.environment, cell.horizon, seed)
    regret = np.zeros(1)
    end = np.array([cell.horizon])
    play, took = play_run(cell.entrant.on(world), world, seed, 0, end, regret, stop, bar, keep=False)
    return Row(float(regret[0]), len(play.restarts()), round(took / cell.horizon, 2))


def _mixed(tasks: list[tuple[Cell, list[int]]]) -> list[tuple[Cell, list[int]]]:
    """The tasks by horizon, in an order of this process's own: two processes seldom do the same thing at once."""
    order = np.random.default_rng(os.getpid()).permutation(len(tasks))
    return sorted((tasks[i] for i in order), key=lambda task: task[0].horizon)


class _Teller:
    """Says how far the work is, now and then, where no bar shows it."""

    def __init__(self, runs: int, say: Callable[[str], None] | None) -> None:
        self.runs = runs
        self.say = say
        self.silent = False
        self.done = 0
        self.last = time.monotonic()
        self.lock = threading.Lock()

    def more(self, runs: int) -> None:
        with self.lock:
            self.done += runs
            if self.say is None or self.silent or time.monotonic() - self.last < EVERY:
                return
            self.last = time.monotonic()
            self.say(f"{self.done:,} of {self.runs:,} runs")
