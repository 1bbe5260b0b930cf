"""The tables of docs/policies/detectors.md: false alarms, delays and the time of a reward, for every detector."""

import importlib
import inspect
import time
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from sigshift.kernel import kernel

ARMS, HORIZON = 10, 10_000
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("glr", {}),
    ("glr", {"threshold": "proven"}),
    ("glr_gaussian", {}),
    ("cusum", {}),
    ("page_hinkley", {}),
    ("window", {}),
    ("adwin", {}),
    ("e_detector", {}),
    ("adwin_exact", {}),
    ("laplace", {}),
]
CHANGES = ((0.2, 0.8), (0.5, 0.7), (0.05, 0.15))
AFTER, PATIENCE, STREAMS = 1000, 4000, 500


class Watch(NamedTuple):
    module: ModuleType
    params: Any


def watch(name: str, horizon: int, params: dict[str, Any]) -> Watch:
    module = importlib.import_module(f"sigshift.detectors.{name}")
    known = {"arms": ARMS, "horizon": horizon}
    told = {key: known[key] for key in inspect.signature(module.configure).parameters if key in known}
    return Watch(module, module.configure(**told, **params))


@kernel
def first_alarm(observe, p, s, rewards):  # type: ignore[no-untyped-def]
    for i in range(rewards.size):
        if observe(p, s, 0, rewards[i]):
            return i + 1
    return rewards.size + 1


@kernel
def watched(observe, clear, p, s, rewards, repeats):  # type: ignore[no-untyped-def]
    count = 0
    for _ in range(repeats):
        for i in range(rewards.size):
            if observe(p, s, 0, rewards[i]):
                count += 1
                clear(p, s, 0)
        clear(p, s, 0)
    return count


def firsts(detector: Watch, streams: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    module, params = detector
    return np.array([first_alarm(module.observe, params, module.init(params, ARMS), stream) for stream in streams])


def nanoseconds(detector: Watch, rewards: "np.ndarray[Any, Any]") -> float:
    module, params = detector
    best, repeats = np.inf, 1 + 300_000 // rewards.size
    for _ in range(4):
        state = module.init(params, 1)
        begun = time.process_time()
        watched(module.observe, module.clear, params, state, rewards, repeats)
        best = min(best, (time.process_time() - begun) / (repeats * rewards.size) * 1e9)
    return best


def label(name: str, params: dict[str, Any]) -> str:
    return " ".join([f"`{name}`", *(str(value) for value in params.values())])


def quality() -> None:
    rng = np.random.default_rng(0)
    print("| detector | false alarms, mean .1 | mean .5 |", *(f"{a} to {b} |" for a, b in CHANGES))
    for name, params in KINDS:
        detector = watch(name, HORIZON, params)
        cells = []
        for mean in (0.1, 0.5):
            found = firsts(detector, (rng.random((STREAMS, HORIZON)) < mean) * 1.0)
            cells.append(f"{(found <= HORIZON).mean():.1%}")
        for before, after in CHANGES:
            means = np.repeat([before, after], [AFTER, PATIENCE])
            found = firsts(detector, (rng.random((STREAMS, means.size)) < means) * 1.0)
            found = found[found > AFTER]
            missed = (found > means.size).mean()
            delay = f"{np.mean(found[found <= means.size]) - AFTER:.0f}" if missed < 1.0 else "-"
            cells.append(delay + (f" ({missed:.0%} missed)" if missed > 0.0 else ""))
        print(f"| {label(name, params)} |", " | ".join(cells), "|", flush=True)


def speed() -> None:
    sizes = (10**3, 10**5, 10**7)
    print("| detector | mean |", *(f"n = {size:,} |" for size in sizes))
    for name, params in KINDS:
        for mean in (0.1, 0.5):
            rewards = (np.random.default_rng(1).random(max(sizes)) < mean) * 1.0
            cells = [f"{nanoseconds(watch(name, size, params), rewards[:size]):.0f} ns" for size in sizes]
            print(f"| {label(name, params)} | {mean} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    quality()
    print()
    speed()
