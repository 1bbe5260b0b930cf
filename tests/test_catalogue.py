"""The stored regrets of all policies, and the tables that the pages of the policies make of them."""

import re

import catalogue
import pandas as pd
import pytest

import sigshift as ss
from sigshift.report.heatmap import ratio_text
from sigshift.study import Store

PAGES = sorted(catalogue.PAGES.glob("*.md"))
SIZE = {"told": "nothing", "tuning_free": True, "restarts": 0.0, "se": 1.0}


@pytest.fixture(scope="module")
def results():
    return catalogue.Regrets(catalogue.stored())


def test_every_policy_has_a_family_and_its_page_names_it():
    families = {name: text.split() for name, text in catalogue.FAMILIES.items()}
    assert set(ss.policies().index) == {one for family in families.values() for one in family}
    for page, family in families.items():
        text = (catalogue.PAGES / f"{page}.md").read_text(encoding="utf-8")
        headings = " ".join(re.findall(r"^##+ (.+)$", text, re.MULTILINE))
        assert [one for one in family if f"`{one}`" not in headings] == [], page
        assert f"<!-- regret: family {page} -->" in text


def test_every_policy_is_in_the_file_with_every_problem():
    table = catalogue.stored()
    there = set(zip(table["policy"], table["environment"], table["horizon"], strict=True))
    wanted = {(cell.entrant.label, cell.environment, cell.horizon) for cell in catalogue.cells()}
    assert there == wanted
    assert len(table) == len(wanted)
    assert set(zip(table["first_seed"], table["seeds"], strict=True)) == {(5_000, 50)}


@pytest.mark.parametrize(
    ("name", "problem"), [("kl_ucb", "pb1"), ("sw_ts", "random-piecewise"), ("uniform", "rotting")]
)
def test_a_row_can_be_played_again(results, name, problem):
    regrets = []
    for seed in catalogue.SEEDS:
        own = {"seed": seed} if problem == "random-piecewise" else {}
        env = ss.env(problem, horizon=catalogue.HORIZON, **own)
        runs = ss.simulate(name, env, runs=1, seed=seed, jobs=1, checkpoints=1)
        regrets.append(runs.regret(name)[0, -1])
    assert results.mean.at[name, problem] == pytest.approx(pd.Series(regrets).mean(), abs=0.01)
    assert results.high.at[name, problem] == pytest.approx(pd.Series(regrets).quantile(0.95), abs=0.01)


def test_the_tables_are_up_to_date(capsys):
    assert catalogue.main(["--check"]) == 0, capsys.readouterr().err


def test_old_tables_are_noticed_and_written_anew(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    text = "A.\n<!-- regret: on pb1 of kl_ucb -->\nold\n<!-- end of regret -->\nB.\n"
    page.write_text(text, encoding="utf-8")
    monkeypatch.setattr(catalogue, "PAGES", tmp_path)
    assert catalogue.main(["--check"]) == 1
    assert "page.md has tables that are out of date" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == text
    assert catalogue.main(["--tables"]) == 0
    made = page.read_text(encoding="utf-8")
    assert "| `kl_ucb` | " in made
    assert "old" not in made
    assert made.startswith("A.\n")
    assert made.endswith("\nB.\n")
    assert catalogue.main(["--check"]) == 0


@pytest.mark.parametrize("what", ["on pb1 of no_such_policy", "on no-problem of kl_ucb", "family none", "nonsense"])
def test_a_table_that_cannot_be_made_is_an_error(results, what):
    with pytest.raises((KeyError, ValueError)):
        results.block(what)


def test_what_is_out_of_date_or_new_is_played(tmp_path, monkeypatch):
    chosen = [catalogue.entrant("ucb1"), catalogue.entrant("sw_ucb(changes=truth)")]
    monkeypatch.setattr(catalogue, "entrants", lambda: chosen[:1])
    monkeypatch.setattr(catalogue, "problems", lambda: ["pb1", "season", "rotting"])
    monkeypatch.setattr(catalogue, "SEEDS", range(5_000, 5_003))
    monkeypatch.setattr(catalogue, "HORIZON", 1_000)
    file, store = tmp_path / "file.csv", Store(tmp_path / "store")
    table = catalogue.play(file, store)
    assert table["environment"].tolist() == ["pb1", "season", "rotting"]
    assert catalogue.missing(catalogue.stored(file)) == []
    kept = file.read_text(encoding="utf-8").splitlines()

    monkeypatch.setattr(catalogue, "entrants", lambda: chosen)
    played = catalogue.play(file, Store(tmp_path / "another"))
    assert played["policy"].tolist() == ["ucb1"] * 3 + ["sw_ucb(changes=truth)"]  # nobody is told where all changes
    assert file.read_text(encoding="utf-8").splitlines()[:4] == kept
    assert [path.name[:6] for path in (tmp_path / "another").iterdir()] == ["sw_ucb"]

    older = file.read_text(encoding="utf-8").replace(played["policy_version"][0], "0" * 12)
    file.write_text(older, encoding="utf-8")
    assert {cell.entrant.label for cell in catalogue.missing(catalogue.stored(file))} == {"ucb1"}
    catalogue.play(file, store)
    assert file.read_text(encoding="utf-8").splitlines()[:4] == kept


def rows(*figures):
    keys = ("policy", "environment", "regret", "q95")
    return pd.DataFrame([{**SIZE, **dict(zip(keys, figure, strict=True))} for figure in figures])


def test_the_figures_of_a_table_by_hand():
    every = [name for group in catalogue.KINDS.values() for name in group]
    table = rows(
        *(("uniform", name, 1_000.0, 1_000.0) for name in every),
        *(("kl_ucb", name, 50.0, 61.4) for name in every),
        *(("mine", name, 200.0 if name == "pb1" else 5.0, 7.0) for name in every),
        *(("heidari", name, 1.0, 1.0) for name in every),
    )
    results = catalogue.Regrets(table)
    mine, uniform = results.summary(["mine", "uniform"]).splitlines()[2:]
    assert mine == f"| `mine` | nothing | 0.10 | 1.00 | {4 ** (1 / 6):.2f} | 1.00 | 1.00 | 4.00 (pb1) |"
    jumps = (20 * 100**5) ** (1 / 6)
    assert uniform == f"| `uniform` | nothing | 20 | 100 | {jumps:.0f} | 100 | 100 | 100 (stationary) |"
    lines = results.detail(["pb1", "pb2", "ctr"], ["mine", "kl_ucb"]).splitlines()
    assert lines[0] == "| policy | pb1 | pb2 | ctr, T = 200,000 |"
    assert lines[2] == "| `mine` | 200 (7.0) | 5.0 (7.0) | 5.0 (7.0) |"
    assert lines[-1] == "| least, tuning-free | 50 `kl_ucb` | 5.0 `mine` | 5.0 `mine` |"


def test_the_picture_shows_the_ratios(results, tmp_path):
    catalogue.draw(results, tmp_path / "picture.svg")
    words = re.findall(r"<!-- (.+?) -->", (tmp_path / "picture.svg").read_text(encoding="utf-8"))
    assert {label for label in catalogue.DRAWN if "(" not in label} <= set(words)  # the others are in two lines
    assert ratio_text(results.over.at["glr_kl_ucb", "season"]) in words


# What the pages say in words.

NOTHING, JUMPS, DRIFT, HARD = catalogue.KINDS.values()
CLAIMS = [
    (("stationary",), "thompson auto", "kl_ucb"),
    (("stationary",), "thompson kl_ucb", "adr_bandit ucbl_cpd cusum_ucb glr_kl_ucb sw_ts sw_kl_ucb d_ts d_ucb exp3s"),
    (JUMPS, "auto", "ucbl_cpd adr_bandit"),
    (JUMPS[1:], "auto", "ucbl_cpd adr_bandit pht_ucb"),
    (("pb1",), "ucbl_cpd pht_ucb", "auto"),
    (JUMPS, "ucbl_cpd adr_bandit", "pht_ucb cusum_ucb sw_ts sw_kl_ucb d_ts glr_kl_ucb kl_ucb exp3s"),
    (JUMPS, "pht_ucb cusum_ucb", "glr_kl_ucb"),
    (DRIFT[:-1], "auto sw_kl_ucb sw_ts ucbl_cpd", "glr_kl_ucb kl_ucb thompson tsallis_inf"),
    (("season",), "kl_ucb thompson tsallis_inf", "adr_bandit pht_ucb d_ts exp3s glr_kl_ucb ucbl_cpd sw_ts sw_kl_ucb"),
    (("season",), "kl_ucb adr_bandit pht_ucb", "auto"),
    (("season",), "auto", "d_ts exp3s glr_kl_ucb ucbl_cpd sw_ts sw_kl_ucb"),
    (("rotate",), "adr_bandit cusum_ucb ucb1", "auto"),
    (("rotate",), "auto", "kl_ucb glr_kl_ucb ucbl_cpd sw_ts"),
    (("rotate",), "adr_bandit cusum_ucb ucb1", "kl_ucb glr_kl_ucb ucbl_cpd sw_ts"),
    (("suite-riser",), "ucb1 sw_ts pht_ucb glr_kl_ucb auto", "kl_ucb thompson ucbl_cpd adr_bandit imp_cpd"),
    (("ctr",), "auto", "kl_ucb adr_bandit glr_kl_ucb"),
    (("ctr",), "kl_ucb adr_bandit glr_kl_ucb", "thompson ucb1 exp3s sw_kl_ucb ucbl_cpd tsallis_inf"),
    (("adversarial",), "d_kl_ucb", "glr_kl_ucb exp3s thompson tsallis_inf exp3"),
    (NOTHING + JUMPS + DRIFT + HARD, "auto", "meta"),
    (NOTHING + JUMPS + DRIFT + HARD, "meta", "ucbl_cpd adr_bandit pht_ucb cusum_ucb"),
    (NOTHING + JUMPS + DRIFT + HARD, "ucbl_cpd", "adr_bandit pht_ucb kl_ucb glr_kl_ucb exp3s uniform"),
    (NOTHING + JUMPS + DRIFT + HARD, "kl_ucb", "glr_kl_ucb"),
]


@pytest.mark.parametrize(("problems", "better", "worse"), CLAIMS)
def test_what_the_pages_say_holds(results, problems, better, worse):
    """By geometric means of ratios. Play has moved a figure? Then mend the sentence on docs/policies/which.md."""
    over = results.over[list(problems)].prod(axis=1) ** (1 / len(problems))
    assert over[better.split()].max() < over[worse.split()].min()


def test_what_the_pages_say_of_meta(results):
    """If this fails something better has come: mend what which.md and unknown-changes.md say of it."""
    every = [name for group in catalogue.KINDS.values() for name in group]
    share = results.mean.loc["meta(threshold='paper')", every] / results.mean.loc["uniform", every]
    assert 0.4 < share.min() < share.max() < 1.001
    over = results.over[every].prod(axis=1) ** (1 / len(every))
    assert over["meta"] / over["auto"] == pytest.approx(1.2, abs=0.05)
    assert 0.05 < (results.over.loc["meta", every] / results.over.loc["meta(threshold='paper')", every]).median() < 0.2
    for name in ("season", "rotate"):
        assert results.mean.at["meta", name] >= results.mean.at["auto", name]


def test_what_the_pages_say_of_auto(results):
    """Its lead and its weak sides. Play has moved a figure? Then mend which.md and unknown-changes.md."""
    auto = results.mean.loc["auto"]
    assert auto["season"] / results.mean.at["kl_ucb", "season"] == pytest.approx(8, abs=0.5)
    assert results.high.at["auto", "pb1"] / auto["pb1"] == pytest.approx(3, abs=0.3)
    assert results.mean.at["sw_kl_ucb", "trig"] < 0.5 * auto["trig"]
    worst = results.over.loc["auto", [name for group in catalogue.KINDS.values() for name in group]]
    assert worst.idxmax() == "season"
    assert worst.drop("season").max() < 2.7
    assert results.high.at["auto", "suite-riser"] < 0.3 * results.mean.at["uniform", "suite-riser"]


def test_what_the_pages_say_of_the_worst_cases(results):
    every = [name for group in catalogue.KINDS.values() for name in group]
    worst = results.over[every].max(axis=1)
    assert worst[["pht_ucb", "cusum_ucb", "adr_bandit"]].max() < 6
    never = 0.1 * results.mean.at["uniform", "suite-riser"]
    found = results.high["suite-riser"] < 3 * never
    assert found[["ucb1", "sw_ts", "pht_ucb", "glr_kl_ucb"]].all()
    assert not found[["kl_ucb", "thompson", "ucbl_cpd", "adr_bandit", "imp_cpd"]].any()
