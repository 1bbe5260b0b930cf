"""Simulation: the same numbers however it is run, the environment's account of the regret, results that last."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sigshift as ss
from sigshift.play import Play
from sigshift.rng import REWARD_DOMAIN, derive
from sigshift.simulation import AT_ONCE, play_run

POLICIES = ["meta", "ucb1", "uniform", "exp3s"]


@pytest.fixture(scope="module")
def runs():
    return ss.simulate(POLICIES, ss.env("pb1", horizon=4000), runs=6, seed=3, jobs=1)


def same(one, two):
    return all(np.array_equal(one.regret(p), two.regret(p)) for p in one.policies) and all(
        np.array_equal(one.restarts[p], two.restarts[p]) for p in one.policies
    )


@pytest.mark.parametrize("jobs", [2, 3, 7, None])
def test_the_numbers_do_not_depend_on_jobs(runs, jobs):
    assert same(runs, ss.simulate(POLICIES, ss.env("pb1", horizon=4000), runs=6, seed=3, jobs=jobs))


def test_a_policy_meets_the_same_world_whoever_else_plays(runs):
    alone = ss.simulate("ucb1", ss.env("pb1", horizon=4000), runs=3, seed=3)
    assert np.array_equal(alone.regret("ucb1"), runs.regret("ucb1")[:3])


def test_another_seed_is_another_study(runs):
    assert not same(runs, ss.simulate(POLICIES, ss.env("pb1", horizon=4000), runs=6, seed=4))


def test_simulations_side_by_side_do_not_mix(runs):
    with ThreadPoolExecutor(3) as pool:
        env = ss.env("pb1", horizon=4000)
        results = [pool.submit(ss.simulate, POLICIES, env, runs=6, seed=3, jobs=2) for _ in range(3)]
        assert all(same(runs, result.result()) for result in results)


@pytest.mark.parametrize("name", ["ucb1", "meta", "exp3s"])
def test_regret_is_the_sum_of_the_gaps_of_the_arms_played(name):
    env = ss.env("pb1", horizon=3000)
    result = ss.simulate(name, env, runs=2, seed=9, checkpoints=[10, 1500, 3000])
    for run in range(2):
        play = Play(ss.policy(name), env.arms, env.horizon, 9, run, env)
        choices, rewards = np.zeros(3000, np.int64), np.zeros(3000)
        block = next(iter(env.blocks()))
        key = derive(9, REWARD_DOMAIN)
        play.simulate(0, 3000, block, env.law_code, env.spread, key, choices, rewards)
        means = env.means()
        gaps = means.max(axis=1) - means[np.arange(3000), choices]
        assert np.allclose(result.regret(name)[run], gaps.cumsum()[[9, 1499, 2999]], rtol=1e-12)
        assert np.array_equal(rewards, env.rewards(0, 3000, run, 9)[np.arange(3000), choices])


def test_the_same_means_in_any_form_give_the_same_run():
    """Segments, a matrix, a function: one environment, one run."""
    env = ss.env("pb3", horizon=2000)
    table = env.means()
    forms = [
        env,
        ss.Environment.from_means(table),
        ss.Environment.from_function(lambda t: table[t], 2000, 5),
    ]
    results = [ss.simulate(["meta", "ucb1"], form, runs=3, seed=1) for form in forms]
    for other in results[1:]:
        for policy in ("meta", "ucb1"):
            assert np.allclose(results[0].regret(policy), other.regret(policy), rtol=1e-12)


class Watch:
    """In the place of a progress bar: how many rounds were played at once; it may tell the run to stop."""

    def __init__(self, stop=None):
        self.parts, self.stop = [], stop

    def add(self, rounds):
        self.parts.append(rounds)
        if self.stop is not None:
            self.stop.set()


def watched(env, watch, stop):
    points = np.array([env.horizon])
    play_run(ss.policy("uniform"), env, 0, 0, points, np.zeros(1), stop, watch)
    return watch.parts


def test_a_long_way_to_the_next_checkpoint_can_be_stopped():
    env = ss.Environment.piecewise([0], [[0.4, 0.6]], 3 * AT_ONCE)
    assert watched(env, Watch(), threading.Event()) == [AT_ONCE] * 3
    stop = threading.Event()
    assert watched(env, Watch(stop), stop) == [AT_ONCE]


INTERRUPTED = """
import sigshift as ss
env = ss.Environment.piecewise([0], [[0.4, 0.6]], 10**12)
ss.simulate("uniform", ss.Environment.piecewise([0], [[0.4, 0.6]], 10), runs=1)
try:
    print("ready", flush=True)
    ss.simulate("uniform", env, runs=4, jobs={jobs}, checkpoints=1)
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are others elsewhere")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_from_the_keyboard_ends_it_soon(jobs):
    # who runs the tests in the background may have it ignored, and children inherit that
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = [sys.executable, "-c", heard + INTERRUPTED.format(jobs=jobs)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=30)[0] == "stopped\n"
        finally:
            process.kill()


def test_after_a_stop_no_means_are_asked_for():
    asked = []

    def means(rounds):
        asked.append(rounds[0])
        return np.full((rounds.size, 2), 0.5)

    env = ss.Environment.from_function(means, 10**9, 2)
    asked.clear()
    stop = threading.Event()
    assert len(watched(env, Watch(stop), stop)) == 1
    assert len(asked) <= 2


def test_the_doubling_version_restarts_its_clock():
    env = ss.env("pb1", horizon=3000)
    doubling = ss.policy("exp3", horizon="unknown")
    result = ss.simulate([doubling, "exp3"], env, runs=4)
    assert result.told[doubling.label] == "horizon unknown"
    assert result.told["exp3"] == "horizon"
    assert not np.array_equal(result.regret(doubling), result.regret("exp3"))


def test_checkpoints():
    env = ss.env("pb1", horizon=1000)
    points = {
        kind: ss.simulate("uniform", env, runs=1, checkpoints=value).checkpoints
        for kind, value in [("default", 200), ("log", "log"), ("few", [5, 5, 70]), ("many", 10**6)]
    }
    assert points["default"].tolist() == list(range(5, 1001, 5))
    assert points["few"].tolist() == [5, 70, 1000]
    assert points["many"].size == 1000
    assert points["log"][0] == 1
    assert points["log"][-1] == 1000
    assert np.all(np.diff(np.log(points["log"].astype(float)))[-30:] < 0.1)


def test_summary_has_the_quantiles_of_the_final_regret(runs):
    table = runs.summary().set_index("policy")
    final = runs.regret("ucb1")[:, -1]
    assert table.loc["ucb1", "regret"] == pytest.approx(final.mean())
    assert table.loc["ucb1", "sd"] == pytest.approx(final.std(ddof=1))
    assert table.loc["ucb1", "se"] == pytest.approx(final.std(ddof=1) / np.sqrt(6))
    assert table.loc["ucb1", "q95"] == pytest.approx(np.quantile(final, 0.95))
    assert (table["ns_per_round"] > 0).all()
    assert list(table.index) == POLICIES
    assert "pb1" in str(runs)


def test_one_run_has_no_deviation_but_a_mean():
    table = ss.simulate("uniform", ss.env("pb1", horizon=100), runs=1).summary()
    assert np.isnan(table["sd"][0])
    assert table["regret"][0] > 0


def test_parquet_keeps_everything(runs, tmp_path):
    path = tmp_path / "runs.parquet"
    runs.save(path)
    again = ss.Runs.load(path)
    assert same(runs, again)
    assert again.policies == runs.policies
    pd.testing.assert_frame_equal(again.summary(), runs.summary())
    assert (again.seed, again.horizon, again.arms, again.environment) == (3, 4000, 3, "pb1")
    frame = pd.read_parquet(path)
    assert list(frame.columns) == ["policy", "told", "run", "checkpoint", "regret", "restarts", "ns_per_round"]
    assert len(frame) == 4 * 6 * 200


def test_files_that_are_not_runs_are_refused(runs, tmp_path):
    path = tmp_path / "runs.parquet"
    with pytest.raises(ss.InvalidInput, match="must be a file written by"):
        ss.Runs.load(path)
    with pytest.raises(ss.InvalidInput, match="must be the name of a file"):
        ss.Runs.load(None)
    runs.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ss.InvalidInput, match="not a whole Parquet file"):
        ss.Runs.load(path)
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(ss.InvalidInput, match="not written by"):
        ss.Runs.load(path)
    runs.save(path)
    table = pq.read_table(path)
    newer = table.schema.metadata[b"sigshift"].replace(b'"format": 1', b'"format": 99')
    pq.write_table(table.replace_schema_metadata({b"sigshift": newer}), path)
    with pytest.raises(ss.InvalidInput, match="Upgrade"):
        ss.Runs.load(path)


def test_saving_into_a_missing_folder_says_so(runs, tmp_path):
    with pytest.raises(ss.InvalidInput, match="Make the folder first"):
        runs.save(tmp_path / "nowhere" / "runs.parquet")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"policies": []}, "at least one"),
        ({"policies": "uucb1"}, "Did you mean 'ucb1'"),
        ({"policies": ["ucb1", ss.policy("ucb1")]}, "distinct"),
        ({"env": 7}, "Environment"),
        ({"env": "pb9"}, "pb"),
        ({"runs": 0}, "runs"),
        ({"runs": 2.5}, "runs"),
        ({"seed": -1}, "seed"),
        ({"jobs": 0}, "jobs"),
        ({"checkpoints": "sometimes"}, "checkpoints"),
        ({"checkpoints": [0]}, "checkpoints"),
        ({"checkpoints": [4001]}, "checkpoints"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(change, match):
    arguments = {"policies": "ucb1", "env": ss.env("pb1", horizon=4000), "runs": 1} | change
    with pytest.raises(ss.InvalidInput, match=match):
        ss.simulate(**arguments)


def test_an_unknown_label_is_refused(runs):
    with pytest.raises(ss.InvalidInput, match="must be one of meta, ucb1"):
        runs.regret("ucb2")


def test_a_failing_function_stops_the_whole_study_with_its_own_error():
    def means(t):
        if t[-1] > 100_000:
            raise RuntimeError("no data after round 100,000")
        return np.full((t.size, 300), 0.5)

    env = ss.Environment.from_function(means, 400_000, 300)
    with pytest.raises(RuntimeError, match="no data"):
        ss.simulate(["uniform", "ucb1"], env, runs=20, jobs=2)


def test_the_bar_is_for_terminals(monkeypatch, capsys):
    ss.simulate("uniform", ss.env("pb1", horizon=1000), runs=2)
    assert capsys.readouterr().err == ""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    ss.simulate("uniform", ss.env("pb1", horizon=200_000), runs=2)
    assert "pb1" in screen.getvalue()


def test_compiled_and_plain_play_are_alike(tmp_path):
    """With the JIT off the same kernels give the same choices, decision for decision."""
    script = (
        "import sigshift as ss; r = ss.simulate(['meta', 'ucb1', 'exp3s'], ss.env('pb1', horizon=300), runs=1, seed=5);"
        "print([float(r.regret(p)[0, -1]).hex() for p in r.policies], r.restarts)"
    )
    outputs = []
    for off in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": off}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]


def test_a_loop_is_compiled_once_for_all_environments():
    from sigshift.compile import specialise

    for env in (ss.env("pb1", horizon=500), ss.env("pb3", horizon=500), ss.env("sinus", horizon=500)):
        ss.simulate("ucb1", env, runs=2)
    assert len(specialise(ss.policy("ucb1").module).play.signatures) == 1
