"""``python -m sigshift.reference`` writes docs/reference.md from the code; ``--check`` says whether it is up to date.

All of it comes from docstrings, signatures as they are written, the tables of policies and environments, and the
help of every command. So what has no docstring cannot hide, and what the page says is what the code does.
"""

import argparse
import ast
import importlib
import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sigshift
from sigshift.checks import InvalidInput
from sigshift.cli import parser
from sigshift.environments import envs
from sigshift.files import write_atomically
from sigshift.policy import definition, policies

PLACE = Path("docs", "reference.md")
WIDTH = "80"  # of the commands' help
LONGEST = 100  # line of a signature

Definition = ast.FunctionDef | ast.ClassDef


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    options = _options(arguments)
    path = Path(options.path)
    text = reference()
    if not options.check:
        try:
            write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))
        except InvalidInput as error:
            print(f"sigshift.reference: {error}", file=sys.stderr)
            return 2
        print(f"{path}: written")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path} is out of date: run `python -m sigshift.reference`", file=sys.stderr)
    return 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = argparse.ArgumentParser(prog="python -m sigshift.reference", description=__doc__)
    made.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    made.add_argument("path", nargs="?", default=str(PLACE), help="the page (%(default)s)")
    return made.parse_args(arguments)


def reference() -> str:
    """The page, as Markdown."""
    parts = ["# Reference", "Written by `scripts/docs` from the code; do not edit.", *_contents()]
    parts += ["## Python", "Everything public is in `import sigshift as ss`. Rounds, arms and runs count from 0."]
    for name in _names():
        parts += _about(name)
    parts += ["## Policies", *_policy_sections(), "## Policies that are not given", *_absent_sections()]
    parts += ["## Environments", *_environment_sections()]
    parts += ["## Command line", *_command_sections()]
    return "\n\n".join(parts) + "\n"


def _contents() -> Iterator[str]:
    commands = [command.prog for command in _commands(parser())]
    anchors = _anchors([*(f"ss.{name}" for name in _names()), *commands])
    names = ", ".join(f"[`{name}`](#{anchors[f'ss.{name}']})" for name in _names())
    told = ", ".join(f"[`{command}`](#{anchors[command]})" for command in commands)
    sections = (
        f"[Python](#python): {names}",
        "[Policies](#policies), and [those that are not given](#policies-that-are-not-given)",
        "[Environments](#environments)",
        f"[Command line](#command-line): {told}",
    )
    yield "\n".join(f"- {section}" for section in sections)


def _anchors(headings: Sequence[str]) -> dict[str, str]:
    """The anchors that Markdown viewers make of headings: in lower case, numbered where they come again."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for heading in headings:
        plain = re.sub(r"[^a-z0-9_-]", "", heading.lower().replace(" ", "-"))
        found[heading] = plain if seen[plain] == 0 else f"{plain}-{seen[plain]}"
        seen[plain] += 1
    return found


def _names() -> list[str]:
    return [name for name in sigshift.__all__ if name != "__version__"]


# The public names.


def _about(name: str) -> Iterator[str]:
    value = getattr(sigshift, name)
    node = _definition(value)
    yield f"### `ss.{name}`"
    if isinstance(node, ast.ClassDef):
        yield from _class(name, value, node)
    else:
        yield _call(f"ss.{name}", node, bound=False)
        yield _text(value)


def _class(name: str, value: type, node: ast.ClassDef) -> Iterator[str]:
    maker = next((part for part in _methods(node) if part.name == "__init__"), None)
    if maker is not None:
        maker.returns = None
        yield _call(f"ss.{name}", maker, bound=True)
    yield _text(value)
    fields = list(_fields(node))
    if fields:
        yield "\n".join(fields)
    for part in _methods(node):
        if not part.name.startswith("_"):
            yield from _method(name, value, part)


def _method(name: str, owner: type, node: ast.FunctionDef) -> Iterator[str]:
    kinds = {ast.unparse(decorator) for decorator in node.decorator_list}
    text = _text(getattr(owner, node.name))
    if kinds & {"property", "cached_property", "functools.cached_property"}:
        kind = f": `{_kind(node.returns)}`" if node.returns else ""
        yield f"#### `{name}.{node.name}`{kind}"
    else:
        caller = f"ss.{name}" if kinds & {"classmethod", "staticmethod"} else name.lower()
        yield f"#### `{name}.{node.name}`"
        yield _call(f"{caller}.{node.name}", node, bound="staticmethod" not in kinds)
    yield text


def _definition(value: Any) -> Definition:
    """The definition of a class or function as it is written; one of them, however it is decorated."""
    module = importlib.import_module(value.__module__)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, Definition) and node.name == value.__name__:
            return node
    raise LookupError(f"{value.__name__} is not defined at the top level of {value.__module__}")


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (part for part in node.body if isinstance(part, ast.FunctionDef))


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """The annotated fields of a data class with the text below each of them."""
    for part, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and not part.target.id.startswith("_"):
            yield f"- `{part.target.id}: {_kind(part.annotation)}`{_note(following)}"


def _note(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return f": {_markdown(inspect.cleandoc(node.value.value))}".replace("\n", " ")
    return ""


def _call(caller: str, node: ast.FunctionDef, bound: bool) -> str:
    """A call as it is written in the definition, one argument per line if it is long."""
    arguments = list(_arguments(node.args))[1 if bound else 0 :]
    back = f" -> {_kind(node.returns)}" if node.returns else ""
    line = f"{caller}({', '.join(arguments)}){back}"
    if len(line) > LONGEST:
        line = "\n".join([f"{caller}(", *(f"    {one}," for one in arguments), f"){back}"])
    return _fenced("text", line)


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    required = [None] * (len(plain) - len(arguments.defaults))
    for argument, default in zip(plain, [*required, *arguments.defaults], strict=True):
        yield _argument(argument, default)
    if arguments.vararg:
        yield f"*{_argument(arguments.vararg, None)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(argument, default)
    if arguments.kwarg:
        yield f"**{_argument(arguments.kwarg, None)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_kind(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{kind}" + (f" = {_value(default)}" if default else "")


def _kind(node: ast.expr) -> str:
    """An annotation as text, without quotes around it."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _value(node: ast.expr) -> str:
    """A default as text, with the quotes that this project writes."""
    return f'"{node.value}"' if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}\n```"


def _text(value: Any) -> str:
    """A docstring as Markdown; what has none is an error."""
    text = inspect.getdoc(value)
    if not text:
        raise LookupError(f"{value!r} has no docstring")
    return _markdown(text)


def _markdown(text: str) -> str:
    """Literals in Markdown's way, examples fenced, and without the roles of other tools."""
    text = re.sub(r":[a-z]+:`", "`", text.replace("``", "`"))
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        starts, ends = line.startswith(">>>") and not inside, inside and not line.strip()
        if starts or ends:
            lines.append("```pycon" if starts else "```")
            inside = starts
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


# The tables, as sections.


def _policy_sections() -> Iterator[str]:
    for row in policies().reset_index().to_dict("records"):
        yield f"### `{row['policy']}`"
        algorithm = definition(row["policy"])
        for module in dict.fromkeys([algorithm, *getattr(algorithm, "FORMS", {}).values()]):
            yield _markdown(inspect.getdoc(module) or "")
        yield _listed(row, ("paper", "guarantee", "told", "parameters"))


def _absent_sections() -> Iterator[str]:
    yield "Each would be a stub or an invention under a paper's name; `ss.policies(absent=True)` has the same rows."
    for row in policies(absent=True).reset_index().to_dict("records"):
        yield f"### `{row['policy']}`"
        yield _listed(row, ("paper", "reason", "tried", "instead"))


def _environment_sections() -> Iterator[str]:
    for row in envs().to_dict("records"):
        yield f"### `{row['name']}`"
        yield row["shows"]
        size = {"size": f"{row['arms']} arms, {row['horizon']:,} rounds"}
        yield _listed({**row, **size}, ("source", "size", "parameters"))


def _listed(row: dict[Any, Any], parts: Sequence[str]) -> str:
    literal = ("parameters",)
    return "\n".join(
        f"- {part}: {f'`{row[part]}`' if part in literal and row[part] else row[part] or 'none'}" for part in parts
    )


# The commands.


def _commands(top: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser itself and those of all its commands, in order."""
    yield top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _commands(command)


def _command_sections() -> Iterator[str]:
    before = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS=WIDTH, NO_COLOR="1")
    try:
        for command in _commands(parser()):
            yield f"### `{command.prog}`"
            yield _fenced("text", command.format_help().rstrip())
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


if __name__ == "__main__":
    sys.exit(main())
