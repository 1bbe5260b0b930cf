"""The command line, from outside: what it prints, what it refuses and how it ends. And the generated reference."""

import argparse
import functools
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sigshift as ss
from sigshift import cli, reference
from sigshift.demo import demo
from sigshift.policy import names
from sigshift.testing import write_skeleton

SIGSHIFT = [sys.executable, "-m", "sigshift"]
ROOT = Path(__file__).parents[1]
MEANS = np.array([[0.9, 0.1, 0.5]] * 200 + [[0.1, 0.9, 0.5]] * 200)
ARMS = ["red", "green", "blue"]
HEAVY = ("numpy", "numba", "pandas", "matplotlib", "pyarrow", "rich", "scipy")


def commands(parser, words=()):
    """(words, parser) of every command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield (*words, name), command
                yield from commands(command, (*words, name))


COMMANDS = dict(commands(cli.parser()))
EXAMPLES = [
    (words, line.strip()) for words, command in COMMANDS.items() for line in (command.epilog or "").splitlines()[1:]
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(MEANS, columns=ARMS)
    table.to_csv("means.csv", index=False)
    table.to_parquet("means.parquet")
    np.save("means.npy", MEANS)
    return tmp_path


def refused(capsys, *arguments):
    """The one line that these arguments get for an answer."""
    assert cli.main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("sigshift: ")
    return told.err


# Help.


def test_help_and_version_load_nothing_heavy():
    calls = [["--help"], ["--version"], [], *([*words, "--help"] for words in COMMANDS)]
    program = (
        "import json, sys; from sigshift.cli import main\n"
        f"codes = [main(call) for call in {calls!r}]\n"
        "print(json.dumps([codes, sorted(sys.modules)]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    codes, modules = json.loads(done.stderr)
    assert set(codes) == {0}
    assert not set(modules) & set(HEAVY)


def test_alone_it_prints_its_help(capsys):
    assert cli.main([]) == 0
    assert capsys.readouterr().out == cli.parser().format_help()


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"sigshift {ss.__version__}\n"


def test_every_command_has_an_example_of_itself():
    assert {words for words, _ in EXAMPLES} == set(COMMANDS)
    assert all(shlex.split(example)[: 1 + len(words)] == ["sigshift", *words] for words, example in EXAMPLES)


@pytest.mark.parametrize("example", [example for _, example in EXAMPLES])
def test_every_example_runs(folder, monkeypatch, capsys, example):
    if "new policy" not in example:
        write_skeleton("mine.py")
    monkeypatch.setattr("sigshift.demo.demo", functools.partial(demo, horizon=5_000))
    assert cli.main(shlex.split(example)[1:]) == 0
    assert capsys.readouterr().out


# Errors.


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["frob"], "invalid choice"),
        (["demo", "--runs", "many"], "must be a whole number"),
        (["demo", "--runs", "1.5"], "must be a whole number"),
        (["demo", "--runs", "inf"], "must be a whole number"),
        (["demo", "--runs", "0"], "runs must be a whole number of at least 1"),
        (["demo", "--seed", "-1"], "seed must be"),
        (["demo", "--out", "means.csv"], "out must be a folder"),
        (["demo", "--run", "3"], "unrecognized arguments"),
        (["new"], "required: KIND"),
        (["new", "study", "x"], "invalid choice"),
        (["new", "policy", "mine.txt"], "must end in .py"),
        (["new", "policy", "no/mine.py"], "folder"),
        (["check", "ucb11"], "Did you mean 'ucb1'"),
        (["check", "no.py"], "existing file"),
        (["bench", "--policies", "ucb1", "ucb1"], "distinct"),
        (["bench", "--policies", "sw_ucb(changes=truth)"], "policy must be told numbers here"),
        (["check", "sw_ucb(window=0)"], "window must be a whole number of at least 1"),
        (["bench", "--arms", "1"], "arms must be a whole number of at least 2"),
        (["bench", "--horizon", "0"], "horizon"),
        (["phases"], "required: FILE"),
        (["phases", "means.csv", "--plot", "x.png", "--no-plot"], "exclude each other"),
        (["phases", "means.csv", "--plot", "x.txt"], "must end in .pdf, .svg or .png"),
        (["phases", "means.csv", "--plot", "no/x.png"], "existing folder"),
    ],
)
def test_a_users_mistake_is_one_line_and_code_2(folder, capsys, arguments, told):
    assert told in refused(capsys, *arguments)


def test_a_policy_that_breaks_a_rule_is_a_users_mistake(folder, capsys):
    text = write_skeleton("mine.py").read_text(encoding="utf-8")
    Path("mine.py").write_text(text.replace("def select(p, s, t):\n", "def select(p, s, t):\n    return 0, 2.0\n"))
    assert "propensit" in refused(capsys, "check", "mine.py")


def test_a_policy_is_never_overwritten(folder, capsys):
    Path("mine.py").write_text("precious")
    refused(capsys, "new", "policy", "mine.py")
    assert Path("mine.py").read_text() == "precious"


def broken(*arguments, **options):
    raise ZeroDivisionError("seven\nlines")


def test_a_bug_of_ours_is_one_line_and_code_1(monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["sigshift.policy"], "policies", broken)
    assert cli.main(["policies"]) == 1
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert told.err.startswith("sigshift: this is our bug, not yours: ZeroDivisionError: seven lines.")
    assert "--debug" in told.err


@pytest.mark.parametrize("arguments", [["--debug", "policies"], ["policies", "--debug"]])
def test_debug_shows_the_traceback(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys.modules["sigshift.policy"], "policies", broken)
    assert cli.main(arguments) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (KeyboardInterrupt(), 130, "sigshift: stopped.\n"),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "sigshift: x.csv: Permission denied."),
        (OSError(28, "No space left on device"), 2, "sigshift: No space left on device."),
        (MemoryError("5 TiB"), 2, "sigshift: not enough memory: 5 TiB."),
    ],
)
def test_other_ends(monkeypatch, capsys, error, code, told):
    def fail(**_):
        raise error

    monkeypatch.setattr(sys.modules["sigshift.policy"], "policies", fail)
    assert cli.main(["policies"]) == code
    err = capsys.readouterr().err
    assert err.startswith(told)
    assert err.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes break elsewhere in other ways")
def test_a_broken_pipe_is_silent():
    with subprocess.Popen([*SIGSHIFT, "envs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_a_closed_output_is_nobodys_business(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["envs"]) == 0


# Tables.


def test_policies_and_envs_as_json(capsys):
    assert cli.main(["policies", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ss.policies().reset_index().to_dict("records")
    assert cli.main(["policies", "--absent", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ss.policies(absent=True).reset_index().to_dict("records")
    assert cli.main(["envs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ss.envs().to_dict("records")


def test_policies_and_envs_show_everything(capsys):
    for command, listed in (("policies", ss.policies().index), ("envs", ss.envs()["name"])):
        assert cli.main([command]) == 0
        assert set(listed) <= set(capsys.readouterr().out.splitlines())


def test_policies_end_with_those_that_are_not_given(capsys):
    assert cli.main(["policies"]) == 0
    given, _, missing = capsys.readouterr().out.partition("\nNot given:\n\n")
    assert not set(ss.policies(absent=True).index) & set(given.splitlines())
    assert cli.main(["policies", "--absent"]) == 0
    assert capsys.readouterr().out == missing
    assert set(ss.policies(absent=True).index) <= set(missing.splitlines())
    assert cli.main(["check", "arm_switch"]) == 2
    assert "is not given" in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80, 120])
def test_output_fits_the_terminal(folder, monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in (["policies"], ["envs"], ["phases", "means.csv", "--no-plot"], ["bench", "--runs", "1"]):
        assert cli.main(arguments) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= width


TOLD = {"uniform": "nothing", "ucb1": "nothing", "sw_ucb(window=9)": "horizon"}


def test_bench_as_json(capsys):
    call = [
        "bench",
        "--policies",
        "uniform",
        "ucb1",
        "sw_ucb(window=9)",
        "--horizon",
        "1e4",
        "--arms",
        "3",
        "--runs",
        "1",
    ]
    for flag in (["--json"], ["--output", "json"]):
        assert cli.main([*call, *flag]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["horizon"], told["arms"], told["runs"]) == (10_000, 3, 1)
        assert {row["policy"]: row["told"] for row in told["policies"]} == TOLD
        assert all(row["ns_per_round"] > 0 for row in told["policies"])
        assert {row["policy"]: row["over_ucb1"] for row in told["policies"]}["ucb1"] == 1.0
        assert told["load"] >= 0.0 < told["cores"]


def test_bench_plays_every_policy_in_turn_and_ucb1_to_compare(capsys):
    assert cli.main(["bench", "speed", "--horizon", "200", "--runs", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["policies"]
    assert sorted(row["policy"] for row in rows) == sorted(names())
    assert cli.main(["bench", "speed", "--policies", "oracle", "--horizon", "200", "--runs", "1"]) == 0
    said = capsys.readouterr().out
    assert "ucb1 " in said.splitlines()[1]
    assert said.splitlines()[-1].split()[0] == "oracle"
    assert said.splitlines()[-1].endswith("environment")


# Phases of a file.


def told_phases(capsys, file):
    assert cli.main(["phases", str(file), "--json"]) == 0
    told = capsys.readouterr()
    return json.loads(told.out), told.err


@pytest.mark.parametrize("suffix", ["csv", "npy", "parquet"])
def test_phases_are_those_of_the_library(folder, capsys, suffix):
    told, err = told_phases(capsys, f"means.{suffix}")
    assert err == ""
    names = ["0", "1", "2"] if suffix == "npy" else ARMS
    expected = {"file": f"means.{suffix}", "names": names, "picture": None, **ss.phases(MEANS).to_dict()}
    assert told == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("write", "names"),
    [
        (lambda table: table.to_csv("x.csv", index=False, header=False), ["0", "1", "2"]),
        (lambda table: table.to_csv("x.csv", index=False, sep=";"), ARMS),
        (lambda table: table.to_csv("x.csv", index=False, sep="\t"), ARMS),
        (lambda table: table.to_csv("x.csv", index=False, encoding="utf-8-sig"), ARMS),
        (lambda table: table.to_csv("x.csv", index=False, lineterminator="\r\n"), ARMS),
        (lambda table: table.set_axis(range(3), axis=1).to_csv("x.csv", index=False), ["0", "1", "2"]),
        (lambda table: Path("x.csv").write_text("\n" + table.to_csv(index=False)), ARMS),
        (lambda table: Path("x.csv").write_text(table.to_csv(index=False).rstrip()), ARMS),
        (
            lambda table: table.set_axis(["a b", '"q"', "c,d"], axis=1).to_csv("x.csv", index=False),
            ["a b", '"q"', "c,d"],
        ),
    ],
)
def test_every_form_of_csv_is_read(folder, capsys, write, names):
    write(pd.DataFrame(MEANS, columns=ARMS))
    told, err = told_phases(capsys, "x.csv")
    assert err == ""
    assert told["names"] == names
    assert told["starts"] == ss.phases(MEANS).starts.tolist()


@pytest.mark.parametrize("name", ["round", "t", "Time", "date", "index", None])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_first_column_that_counts_rounds_is_left_out_and_named(folder, capsys, name, suffix):
    table = pd.DataFrame(MEANS, columns=ARMS, index=pd.date_range("2020", periods=len(MEANS), name=name))
    if suffix == "csv":
        table.to_csv("x.csv")
    else:
        table.reset_index(names=name or "index").to_parquet("x.parquet")
    told, err = told_phases(capsys, f"x.{suffix}")
    assert told["names"] == ARMS
    assert told["starts"] == ss.phases(MEANS).starts.tolist()
    assert err.count("\n") == 1
    assert "left out" in err


def test_two_rows_of_zeros_and_ones_are_no_header(folder, capsys):
    Path("x.csv").write_text("0,1\n1,0\n")
    told, err = told_phases(capsys, "x.csv")
    assert told["horizon"] == 2
    assert err == ""


def test_zero_and_one_above_fractions_are_the_names_of_two_arms_and_that_is_said(folder, capsys):
    pd.DataFrame([[0.2, 0.9], [0.3, 0.8]]).to_csv("x.csv", index=False)
    told, err = told_phases(capsys, "x.csv")
    assert (told["horizon"], told["names"]) == (2, ["0", "1"])
    assert err == "x.csv: the first row, 0,1, is taken for the names of the arms.\n"


@pytest.mark.parametrize("name", ["when", None])
def test_the_index_of_a_data_frame_is_no_arm(folder, capsys, name):
    pd.DataFrame(MEANS, columns=ARMS, index=pd.Index(np.arange(400) + 7, name=name)).to_parquet("x.parquet")
    told, err = told_phases(capsys, "x.parquet")
    assert told["names"] == ARMS
    assert told["starts"] == ss.phases(MEANS).starts.tolist()
    assert err == f"x.parquet: the index, {name or '__index_level_0__'!r}, is left out.\n"


def test_whole_numbers_and_bools_are_means(folder, capsys):
    pd.DataFrame({"a": [0, 1] * 50, "b": [True, False] * 50}).to_parquet("x.parquet")
    told, _ = told_phases(capsys, "x.parquet")
    assert told["arms"] == 2


HEAD = "a,b,c\n" + ".1,.2,.3\n" * 5
BAD_CSV = {
    "": "is empty",
    "\n\n": "has no rows",
    "a,b\n": "has no rows of numbers",
    "a\n.1\n": "at least 2 arms",
    HEAD + ".1,.2\n": "Row #7: Expected 3 columns, got 2",
    HEAD + ".1,.2,.3,.4\n": "Row #7: Expected 3 columns, got 4",
    "a,b\n.1,.2,.3\n": "2 names in the header but 3 numbers in a row",
    HEAD + ".1,,.3\n": "(row 5, arm 1) must be finite numbers within [0, 1], but got nan. Fill or drop",
    HEAD + ".1,nan,.3\n": "but got nan. Fill or drop",
    HEAD + ".1,inf,.3\n": "but got inf. Fill or drop",
    HEAD + ".1,.2,1.5\n": "(row 5, arm 2) must be finite numbers within [0, 1], but got 1.5. Scale the means",
    HEAD + ".1,-.2,.5\n": "but got -0.2. Scale the means",
    HEAD + ".1,oops,.3\n": "column 'b' must hold numbers, but has 'oops' in row 5",
    ".1,oops\n.1,.2\n": "column '1' must hold numbers, but has 'oops' in row 0",
    "a,b\n0,5;0,3\n": "2 names in the header but 3 numbers in a row",
}


@pytest.mark.parametrize(("text", "told"), BAD_CSV.items())
def test_a_bad_csv_is_refused(folder, capsys, text, told):
    Path("x.csv").write_text(text)
    line = refused(capsys, "phases", "x.csv", "--no-plot")
    assert line.startswith("sigshift: x.csv: ")
    assert told in line


def bad_files(folder):
    (folder / "text.npy").write_bytes(b"hello")
    (folder / "text.parquet").write_bytes(b"hello, I am longer than a footer")
    (folder / "latin.csv").write_bytes("ä,b\n.1,.2\n".encode("latin-1"))
    (folder / "cut.npy").write_bytes((folder / "means.npy").read_bytes()[:-100])
    (folder / "head.npy").write_bytes((folder / "means.npy").read_bytes()[:20])
    (folder / "cut.parquet").write_bytes((folder / "means.parquet").read_bytes()[:-100])
    (folder / "means.txt").write_text("a,b\n.1,.2\n")
    (folder / "folder.csv").mkdir()
    np.save(folder / "objects.npy", np.array([[0.1, None]], dtype=object), allow_pickle=True)
    np.save(folder / "words.npy", np.array([["a", "b"]]))
    np.save(folder / "flat.npy", MEANS[:, 0])
    np.save(folder / "none.npy", MEANS[:0])
    np.save(folder / "one.npy", MEANS[:, :1])
    np.savez(folder / "several.npz", MEANS)
    (folder / "several.npz").rename(folder / "several.npy")
    pd.DataFrame({"a": [0.1], "when": pd.to_datetime(["2020"])}).to_parquet(folder / "late.parquet")
    pd.DataFrame({"a": [0.1, None], "b": [0.1, 0.2]}).to_parquet(folder / "gap.parquet")
    pd.DataFrame({"a": [[0.1]], "b": [[0.2]]}).to_parquet(folder / "nested.parquet")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("text.npy", "is not a .npy file"),
        ("text.parquet", "cannot be read as .parquet"),
        ("latin.csv", "is not UTF-8 text"),
        ("cut.npy", "cannot be read as .npy"),
        ("head.npy", "cannot be read as .npy"),
        ("cut.parquet", "cannot be read as .parquet"),
        ("means.txt", "must be a .csv, .npy or .parquet file"),
        ("folder.csv", "is a folder"),
        ("no.csv", "does not exist"),
        ("objects.npy", "cannot be read as .npy"),
        ("words.npy", "must be an array of numbers"),
        ("flat.npy", "must have two dimensions"),
        ("none.npy", "at least one round"),
        ("one.npy", "at least 2 arms"),
        ("several.npy", "holds several arrays"),
        ("late.parquet", "column 'when' must hold numbers"),
        ("gap.parquet", "(row 1, arm 0) must be finite numbers"),
        ("nested.parquet", "column 'a' must hold numbers"),
    ],
)
def test_a_bad_file_is_refused(folder, capsys, file, told):
    bad_files(folder)
    line = refused(capsys, "phases", file, "--no-plot")
    assert line.startswith(f"sigshift: {file}: ")
    assert told in line


def test_phases_prints_all_and_draws(folder, capsys):
    assert cli.main(["phases", "means.csv"]) == 0
    out = capsys.readouterr().out
    found = ss.phases(MEANS)
    assert out.startswith("means.csv: 3 arms, 400 rounds\narms: 0 red, 1 green, 2 blue\n\n")
    for fact in ("last safe arm", "red", "green", f"L~ {found.significant:6}", f"{found.rates()['phases']:,.1f}"):
        assert fact in out
    assert out.endswith("picture: means-phases.png\n")
    assert Path("means-phases.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_goes_where_it_is_told(folder, capsys):
    assert cli.main(["phases", "means.npy", "--plot", "there.svg"]) == 0
    assert Path("there.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert cli.main(["phases", "means.npy", "--no-plot"]) == 0
    assert "picture" not in capsys.readouterr().out.splitlines()[-1]
    assert not list(folder.glob("*.png"))


def test_many_phases_are_cut_and_counted(folder, capsys):
    np.save("x.npy", np.repeat(np.tile(np.eye(2), (60, 1)), 50, axis=0))
    assert cli.main(["phases", "x.npy", "--no-plot"]) == 0
    more = ss.phases(np.load("x.npy")).significant + 1 - cli.SHOWN_PHASES
    assert f"... and {more} more phases" in capsys.readouterr().out


# The reference.


def test_the_reference_is_up_to_date(capsys):
    assert reference.main(["--check", str(ROOT / reference.PLACE)]) == 0, capsys.readouterr().err


def test_the_reference_has_everything_and_is_always_the_same(monkeypatch):
    text = reference.reference()
    monkeypatch.setenv("COLUMNS", "200")
    assert reference.reference() == text
    for name in reference._names():
        assert f"### `ss.{name}`\n" in text
    for words in COMMANDS:
        assert f"### `sigshift {' '.join(words)}`\n" in text
    for name in [*ss.policies().index, *ss.policies(absent=True).index, *ss.envs()["name"]]:
        assert f"### `{name}`\n" in text
    assert ":func:" not in text
    assert "0x" not in text


def test_an_old_reference_is_noticed(tmp_path, capsys):
    page = tmp_path / "reference.md"
    assert reference.main(["--check", str(page)]) == 1
    assert reference.main([str(page)]) == 0
    assert reference.main(["--check", str(page)]) == 0
    page.write_text(page.read_text(encoding="utf-8") + "more", encoding="utf-8")
    assert reference.main(["--check", str(page)]) == 1
    assert "out of date" in capsys.readouterr().err
    assert reference.main([str(tmp_path / "no" / "page.md")]) == 2
