"""Studies of regret: they go on where they were stopped, play only what is new, and say what the runs say."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import sigshift as ss
from sigshift import cli
from sigshift.environments.suite import SUITE
from sigshift.policy import definition
from sigshift.report.heatmap import ratio_text, regret_heat_map
from sigshift.study import complete, measure, results
from sigshift.study.analyse import Results
from sigshift.study.run import _mixed
from sigshift.study.spec import HORIZONS, Cell, Spec, blocks, entrant, instance, spec, truth
from sigshift.study.store import Row, Store, _origins, digest, version
from sigshift.testing import write_skeleton

SIGSHIFT = [sys.executable, "-m", "sigshift"]
SMALL = {"environments": ["drop", "sinus"], "horizons": [2_000, 3_000], "seeds": (0, 3)}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def files(store):
    return sorted(store.folder.rglob("seeds-*.json"))


def numbers(found):
    """All regrets and restarts, which must not depend on how they came about."""
    return [(one.regret.tolist(), one.restarts.tolist()) for one in found]


def played(study, store, **options):
    complete(study, store, **options)
    return numbers([results(study, store, horizon) for horizon in study.horizons])


# What is played.


def test_a_run_is_that_of_simulate(store):
    study = spec(["ucb1", "meta"], ["riser", "pb1"], [3_000], (5, 3))
    assert complete(study, store, jobs=1) == 12
    found = results(study, store, 3_000)
    for row, name in enumerate(["ucb1", "meta"]):
        for column, place in enumerate(["suite-riser", "pb1"]):
            for i, seed in enumerate([5, 6, 7]):
                known = {"seed": seed} if place == "suite-riser" else {}
                env = ss.env(place, horizon=3_000, **known)
                run = ss.simulate(name, env, runs=1, seed=seed, checkpoints=1)
                assert found.regret[row, column, i] == run.regret(name)[0, -1]
                assert found.restarts[row, column, i] == run.restarts[name][0]


def test_a_policy_that_has_something_to_say_of_an_environment_is_shown_it(store):
    assert complete(spec(["ucb1", "restarting"], ["pb1"], [1_000], (0, 1)), store, jobs=1) == 2


@pytest.mark.parametrize("jobs", [2, 5, None])
def test_the_numbers_do_not_depend_on_jobs(tmp_path, jobs):
    study = spec(["ucb1", "exp3s"], **SMALL)
    assert played(study, Store(tmp_path / "a"), jobs=1) == played(study, Store(tmp_path / "b"), jobs=jobs)


def test_all_of_the_suite_can_be_played(store):
    study = spec("uniform", None, [1_000], (0, 1))
    assert complete(study, store) == len(SUITE)
    found = results(study, store, 1_000)
    assert found.environments == SUITE
    assert (found.regret > 0).all()


def test_only_what_is_new_is_played(store):
    assert complete(spec("ucb1", **SMALL), store) == 12
    assert complete(spec("ucb1", **SMALL), store) == 0
    assert complete(spec(["uniform", "ucb1"], **SMALL), store) == 12
    assert complete(spec("ucb1", ["drop"], [2_000], (1, 4)), store) == 2
    assert complete(spec("ucb1", ["drop", "pb1"], [2_000], (0, 5)), store) == 5
    assert complete(spec("ucb1(exploration=0.1)", ["drop"], [2_000], (0, 5)), store) == 5
    together = results(spec("ucb1", ["drop"], [2_000], (0, 5)), store, 2_000)
    afresh = Store(store.folder.with_name("afresh"))
    study = spec("ucb1", ["drop"], [2_000], (0, 5))
    assert numbers([together]) == played(study, afresh)


def test_other_rounds_of_a_study_share_nothing(store):
    cells = list(spec(["ucb1", "uniform"], **SMALL).cells())
    assert len({store.place(cell) for cell in cells}) == len(cells) == 8
    assert [cell.horizon for cell in cells] == [2_000] * 4 + [3_000] * 4
    assert sorted(map(str, _mixed([(cell, [0]) for cell in cells]))) == sorted(str((cell, [0])) for cell in cells)


def test_an_edit_makes_only_that_policys_results_obsolete(store, tmp_path):
    for name in ("first.py", "second.py"):
        write_skeleton(tmp_path / name)
    paths = [str(tmp_path / name) for name in ("first.py", "second.py")]

    def study():
        return spec([*paths, "ucb1"], ["drop"], [2_000], (0, 2))

    def missing():
        return [len(store.missing(cell, [0, 1])) for cell in study().cells()]

    for cell in study().cells():
        store.write(cell, [0, 1], [Row(1.0, 0, 50.0)] * 2)
    source = Path(paths[0]).read_text(encoding="utf-8")
    Path(paths[0]).write_text("# A comment says nothing new.\n" + source, encoding="utf-8")
    assert missing() == [0, 0, 0]
    Path(paths[0]).write_text(source + "\nMORE = 1\n", encoding="utf-8")
    assert missing() == [2, 0, 0]
    Path(paths[0]).write_text(source, encoding="utf-8")
    assert missing() == [0, 0, 0]


def test_the_version_follows_what_a_policy_imports(tmp_path):
    write_skeleton(tmp_path / "mine.py")
    source = (tmp_path / "mine.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(source + "\nimport beside\n", encoding="utf-8")
    seen = []
    for text in ("X = 1\n", '"""What X is."""\n\nX = 1  # one\n', "X = 2\n"):
        (tmp_path / "beside.py").write_text(text, encoding="utf-8")
        sys.modules.pop("beside", None)
        seen.append(version(entrant(str(tmp_path / "mine.py"))))
    assert seen[0] == seen[1] != seen[2]
    assert version(entrant("ucb1")) != version(entrant("ucb1(exploration=0.1)")) != version(entrant("uniform"))


def test_the_version_of_a_policy_in_memory_is_that_of_its_text_and_its_parts():
    part = SimpleNamespace(__name__="part", __file__="part.py")
    assembled = SimpleNamespace(__name__="made", base=part, PARTS={"base": "policy"})
    meta = definition("meta")
    assert list(_origins(assembled, "meta")) == [(meta.__name__, meta.__file__), ("part", "part.py")]
    assert list(_origins(meta, "meta")) == [(meta.__name__, meta.__file__)]


def test_an_environment_with_another_definition_is_another(monkeypatch):
    assert len({digest(name, 20_000) for name in SUITE}) == len(SUITE)
    from sigshift.environments import suite

    for name, constant, value in (("suite-adv-det", "WAVE", 98), ("suite-rwalk", "WALK_STEPS", 900)):
        before = digest(name, 2_000)
        digest.cache_clear()
        monkeypatch.setattr(suite, constant, value)
        assert digest(name, 2_000) != before


# It can be stopped and it can be shared.


def started(folder, *more):
    words = ["bench", "regret", "--policies", "ucb1", "exp3s", "--horizons", "4e4", "--seeds", "0", "8", "--no-plot"]
    return subprocess.Popen(
        [*SIGSHIFT, *words, "--out", str(folder), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def the_same(environments=None):
    return spec(["ucb1", "exp3s"], environments, [40_000], (0, 8))


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_study_goes_on_where_it_was(store):
    with started(store.folder, "--jobs", "1") as process:
        end = time.monotonic() + 60
        while len(files(store)) < 3 and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = len(files(store))
    assert 3 <= kept < 2 * len(SUITE)
    assert complete(the_same(), store) == (2 * len(SUITE) - kept) * 8
    assert complete(the_same(), store) == 0
    some = the_same(["drop", "season"])
    assert numbers([results(some, store, 40_000)]) == played(some, Store(store.folder.with_name("afresh")))


def test_two_at_once_fill_one_folder(store):
    envs = ["drop", "riser", "k50", "pb1"]
    with started(store.folder, "--envs", *envs) as one, started(store.folder, "--envs", *envs) as two:
        said = [process.communicate(timeout=120) for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], said
    first, second = (text.decode().splitlines() for text, _ in said)
    assert len(first) == len(second)
    some = the_same(envs)
    assert complete(some, store) == 0
    assert numbers([results(some, store, 40_000)]) == played(some, Store(store.folder.with_name("afresh")))


def test_what_another_has_played_meanwhile_is_not_played_again(store, monkeypatch):
    study = spec("ucb1", ["drop"], [2_000], (0, 4))
    cell = Cell(study.entrants[0], "suite-drop", 2_000)
    missing = Store.missing

    def late(self, cell, seeds):
        monkeypatch.setattr(Store, "missing", missing)
        answer = missing(self, cell, seeds)
        self.write(cell, [0, 1], [Row(1.0, 0, 1.0), Row(2.0, 0, 1.0)])
        return answer

    monkeypatch.setattr(Store, "missing", late)
    complete(study, store, jobs=1)
    assert store.read(cell, [0, 1]) == {0: (1.0, 0, 1.0), 1: (2.0, 0, 1.0)}
    assert [path.name for path in files(store)] == ["seeds-00000-00001.json", "seeds-00002-00003.json"]


def test_an_interrupted_study_has_whole_files_only(store, monkeypatch):
    import sigshift.study.run as run

    real, count = run._row, []

    def interrupted(*arguments):
        count.append(1)
        if len(count) == 5:
            raise KeyboardInterrupt
        return real(*arguments)

    study = spec("ucb1", **SMALL)
    for jobs in (1, 3):
        count.clear()
        monkeypatch.setattr(run, "_row", interrupted)
        with pytest.raises(KeyboardInterrupt):
            complete(study, store, jobs=jobs)
        monkeypatch.setattr(run, "_row", real)
        for path in files(store):
            assert json.loads(path.read_text(encoding="utf-8"))["seeds"] == [0, 1, 2]
    complete(study, store)
    assert numbers([results(study, store, 2_000)])[0] == played(study, Store(store.folder.with_name("afresh")))[0]


# What is wrong is said.


def cut(text):
    return text[:100]


DAMAGES = {
    "cut": (cut, "is damaged"),
    "empty": (lambda text: "", "is damaged"),
    "other JSON": (lambda text: "[1]", "is damaged"),
    "lacks a part": (lambda text: text.replace('"check"', '"chick"'), "is damaged"),
    "another number": (lambda text: text.replace('"restarts": [0', '"restarts": [1'), "not as it was written"),
    "another format": (lambda text: text.replace('"format": 1', '"format": 2'), "has format 2, and this version reads"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_named_with_its_cure(store, name):
    change, told = DAMAGES[name]
    study = spec("ucb1", ["drop"], [2_000], (0, 2))
    complete(study, store)
    (path,) = files(store)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(ss.InvalidInput) as error:
        results(study, store, 2_000)
    assert told in str(error.value)
    assert str(path) in str(error.value)
    assert "Delete it" in str(error.value)
    path.unlink()
    assert complete(study, store) == 2
    results(study, store, 2_000)


def test_a_file_under_a_strange_name_is_refused(store):
    study = spec("ucb1", ["drop"], [2_000], (0, 2))
    complete(study, store)
    (path,) = files(store)
    path.rename(path.with_name("seeds-00000-00009.json"))
    with pytest.raises(ss.InvalidInput, match="not as it was written"):
        results(study, store, 2_000)
    files(store)[0].rename(path.with_name("seeds-what.json"))
    with pytest.raises(ss.InvalidInput, match="is no file of this store"):
        results(study, store, 2_000)


def test_results_need_all_runs(store):
    with pytest.raises(ss.InvalidInput, match="lacks 2 runs of ucb1 on suite-drop at T = 2,000"):
        results(spec("ucb1", ["drop"], [2_000], (0, 2)), store, 2_000)


REFUSALS = {
    "no policies": (lambda: spec([]), "policies must name at least one"),
    "twice": (lambda: spec(["ucb1", "ucb1()"]), "policies must be distinct"),
    "unknown": (lambda: spec("ucb1x"), "Did you mean 'ucb1'"),
    "no call": (lambda: spec("ucb1(0.5)"), "policy must be a name, perhaps with parameters by name"),
    "half a call": (lambda: spec("ucb1(exploration=0.5"), "policy must be a name, perhaps with parameters"),
    "an expression": (lambda: spec("ucb1(exploration=2*2)"), "must have plain values"),
    "a wrong value": (lambda: spec("ucb1(exploration=-1)"), "exploration"),
    "a wrong name": (lambda: spec("ucb1(explore=1)"), "is unknown"),
    "no truth": (lambda: spec("ucb1(exploration=truth)"), "has no truth"),
    "cannot be told": (lambda: spec("ucb1(changes=truth)"), "is unknown"),
    "environment": (lambda: spec("ucb1", ["losers"]), "environment must be one of the suite"),
    "environments": (lambda: spec("ucb1", ["drop", "suite-drop"]), "environments must be distinct"),
    "no environments": (lambda: spec("ucb1", []), "environments must name at least one"),
    "horizon": (lambda: spec("ucb1", horizons=[999]), "horizons must be a whole number of at least 1000"),
    "horizons": (lambda: spec("ucb1", horizons=[2_000, 2_000]), "horizons must be distinct"),
    "no horizons": (lambda: spec("ucb1", horizons=[]), "horizons must name at least one"),
    "seeds": (lambda: spec("ucb1", seeds=(-1, 5)), "the first seed must be"),
    "no seeds": (lambda: spec("ucb1", seeds=(0, 0)), "the number of seeds must be"),
    "both sides": (lambda: spec("ucb1", seeds=(4_990, 20)), "must lie on one side of 5000"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    wrong, message = REFUSALS[case]
    with pytest.raises(ss.InvalidInput, match=message):
        wrong()


def test_a_policy_of_a_running_program_is_refused():
    class Mine:
        pass

    from sigshift.policies import uniform

    for part in ("Params", "State", "init", "select", "update"):
        setattr(Mine, part, staticmethod(getattr(uniform, part)))
    with pytest.raises(ss.InvalidInput, match="built in or live in a file"):
        spec(ss.policy(Mine))


def test_refusals_come_before_any_run(store, tmp_path):
    study = spec("oracle", **SMALL)
    with pytest.raises(ss.InvalidInput, match="told nothing but the horizon"):
        measure(study, store.folder)
    with pytest.raises(ss.InvalidInput, match="reference must be one of ucb1"):
        measure(spec("ucb1", **SMALL), store.folder, "meta")
    assert not store.folder.exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ss.InvalidInput, match="out must be a folder"):
        Store(tmp_path / "file")


# The plan.


def test_the_default_is_the_whole_suite():
    study = spec("ucb1")
    assert (study.environments, study.horizons, study.seeds) == (SUITE, HORIZONS, range(20))
    assert study.purpose() == "for tuning"
    assert spec("ucb1", seeds=(5_000, 100)).purpose() == "for reporting"


def test_blocks_have_the_size_that_a_horizon_allows():
    assert blocks(range(45), 20_000) == [list(range(20)), list(range(20, 40)), list(range(40, 45))]
    assert blocks(range(9), 1_000_000) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert blocks([3, 4, 7], 10**9) == [[3], [4], [7]]
    assert blocks([], 20_000) == []


def test_entrants():
    plain, told = entrant("exp3s"), entrant("exp3s(switches=truth)")
    assert (plain.label, plain.told, plain.tuning_free) == ("exp3s", "horizon", True)
    assert (told.label, told.told, told.tuning_free) == ("exp3s(switches=truth)", "horizon, switches", False)
    assert not entrant("exp3s(switches=3)").tuning_free
    assert not entrant("oracle").tuning_free
    assert entrant("meta(c0=0.3)").tuning_free
    assert entrant("ucb1").told == "nothing"
    assert [truth(name) for name in ("changes", "base_switches", "exchanges")] == ["changes", "switches", ""]
    assert not entrant("raw_ucb(sigma=0.1)").tuning_free
    assert entrant("lm_dsee").told == "horizon, gap=0.5"
    assert entrant("exp3s(switches=None)").tuning_free
    env = instance("suite-glr3", 2_000, 4)
    assert dict(told.on(env).params) == {"switches": 4}
    assert plain.on(env) is plain.policy
    assert entrant(told) is told
    assert entrant(ss.policy("ucb1", exploration=0.5)).label == entrant("ucb1(exploration=0.5)").label


def test_instances_follow_the_seed():
    assert (instance("suite-hard", 2_000, 3).means() == ss.env("suite-hard", horizon=2_000, seed=3).means()).all()
    assert (instance("pb1", 2_000, 3).means() == ss.env("pb1", horizon=2_000).means()).all()


def test_a_long_study_without_a_terminal_says_how_far_it_is(store, monkeypatch):
    monkeypatch.setattr("sigshift.study.run.EVERY", 0.0)
    said = []
    complete(spec("ucb1", **SMALL), store, say=said.append)
    assert len(said) == 4
    assert said[-1] == "12 of 12 runs"


# What is said of it.


def made(regret, free=(True, True, False), reference=None, horizon=20_000):
    """Results with these regrets [policy, environment, seed]."""
    regret = np.asarray(regret, dtype=float)
    policies = ("one", "two", "knowing")[: len(regret)]
    return Results(
        horizon=horizon,
        seeds=range(regret.shape[2]),
        purpose="for tuning",
        policies=policies,
        told=("nothing", "horizon", "changes")[: len(regret)],
        tuning_free=np.array(free[: len(regret)]),
        environments=SUITE[: regret.shape[1]],
        reference=reference,
        regret=regret,
        restarts=np.ones(regret.shape),
        ns_per_round=np.full(regret.shape, 50.0),
    )


def test_the_summary_by_hand():
    found = made([[[10, 30], [40, 40]], [[80, 80], [20, 20]], [[1, 1], [10, 10]]], reference="two")
    assert found.over_best() == pytest.approx(np.array([[1, 2], [4, 1], [0.05, 0.5]]))
    assert found.over_reference() == pytest.approx(np.array([[0.25, 2], [1, 1], [0.0125, 0.5]]))
    assert found.best() == [("one", 20.0), ("two", 20.0)]
    table = found.summary().set_index("policy")
    assert table.index.tolist() == ["knowing", "one", "two"]
    assert table.over_best["one"] == pytest.approx(np.sqrt(2))
    assert table.over_best["two"] == pytest.approx(2.0)
    assert (table.worst["one"], table.worst_on["one"]) == (pytest.approx(2.0), "glr3")
    assert (table.worst["two"], table.worst_on["two"]) == (pytest.approx(4.0), "stat10")
    assert table.q95["one"] == pytest.approx(np.sqrt(29 / 20 * 2))
    assert table.over_reference["one"] == pytest.approx(np.sqrt(0.5))
    assert (table.reference_worst["one"], table.reference_worst_on["one"]) == (pytest.approx(2.0), "glr3")
    assert (table.over_reference_low["two"], table.over_reference_high["two"]) == (1.0, 1.0)
    assert (table.restarts["one"], table.ns_per_round["one"]) == (1.0, 50.0)
    assert "over_reference" not in made(found.regret).summary()
    frame = found.frame()
    assert frame.environment.tolist() == ["stat10", "glr3"] * 3
    assert frame.regret.tolist() == [20, 40, 80, 20, 1, 10]
    assert frame.se.tolist() == [10, 0, 0, 0, 0, 0]


def test_the_interval_covers_the_truth_as_often_as_it_says(monkeypatch):
    """Of 400 studies 90 % cover it, less what the bootstrap of 40 seeds loses: at least 82 % (false alarm 1e-5)."""
    monkeypatch.setattr("sigshift.study.analyse.RESAMPLES", 400)
    generator = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        found = made(generator.gamma([[[9.0]] * 3, [[18.0]] * 3], size=(2, 3, 40)), free=(True, True), reference="one")
        row = found.summary().set_index("policy").loc["two"]
        inside += row.over_reference_low <= 2.0 <= row.over_reference_high
    assert 0.82 * 400 <= inside <= 0.96 * 400


def test_next_to_no_regret_is_no_great_victory():
    found = made([[[0.0, 0.0]], [[5.0, 5.0]]])
    assert found.over_best() == pytest.approx(np.array([[1.0], [5.0]]))


# The picture and the command.


def texts(chart):
    return {text.get_text() for text in chart.axes[0].texts}


def test_the_heat_map_has_every_ratio(tmp_path):
    found = made([[[10, 30], [40, 40]], [[80, 80], [20, 20]], [[1, 1], [10, 10]]])
    chart = regret_heat_map(found, tmp_path / "map.png")
    assert texts(chart) >= {"1.00", "2.00", "4.00", ".05", ".50", "1.41"}
    assert [label.get_text() for label in chart.axes[0].get_yticklabels()] == ["one", "two", "knowing"]
    assert [label.get_text() for label in chart.axes[0].get_xticklabels()] == ["geometric mean", "stat10", "glr3"]
    assert "T = 20,000 (2 seeds for tuning)" in chart.get_suptitle()
    data = (tmp_path / "map.png").read_bytes()
    regret_heat_map(found, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == data
    with pytest.raises(ss.InvalidInput, match="must end in"):
        regret_heat_map(found, tmp_path / "map.txt")


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (3, 21), (3, 5)])
def test_nothing_of_the_heat_map_overlaps_or_is_cut_off(count, columns):
    regret = np.geomspace(1, 20_000, count * columns).reshape(count, columns, 1)
    found = made(regret, horizon=1_000_000)
    labels = ("sliding_window_ucb(changes=truth)", "meta(c0=0.2, replay_rate=0.5, threshold='paper')", "uniform")
    chart = regret_heat_map(replace(found, policies=labels[:count], purpose="for reporting"))
    renderer = FigureCanvasAgg(chart).get_renderer()
    chart.draw(renderer)
    cells = [text.get_window_extent(renderer) for text in chart.axes[0].texts]
    for box, patch in zip(cells, chart.axes[0].patches, strict=True):
        room = patch.get_window_extent(renderer)
        assert box.x0 >= room.x0 - 0.5
        assert box.x1 <= room.x1 + 0.5
        assert box.y0 >= room.y0 - 0.5
        assert box.y1 <= room.y1 + 0.5
    page = chart.bbox
    for label in [*chart.axes[0].get_xticklabels(), *chart.axes[0].get_yticklabels(), chart._suptitle]:
        box = label.get_window_extent(renderer)
        assert box.x0 >= page.x0
        assert box.y0 >= page.y0
        assert box.x1 <= page.x1 + 0.5
        assert box.y1 <= page.y1 + 0.5
    assert all(len(ratio_text(value)) <= 4 for value in np.geomspace(1e-6, 1e8, 500))


CALL = ["bench", "regret", "--envs", "drop", "pb1", "--horizons", "2e3", "--seeds", "0", "2"]


def test_the_command_prints_stores_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    call = [*CALL, "--policies", "ucb1", "exp3s(switches=truth)", "uniform", "--reference", "uniform"]
    assert cli.main(call) == 0
    told = capsys.readouterr().out
    assert told.startswith("T = 2,000: 2 environments, seeds 0 to 1 (for tuning)\n")
    for word in ("over best", "over uniform", "90 % interval", "exp3s(switches=truth)*", "drop", "q95", "ns per round"):
        assert word in told
    assert "* exp3s(switches=truth) is told more than the horizon: horizon, switches\n" in told
    assert told.endswith(f"picture: {Path('sigshift-regret', 'regret-2000.png')}\n")
    assert Path("sigshift-regret", "regret-2000.png").read_bytes().startswith(b"\x89PNG")
    assert cli.main(call) == 0
    assert capsys.readouterr().out == told  # nothing was played again, not even its time is another
    assert cli.main([*call, "--json", "--format", "svg"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pictures"] == [str(Path("sigshift-regret", "regret-2000.svg"))]
    (found,) = facts["horizons"]
    assert found["horizon"] == 2_000
    assert {row["policy"] for row in found["summary"]} == {"ucb1", "exp3s(switches=truth)", "uniform"}
    assert set(found["best"]) == {"drop", "pb1"}
    assert len(found["environments"]) == 6


def test_one_seed_has_no_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*CALL[:-1], "1", "--policies", "ucb1", "--json", "--no-plot"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pictures"] == []
    assert facts["horizons"][0]["environments"][0]["se"] is None


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_tables_fit_the_terminal(tmp_path, monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(tmp_path)
    assert cli.main([*CALL, "--policies", "ucb1", "exp3s(switches=truth)", "uniform", "meta", "--no-plot"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= width
    assert "..." not in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policies", "ucb1x"], "Did you mean 'ucb1'"),
        (["--policies", "ucb1", "--envs", "nowhere"], "must be one of the suite"),
        (["--policies", "ucb1", "--reference", "meta"], "reference must be one of"),
        (["--policies", "oracle"], "told nothing but the horizon"),
        (["--policies", "ucb1", "--seeds", "4999", "2"], "on one side of 5000"),
        (["--policies", "ucb1", "--seeds", "3"], "expected 2 arguments"),
        (["--policies", "ucb1", "--horizons", "10"], "horizons must be"),
        (["--policies", "ucb1", "--jobs", "0"], "jobs must be"),
    ],
)
def test_a_users_mistake_is_one_line(tmp_path, monkeypatch, capsys, arguments, told):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", "regret", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert told in said.err
    assert not list(tmp_path.iterdir())


def test_a_study_is_a_value():
    assert spec("ucb1", **SMALL) == spec("ucb1", **SMALL)
    assert isinstance(hash(spec("ucb1")), int)
    assert isinstance(spec("ucb1"), Spec)
