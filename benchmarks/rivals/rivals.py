"""``rivals.py smpybandits|river``: one line of JSON per policy, with its time per round in that library's own loop.

The rewards are drawn beforehand, the regret is not computed and the best of several games counts, so the rival is timed
for its policy alone; the time of sigshift, in ``ours.py``, holds the draws and the exact regret.
"""

import contextlib
import importlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from problem import ARMS, HORIZON, MEANS

GAMES = 5
ENOUGH = 4.0  # seconds, after which no further game is begun
SHORT = 1_000  # rounds for what takes milliseconds in each
Play = Callable[[list[list[float]]], int]
Rival = tuple[str, str, int, Play]  # its name, ours, the horizon, and a game


def smpybandits() -> Iterator[Rival]:
    with contextlib.redirect_stdout(sys.stderr):  # its imports talk
        theirs = importlib.import_module("SMPyBandits.Policies")
    told = {"horizon": HORIZON, "max_nb_random_events": 1}
    ucb, kl = {"policy": theirs.UCB}, {"policy": theirs.klUCB}
    oracle = {"changePoints": [0, HORIZON // 2], "listOfMeans": [list(MEANS), list(MEANS[::-1])]}
    policies: list[tuple[str, dict[str, Any], str]] = [
        ("Uniform", {}, "uniform"),
        ("UCB", {}, "ucb1"),
        ("klUCB", {}, "kl_ucb"),
        ("MOSS", {}, "moss"),
        ("MOSSAnytime", {}, "moss_anytime"),
        ("Thompson", {}, "thompson"),
        ("Exp3WithHorizon", {"horizon": HORIZON}, "exp3"),
        ("Exp3PlusPlus", {}, "exp3_pp"),
        ("TsallisInf", {}, "tsallis_inf"),
        ("DiscountedUCBPlus", told, "d_ucb"),
        ("DiscountedklUCBPlus", told, "d_kl_ucb"),
        ("SWUCBPlus", {"horizon": HORIZON}, "sw_ucb"),
        ("SWklUCB", {"tau": 890}, "sw_kl_ucb"),
        ("DiscountedThompson", {}, "d_ts"),
        ("Exp3S", told, "exp3s"),
        ("SWHash_IndexPolicy", ucb, "sw_ucb_sharp"),
        ("LM_DSEE", {}, "lm_dsee"),
        ("CUSUM_IndexPolicy", ucb | told, "cusum_ucb"),
        ("PHT_IndexPolicy", ucb | told, "pht_ucb"),
        ("Monitored_IndexPolicy", ucb | told, "m_ucb"),
        ("BernoulliGLR_IndexPolicy", kl | told, "glr_kl_ucb"),
        ("UCBLCB_IndexPolicy", {}, "ucbl_cpd"),
        ("Exp3R", {"horizon": HORIZON}, "exp3r"),
        ("OracleSequentiallyRestartPolicy", kl | oracle, "restarting"),
        ("AdSwitchNew", {"horizon": SHORT}, "ad_switch"),
    ]
    for name, params, same_as in policies:

        def play(rewards: list[list[float]], name: str = name, params: dict[str, Any] = params) -> int:
            with contextlib.redirect_stdout(sys.stderr):
                policy = getattr(theirs, name)(ARMS, **params)
                policy.startGame()
                start = time.perf_counter_ns()
                for row in rewards:
                    arm = policy.choice()
                    policy.getReward(arm, row[arm])
                return time.perf_counter_ns() - start

        yield name, same_as, SHORT if same_as == "ad_switch" else HORIZON, play


def river() -> Iterator[Rival]:
    from river import bandit

    def play(policy: Any, rewards: list[list[float]]) -> int:
        arms = range(ARMS)
        start = time.perf_counter_ns()
        for row in rewards:
            arm = policy.pull(arms)
            policy.update(arm, row[arm])
        return time.perf_counter_ns() - start

    yield "UCB", "ucb1", HORIZON, lambda rewards: play(bandit.UCB(delta=1, seed=1), rewards)
    yield "Exp3", "exp3", HORIZON, lambda rewards: play(bandit.Exp3(gamma=0.05, seed=1), rewards)


def fastest(play: Play, rewards: list[list[float]]) -> float:
    """Nanoseconds a round in the best of a few games."""
    begun = time.monotonic()
    games = []
    while not games or (len(games) < GAMES and time.monotonic() - begun < ENOUGH):
        games.append(play(rewards))
    return min(games) / len(rewards)


def main() -> None:
    library = sys.argv[1]
    draw = random.Random(1)
    rewards = [[float(draw.random() < mean) for mean in MEANS] for _ in range(HORIZON)]
    for name, same_as, horizon, play in {"smpybandits": smpybandits, "river": river}[library]():
        row: dict[str, Any] = {"library": library, "version": version(library), "policy": name, "same_as": same_as}
        row["horizon"] = horizon
        try:
            row["ns_per_round"] = round(fastest(play, rewards[:horizon]), 1)
        except Exception as error:  # what does not run has a row that says so
            row["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
