"""The docs are true: every block runs, every link leads somewhere, and what the theory page names is there."""

import ast
import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

import sigshift as ss
from sigshift.cli import main, parser
from sigshift.policy import names

ROOT = Path(__file__).parents[1]
GENERATED = "reference.md"  # its examples are those of the docstrings
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != GENERATED)]
LINKED = [*PAGES, ROOT / "docs" / GENERATED, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w+)[^\n]*\n(?P<text>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
OWN_ENDING = {"demo": ["--runs", "1"]}  # one run is enough to see that it works


class Block(NamedTuple):
    kind: str
    text: str
    line: int  # of the page, where the text begins


def blocks(page):
    """The fenced blocks of a page that say what language they are in."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        lines = found["text"].splitlines(keepends=True)
        plain = "".join(line.removeprefix(found["indent"]) for line in lines)
        yield Block(found["kind"], plain, text.count("\n", 0, found.start("text")) + 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page, tmp_path, monkeypatch):
    """In order, with one namespace for each page, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__docs__"}
    for block in blocks(page):
        if block.kind == "python" and ">>>" in block.text:
            run_session(page, block, space)
        elif block.kind == "python":
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), space)
        elif block.kind == "console":
            run_commands(page, block)


@pytest.mark.parametrize("module", sorted(found.name for found in pkgutil.walk_packages(ss.__path__, "sigshift.")))
def test_every_docstring_runs(module, tmp_path, monkeypatch):
    """The examples of the reference."""
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        result = doctest.testmod(importlib.import_module(module), optionflags=FLAGS)
    assert result.failed == 0, said.getvalue()


def run_session(page, block, space):
    """A block with prompts shows what Python says."""
    session = doctest.DocTestParser().get_doctest(block.text, space, page.name, str(page), block.line - 1)
    said = io.StringIO()
    result = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(session, out=said.write, clear_globs=False)
    assert result.failed == 0, said.getvalue()
    space.update(session.globs)


def run_commands(page, block):
    """A block of the console: `$ sigshift ...` is run. What is shown below it, if anything, is what it prints."""
    pieces = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not pieces[0].strip(), f"{page.name}, line {block.line}: a console block begins with a command"
    for piece in pieces[1:]:
        command, _, shown = piece.partition("\n")
        words = shlex.split(command, comments=True)
        if words[:1] != ["sigshift"]:
            continue
        ending = OWN_ENDING.get(words[1], []) if len(words) > 1 else []
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main([*words[1:], *ending])
        where = f"{page.name}, line {block.line}: {command}\n{said.getvalue()}"
        assert code == (2 if shown.startswith("sigshift:") else 0), where
        if shown.strip() and not ending:
            assert doctest.OutputChecker().check_output(shown, said.getvalue(), FLAGS), where


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        place, _, anchor = target.partition("#")
        goal = (page.parent / place).resolve() if place else page
        assert goal.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(goal), f"{page.name} links to {target}"


def anchors(page):
    """The anchors that viewers of Markdown make of the headings."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.append(f"{plain}-{found.count(plain)}" if plain in found else plain)
    return found


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / GENERATED).read_text(encoding="utf-8")
    commands = next(action for action in parser()._actions if action.choices and action.dest != "help").choices
    wanted = [f"ss.{name}" for name in ss.__all__ if name != "__version__"]
    wanted += [f"sigshift {command}" for command in commands]
    wanted += [*names(), *ss.envs()["name"]]
    assert [name for name in wanted if f"`{name}`" not in text] == []


# The table of the theory page.

STATEMENTS = [
    *(f"Definition {i}" for i in range(1, 8)),
    *(f"Proposition {i}" for i in range(1, 6)),
    *(f"Lemma {i}" for i in range(1, 5)),
    "Theorem 1",
    *(f"Corollary {i}" for i in range(1, 4)),
    "Remark 1",
    *(f"Algorithm 1, line {i}" for i in range(1, 9)),
    *(f"Algorithm 2, line {i}" for i in range(1, 14)),
    "Figure 1",
    "Figure 2",
]
CODE, TEST = re.compile(r"`([a-z_]+(?:\.\w+)+)`"), re.compile(r"`(test_\w+\.py)::(\w+)`")


def theory_rows():
    """The rows (statement, what computes it, what checks it) of the tables with that head."""
    inside = False
    for line in (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| statement |"):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not set(line) <= set("|-: "):
            assert len(cells) == 3, line
            yield cells


def test_the_theory_page_has_every_statement_of_the_paper():
    heads = [cells[0] for cells in theory_rows()]
    for statement in STATEMENTS:
        assert any(re.match(rf"{statement}(?!\d)", head) for head in heads), statement


def test_all_that_the_theory_page_names_is_there():
    functions = {path.name: set(list_of_tests(path)) for path in (ROOT / "tests").glob("test_*.py")}
    named = 0
    for statement, computed, checked in theory_rows():
        for name in CODE.findall(computed):
            assert found(name), f"{statement}: {name}"
            named += 1
        for file, test in TEST.findall(checked):
            assert test in functions.get(file, ()), f"{statement}: {file}::{test}"
            named += 1
        assert TEST.search(checked) or "only proof" in checked or "convention" in checked, statement
    assert named > 60


def list_of_tests(path):
    """The tests of a file, by their names; they need not be importable here."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name


def found(name):
    """Whether a dotted name (``ss.`` is short for the package) leads to a module, a function, a class or a field."""
    parts = re.sub(r"^ss\.", "sigshift.", name).split(".")
    for count in range(len(parts), 0, -1):
        with contextlib.suppress(ImportError):
            thing = importlib.import_module(".".join(parts[:count]))
            break
    for part in parts[count:]:
        if part in getattr(thing, "__annotations__", {}):
            return True
        if not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return True
