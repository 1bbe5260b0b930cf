"""``rivals.py smpybandits|river``: one line of JSON per policy, with its time per round in that library's own loop.

The rewards are drawn beforehand, the regret is not computed and the best of five games counts, so the rival is timed
for its policy alone; the time of sigshift, in ``ours.py``, is a mean that holds the draws and the exact regret.
"""

import contextlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from problem import ARMS, HORIZON, MEANS

GAMES = 5
Play = Callable[[list[list[float]]], int]


def smpybandits() -> Iterator[tuple[str, str, Play]]:
    with contextlib.redirect_stdout(sys.stderr):  # its imports talk
        from SMPyBandits.Policies import UCB, Exp3S

    def play(make: Callable[[], Any], rewards: list[list[float]]) -> int:
        with contextlib.redirect_stdout(sys.stderr):
            policy = make()
        policy.startGame()
        start = time.perf_counter_ns()
        for row in rewards:
            arm = policy.choice()
            policy.getReward(arm, row[arm])
        return time.perf_counter_ns() - start

    yield "UCB", "ucb1", lambda rewards: play(lambda: UCB(ARMS), rewards)
    yield (
        "Exp3S",
        "exp3s",
        lambda rewards: play(lambda: Exp3S(ARMS, horizon=HORIZON, max_nb_random_events=1), rewards),
    )


def river() -> Iterator[tuple[str, str, Play]]:
    from river import bandit

    def play(policy: Any, rewards: list[list[float]]) -> int:
        arms = range(ARMS)
        start = time.perf_counter_ns()
        for row in rewards:
            arm = policy.pull(arms)
            policy.update(arm, row[arm])
        return time.perf_counter_ns() - start

    yield "UCB", "ucb1", lambda rewards: play(bandit.UCB(delta=1, seed=1), rewards)
    yield "Exp3", "exp3", lambda rewards: play(bandit.Exp3(gamma=0.05, seed=1), rewards)


def main() -> None:
    library = sys.argv[1]
    draw = random.Random(1)
    rewards = [[float(draw.random() < mean) for mean in MEANS] for _ in range(HORIZON)]
    for name, same_as, play in {"smpybandits": smpybandits, "river": river}[library]():
        nanoseconds = min(play(rewards) for _ in range(GAMES)) / HORIZON
        row = {"library": library, "version": version(library), "policy": name, "same_as": same_as}
        print(json.dumps({**row, "ns_per_round": round(nanoseconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
