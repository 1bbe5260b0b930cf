"""The cache of compiled loops, in real processes: it hits, notices edits, poisons nobody and survives races."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sigshift
from sigshift.compile import cache_folder, dependencies, fingerprint, specialise
from sigshift.policy import definition, policy

SOURCE = Path(sigshift.__file__).parents[1]

# Plays a policy by hand for 60 rounds, or simulates it, and tells what came out and whether the cache served it.
PROGRAM = """
import json, sys
from sigshift.compile import specialise
from sigshift.play import Play
from sigshift.policy import policy

def facts(name, simulated=False):
    made = policy(name)
    compiled = specialise(made.module)
    if simulated:
        from sigshift.environments import env
        from sigshift.simulation import simulate

        runs = simulate(made, env("pb1", horizon=500), runs=1, seed=1, jobs=1, progress=False)
        result = runs.regret(made)[:, -1].tolist()
        stats = compiled.play.stats
    else:
        play = Play(made, 3, 60, 1)
        result = []
        for t in range(60):
            arm, propensity = compiled.ask(play.params, play.state, t)
            compiled.tell(play.params, play.state, t, arm, float(arm == t // 20), propensity)
            result.append(arm)
        stats = compiled.ask.stats
    return {"result": result, "hits": sum(stats.cache_hits.values()), "misses": sum(stats.cache_misses.values())}
"""
TOLD = "print(json.dumps([facts(name) for name in sys.argv[1:]]))"
SIMULATED = "print(json.dumps([facts(name, True) for name in sys.argv[1:]]))"

MINE = """
from typing import NamedTuple
import numpy as np
from sigshift.kernel import kernel
from helper import pick

class Params(NamedTuple):
    shift: int = 0

class State(NamedTuple):
    pulls: np.ndarray

def init(p, arms, key):
    return State(np.zeros(arms))

@kernel
def select(p, s, t):
    return (pick(t) + p.shift) % s.pulls.size, 1.0

@kernel
def update(p, s, t, a, y, q):
    s.pulls[a] += 1.0
"""
HELPER = """
from sigshift.kernel import kernel

@kernel
def pick(t):
    return t
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def started(*arguments, cache, source=SOURCE):
    environment = {**os.environ, "SIGSHIFT_CACHE": str(cache), "PYTHONPATH": str(source)}
    for name in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "COVERAGE_PROCESS_START"):
        environment.pop(name, None)
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err == ""
    return json.loads(out)


def run(program, *names, **where):
    return finished(started("-c", PROGRAM + program, *names, **where))


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def written(folder):
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER)
    (folder / "mine.py").write_text(MINE)
    return folder / "mine.py"


def test_a_second_process_compiles_nothing(cache):
    (first,) = run(SIMULATED, "ucb1", cache=cache)
    assert first["misses"] > 0
    there = files(cache)
    (second,) = run(SIMULATED, "ucb1", cache=cache)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert second["result"] == first["result"]
    assert files(cache) == there


def test_an_edit_of_a_users_files_is_noticed(cache, tmp_path):
    mine = written(tmp_path / "user")
    (before,) = run(TOLD, mine, cache=cache)
    assert before["result"] == [t % 3 for t in range(60)]
    mine.write_text(MINE.replace("shift: int = 0", "shift: int = 0\n    more: int = 0").replace("+ p.shift", "+ 1"))
    (after,) = run(TOLD, mine, cache=cache)
    assert after["result"] == [(t + 1) % 3 for t in range(60)]
    (mine.parent / "helper.py").write_text(HELPER.replace("return t", "return 2 * t"))
    (after,) = run(TOLD, mine, cache=cache)
    assert after["result"] == [(2 * t + 1) % 3 for t in range(60)]
    written(tmp_path / "again")
    for name in ("mine.py", "helper.py"):
        shutil.copy(tmp_path / "again" / name, mine.parent / name)
    (back,) = run(TOLD, mine, cache=cache)  # and the old files find their old code
    assert back["result"] == before["result"]
    assert back["misses"] == 0


def test_an_edit_of_sigshift_itself_is_noticed(cache, tmp_path):
    shutil.copytree(SOURCE / "sigshift", tmp_path / "src" / "sigshift", ignore=shutil.ignore_patterns("__pycache__"))
    (before,) = run(TOLD, "uniform", cache=cache, source=tmp_path / "src")
    stream = tmp_path / "src" / "sigshift" / "rng.py"  # two files away from the loop
    stream.write_text(stream.read_text().replace("0xD2511F53", "0xD2511F55"))
    (after,) = run(TOLD, "uniform", cache=cache, source=tmp_path / "src")
    assert after["result"] != before["result"]
    (now,) = run(TOLD, "uniform", cache=cache)
    assert now["result"] == before["result"]


def test_a_users_policy_poisons_nobody(cache, tmp_path):
    mine = written(tmp_path / "user")
    own, built_in = run(TOLD, mine, "ucb1", cache=cache)
    shutil.rmtree(mine.parent)
    (later,) = run(TOLD, "ucb1", cache=cache)
    assert later["result"] == built_in["result"] != own["result"]
    assert later["misses"] == 0


def test_a_race_on_an_empty_cache_ends_well_for_all(cache):
    processes = [started("-c", PROGRAM + TOLD, "ucb1", cache=cache) for _ in range(5)]
    results = [finished(process)[0]["result"] for process in processes]
    assert all(result == results[0] for result in results)
    (later,) = run(TOLD, "ucb1", cache=cache)
    assert later["result"] == results[0]
    assert (later["hits"] > 0, later["misses"]) == (True, 0)
    assert not [name for name in files(cache) if name.endswith(".draft")]
    assert len([name for name in files(cache) if name.endswith(".py")]) == 1


NOTEBOOK = (
    MINE.replace("from helper import pick", HELPER)
    + """
class Mine:
    Params, State, init, select, update = Params, State, init, select, update

print(json.dumps([facts(thing) for thing in (sys.modules["__main__"], Mine)]))
"""
)


def test_a_policy_of_a_notebook_works(cache):
    module, by_class = run(NOTEBOOK, cache=cache)
    assert module["result"] == by_class["result"] == [t % 3 for t in range(60)]
    assert not cache.exists()  # what has no file is compiled in memory


def test_a_policy_of_the_script_that_runs_works(cache, tmp_path):
    script = tmp_path / "script.py"
    for text, expected in ((NOTEBOOK, 0), (NOTEBOOK, 0), (NOTEBOOK.replace("+ p.shift", "+ 2"), 2)):
        script.write_text(PROGRAM + text)
        for facts in finished(started(script, cache=cache)):
            assert facts["result"] == [(t + expected) % 3 for t in range(60)]


def test_without_a_folder_to_write_in_it_compiles_in_memory(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    (here,) = run(TOLD, "ucb1", cache=tmp_path / "file" / "cache")
    (there,) = run(TOLD, "ucb1", cache=tmp_path / "cache")
    assert here["result"] == there["result"]
    assert here["hits"] == 0


LITTLE_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
NO_FOLDER = "import numba.core.caching as caching; caching.CacheImpl._locator_classes = []\n"


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such limit")
def test_a_full_disk_costs_a_compile_and_no_more(cache, tmp_path):
    (full,) = run(LITTLE_ROOM + SIMULATED, "ucb1", cache=cache)
    assert not [name for name in files(cache) if name.endswith(".nbc")]
    (again,) = run(SIMULATED, "ucb1", cache=cache)  # there is room by now
    (third,) = run(SIMULATED, "ucb1", cache=cache)
    assert full["result"] == again["result"] == third["result"]
    assert third["misses"] == 0


def test_garbled_files_are_made_anew(cache):
    """As a machine may leave them that went down: the machine code, its index, the policy's loop."""
    (before,) = run(SIMULATED, "ucb1", cache=cache)
    for suffix, left in ((".nbc", 0.5), (".nbi", 0.0), (".py", 0.5)):
        for path in cache.rglob(f"*{suffix}"):
            whole = path.read_bytes()
            path.write_bytes(whole[: int(left * len(whole))])
        (after,) = run(SIMULATED, "ucb1", cache=cache)
        assert after["result"] == before["result"]
        (later,) = run(SIMULATED, "ucb1", cache=cache)
        assert (later["result"], later["misses"]) == (before["result"], 0)


def test_where_nothing_can_be_written_it_runs(tmp_path):
    """A container with a file system that is read only: neither our folder nor any of numba's."""
    (tmp_path / "file").write_text("not a folder")
    (here,) = run(NO_FOLDER + SIMULATED, "ucb1", cache=tmp_path / "file" / "cache")
    (there,) = run(SIMULATED, "ucb1", cache=tmp_path / "cache")
    assert here["result"] == there["result"]


# In this process


def test_the_folder_is_the_one_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SIGSHIFT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("SIGSHIFT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / "sigshift"


def test_a_loop_depends_on_all_the_policy_imports(tmp_path):
    mine = written(tmp_path / "user")
    found = dependencies(mine, mine.parent)
    assert {mine, mine.parent / "helper.py", SOURCE / "sigshift" / "kernel.py"} <= set(found)
    meta = {path.name for path in dependencies(Path(definition("meta").__file__))}
    assert {"meta.py", "bases.py", "evidence.py", "rng.py", "checks.py"} <= meta
    assert not any("numba" in str(path) or "numpy" in str(path) for path in dependencies(SOURCE / "sigshift/loop.py"))


def test_the_fingerprint_sees_each_byte_and_where_a_file_ends(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("ab")
    two.write_text("c")
    before = fingerprint([one, two])
    one.write_text("a")
    two.write_text("bc")
    assert fingerprint([one, two]) != before
    one.write_text("ab")
    two.write_text("c")
    assert fingerprint([one, two]) == before


def test_one_policy_has_one_loop():
    module = policy("ucb1").module
    assert specialise(module) is specialise(module)
