"""Policies on an environment: many runs over all cores, with the environment's own account of the regret.

Each run of each policy is a task of its own whose numbers depend on (policy, environment, seed, run) only, so
the result is the same for every number of jobs. Threads do: the compiled loop releases the interpreter lock.
"""

import json
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigshift.checks import InvalidInput, choice, refuse, whole
from sigshift.compile import explained
from sigshift.environment import Environment
from sigshift.files import file_path, write_atomically
from sigshift.play import Play
from sigshift.policy import Policy, policy
from sigshift.progress import Progress
from sigshift.rng import REWARD_DOMAIN, derive

FORMAT = 1
AT_ONCE = 2**20  # rounds that are played before anybody looks whether to stop
NOTHING_INT = np.empty(0, np.int64)
NOTHING_FLOAT = np.empty(0, np.float64)
BENCHMARKS = {"rounds": "the best arm of each round", "pulls": "the greedy oracle of rested arms"}


@dataclass(frozen=True, eq=False)
class Runs:
    """The result of :func:`simulate`: regret by policy, run and checkpoint.

    A checkpoint c stands for the first c rounds; the last one is the horizon. ``benchmark`` says whom the regret is
    measured against: the best arm of each round (dynamic regret) or, where arms are rested, the greedy oracle.
    """

    environment: str
    arms: int
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]
    policies: tuple[str, ...]
    told: dict[str, str]
    regrets: dict[str, NDArray[np.float64]]
    restarts: dict[str, NDArray[np.int64]]
    nanoseconds: dict[str, NDArray[np.float64]]
    benchmark: str = BENCHMARKS["rounds"]

    def regret(self, policy: Any) -> NDArray[np.float64]:
        """The regret ``[run, checkpoint]`` of one policy, by its name, label or value."""
        return self.regrets[self._label(policy)]

    def summary(self) -> Any:
        """One row per policy: mean final regret, its standard error, sd, quantiles, restarts, time per round."""
        import pandas as pd

        rows = []
        for label in self.policies:
            final = self.regrets[label][:, -1]
            sd = float(final.std(ddof=1)) if final.size > 1 else float("nan")
            rows.append(
                {
                    "policy": label,
                    "regret": float(final.mean()),
                    "se": sd / np.sqrt(final.size),
                    "sd": sd,
                    "q05": float(np.quantile(final, 0.05)),
                    "q95": float(np.quantile(final, 0.95)),
                    "restarts": float(self.restarts[label].mean()),
                    "ns_per_round": float(np.median(self.nanoseconds[label])),
                    "told": self.told[label],
                }
            )
        return pd.DataFrame(rows)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The regret curves with their 5 % to 95 % bands; written to ``path`` (.png, .pdf, .svg) if given."""
        from sigshift.report.charts import regret_curves

        return regret_curves(self, path)

    def frame(self) -> Any:
        """All numbers in long form: policy, what it was told, run, checkpoint, regret, the run's restarts and time."""
        import pandas as pd

        points = self.checkpoints.size
        parts = []
        for label in self.policies:
            runs = self.regrets[label].shape[0]
            parts.append(
                pd.DataFrame(
                    {
                        "policy": label,
                        "told": self.told[label],
                        "run": np.repeat(np.arange(runs), points),
                        "checkpoint": np.tile(self.checkpoints, runs),
                        "regret": self.regrets[label].ravel(),
                        "restarts": np.repeat(self.restarts[label], points),
                        "ns_per_round": np.repeat(self.nanoseconds[label], points),
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one Parquet file, which any data tool reads."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(self.frame(), preserve_index=False)
        facts = {
            "format": FORMAT,
            "environment": self.environment,
            "arms": self.arms,
            "horizon": self.horizon,
            "seed": self.seed,
            "policies": list(self.policies),
            "told": self.told,
            "benchmark": self.benchmark,
        }
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"sigshift": json.dumps(facts)})
        write_atomically(path, lambda draft: pq.write_table(table, draft))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Runs":
        """The runs that :meth:`save` wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = file_path(path)
        if not file.is_file():
            raise refuse("path", "must be a file written by Runs.save", str(path), "Check the name.")
        try:
            table = pq.read_table(file)
            facts = json.loads((table.schema.metadata or {}).get(b"sigshift", b"null"))
        except (pa.ArrowInvalid, OSError, ValueError) as error:
            raise InvalidInput(f"{path} is not a whole Parquet file: {error}. Save the runs again.") from None
        if not isinstance(facts, dict):
            raise InvalidInput(f"{path} was not written by Runs.save. Load it with pandas.read_parquet instead.")
        if facts.get("format") != FORMAT:
            raise InvalidInput(
                f"{path} has format {facts.get('format')!r}, and this version reads {FORMAT}. Upgrade sigshift."
            )
        return cls._from_table(table.to_pandas(), facts)

    @classmethod
    def _from_table(cls, frame: Any, facts: dict[str, Any]) -> "Runs":
        regrets, restarts, nanoseconds = {}, {}, {}
        checkpoints = NOTHING_INT
        for label in facts["policies"]:
            rows = frame[frame["policy"] == label]
            checkpoints = np.unique(rows["checkpoint"].to_numpy(np.int64))
            shape = (-1, checkpoints.size)
            regrets[label] = rows["regret"].to_numpy(np.float64).reshape(shape)
            restarts[label] = rows["restarts"].to_numpy(np.int64).reshape(shape)[:, 0]
            nanoseconds[label] = rows["ns_per_round"].to_numpy(np.float64).reshape(shape)[:, 0]
        return cls(
            environment=facts["environment"],
            arms=facts["arms"],
            horizon=facts["horizon"],
            seed=facts["seed"],
            checkpoints=checkpoints,
            policies=tuple(facts["policies"]),
            told=facts["told"],
            regrets=regrets,
            restarts=restarts,
            nanoseconds=nanoseconds,
            benchmark=facts.get("benchmark", BENCHMARKS["rounds"]),
        )

    def _label(self, wanted: Any) -> str:
        label = wanted.label if isinstance(wanted, Policy) else str(wanted)
        if label not in self.regrets:
            alike = [known for known in self.policies if known.split("(")[0] == label]
            if len(alike) == 1:
                return alike[0]
            raise refuse("policy", f"must be one of {', '.join(self.policies)}", label, "Pick one of these labels.")
        return label

    def __str__(self) -> str:
        runs = next(iter(self.restarts.values())).size
        head = f"{self.environment}: {self.arms} arms, {self.horizon:,} rounds, {runs} runs, seed {self.seed}\n"
        if self.benchmark != BENCHMARKS["rounds"]:
            head += f"regret to {self.benchmark}\n"
        return head + str(self.summary().round(3).to_string(index=False))


def simulate(
    policies: Any,
    env: Environment,
    runs: int = 100,
    seed: int = 0,
    jobs: int | None = None,
    *,
    checkpoints: int | str | Sequence[int] = 200,
    progress: bool | None = None,
) -> Runs:
    """Play each policy ``runs`` times on the environment and keep the regret.

    ``checkpoints`` says when the regret is kept: a number for so many rounds evenly apart, ``"log"`` for 200 evenly
    apart on a logarithmic axis, or the rounds themselves. The numbers do not depend on ``jobs`` (all cores by
    default). All policies meet the same rewards: those of (seed, run, round, arm), or of (seed, run, pull, arm) where
    the arms are rested. Regret is to the best arm of each round (dynamic regret); to rested arms' greedy oracle, whose
    expected total no policy exceeds, where there are such: ``Runs.benchmark`` says which.

    >>> import sigshift as ss
    >>> runs = ss.simulate(["uniform", "ucb1"], ss.env("pb1"), runs=4, seed=1)
    >>> bool(runs.regret("ucb1")[:, -1].mean() < runs.regret("uniform")[:, -1].mean())
    True
    """
    chosen = distinct_policies(policies)
    env = as_environment(env)
    runs = whole("runs", runs, 1, "Pass how often each policy is to be played.", 2**32 - 1)
    seed = whole("seed", seed, 0, "Pass a whole number that is not negative.", 2**64 - 1)
    jobs = whole("jobs", cores() if jobs is None else jobs, 1, "Pass the number of cores to use.")
    points = _checkpoints(checkpoints, env.horizon)
    shape = (runs, points.size)
    regrets = {made.label: np.zeros(shape) for made in chosen}
    restarts = {made.label: np.zeros(runs, np.int64) for made in chosen}
    nanoseconds = {made.label: np.zeros(runs) for made in chosen}
    stop = threading.Event()
    with Progress(progress, len(chosen) * runs * env.horizon, f"{env.name}: {runs} runs") as bar:

        def task(made: Policy, run: int) -> None:
            row = regrets[made.label][run]
            play, took = play_run(made, env, seed, run, points, row, stop, bar)
            restarts[made.label][run] = len(play.restarts())
            nanoseconds[made.label][run] = took / env.horizon

        for made in chosen:
            made.caution(env.arms, env.horizon, env)
            warm(made, env)
        all_of([(task, made, run) for run in range(runs) for made in chosen], jobs, stop)
    return Runs(
        environment=env.name,
        arms=env.arms,
        horizon=env.horizon,
        seed=seed,
        checkpoints=points,
        policies=tuple(made.label for made in chosen),
        told={made.label: made.told for made in chosen},
        regrets=regrets,
        restarts=restarts,
        nanoseconds=nanoseconds,
        benchmark=BENCHMARKS[env.clock],
    )


def play_run(
    made: Policy,
    env: Environment,
    seed: int,
    run: int,
    points: NDArray[np.int64],
    row: NDArray[np.float64],
    stop: threading.Event,
    bar: Progress,
    keep: bool = True,
) -> tuple[Play, int]:
    """One run; fills ``row`` with the regret at the checkpoints. Returns the play and its time on the processor.

    Without ``keep`` the means of a function are not kept for other runs.
    """
    play = Play(made, env.arms, env.horizon, seed, run, env)
    key = derive(seed, REWARD_DOMAIN)
    regret, took, point = 0.0, 0, 0
    for block in env.blocks(keep=keep):
        t = block.first
        while t < block.last:
            if stop.is_set():
                return play, took
            until = min(block.last, int(points[point]), t + AT_ONCE)
            begun = time.thread_time_ns()
            regret += play.simulate(t, until, block, env.law_code, env.spread, key, NOTHING_INT, NOTHING_FLOAT)
            took += time.thread_time_ns() - begun
            bar.add(until - t)
            t = until
            if t == points[point]:
                row[point] = regret
                point = min(point + 1, points.size - 1)
    return play, took


def warm(made: Policy, env: Environment) -> None:
    """Compile (or load) the policy's loop before any clock runs and any thread needs it."""
    play = Play(made, env.arms, env.horizon, 0, 0, env)
    block = next(iter(env.blocks(0, 1)))
    with explained(made.stem):
        play.simulate(0, 1, block, env.law_code, env.spread, derive(0, REWARD_DOMAIN), NOTHING_INT, NOTHING_FLOAT)


def all_of(tasks: list[tuple[Any, ...]], jobs: int, stop: threading.Event) -> None:
    """Do all tasks (a function with its arguments), so many at a time; the first exception stops the others."""
    if jobs == 1:
        for task, *arguments in tasks:
            task(*arguments)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(*task) for task in tasks]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def distinct_policies(policies: Any) -> list[Policy]:
    """One policy or several, made and told apart by their labels."""
    several = isinstance(policies, Iterable) and not isinstance(policies, str | Policy)
    chosen = [policy(item) for item in (policies if several else [policies])]
    if not chosen:
        raise refuse("policies", "must name at least one policy", policies, 'Pass for example ["meta", "ucb1"].')
    labels = [made.label for made in chosen]
    if len(set(labels)) < len(labels):
        raise refuse("policies", "must be distinct", labels, "Drop the one that is there twice.")
    return chosen


def as_environment(env: Any) -> Environment:
    """The environment itself, or the one of the catalogue with that name."""
    if isinstance(env, str):
        from sigshift.environments import env as named

        return named(env)
    if not isinstance(env, Environment):
        raise refuse(
            "env", "must be an Environment", env, 'Make one with ss.env("pb1") or ss.Environment.from_means(...).'
        )
    return env


def _checkpoints(wanted: int | str | Sequence[int], horizon: int) -> NDArray[np.int64]:
    cure = 'Pass a number, "log", or rounds between 1 and the horizon.'
    if isinstance(wanted, str):
        choice("checkpoints", wanted, ["log", "linear"])
        if wanted == "log":
            return np.unique(np.rint(np.geomspace(1, horizon, 200)).astype(np.int64))
        wanted = 200
    if not isinstance(wanted, Iterable):
        count = whole("checkpoints", wanted, 1, cure)
        return np.unique(np.rint(np.linspace(0, horizon, min(count, horizon) + 1)[1:]).astype(np.int64))
    rounds = [whole("checkpoints", t, 1, cure, horizon) for t in wanted]
    return np.unique(np.array([*rounds, horizon], np.int64))


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
