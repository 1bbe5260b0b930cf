"""One compiled, cached loop for each policy.

A generic loop over (select, update) never hits numba's cache in a second process; a cached function that is
given a user's types poisons its index for everybody. So the text of :mod:`sigshift.loop` is copied with its
one import pointed at the policy, into a file whose name holds the hash of everything the result depends on:
an edit anywhere makes another file, and a policy's types live in that policy's file only.
"""

import ast
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sigshift.checks import InvalidInput

POLICY_LINE = "from sigshift.policies.ucb1 import select, update  # policy\n"
CROWDED = "@kernel\ndef crowded(p, s):  # replaced where the policy's state can grow\n    return False\n"
CACHED = "from sigshift.kernel import cached_kernel as entry\n"
UNCACHED = "from sigshift.kernel import kernel as entry\n"
KEPT_DAYS = 60
CARD = ("PAPER", "GUARANTEE", "TOLD")
NOISE = ("Failed in", "During", "raised from", "-", "There are", ">>>")


class Compiled(NamedTuple):
    """The entry points of one policy's loop."""

    ask: Callable[..., Any]
    tell: Callable[..., Any]
    play: Callable[..., Any]
    play_rested: Callable[..., Any]
    crowded: Callable[..., Any] | None


@functools.cache
def specialise(module: ModuleType) -> Compiled:
    """The compiled loop of the policy in ``module``, from the cache folder where that is possible."""
    origin = getattr(module, "__file__", None)
    loop = None
    if origin is not None and sys.modules.get(module.__name__) is module:
        loop = _cached_loop(module, Path(origin))
    if loop is None:
        loop = ModuleType(f"sigshift_loop_{module.__name__}")
        loop.__dict__["__policy__"] = module
        exec(compile(_text(module, UNCACHED), f"<loop of {module.__name__}>", "exec"), loop.__dict__)
    crowded = getattr(module, "crowded", None)
    return Compiled(loop.ask, loop.tell, loop.play, loop.play_rested, getattr(crowded, "py_func", crowded))


@contextlib.contextmanager
def explained(stem: str) -> Iterator[None]:
    """Say in a few words what numba says in a hundred lines when a policy does not compile."""
    from numba.core.errors import NumbaError

    try:
        yield
    except NumbaError as error:
        text = str(error)
        said = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(NOISE)]
        places = re.findall(r'at (\S+) \((\d+)\)|File "([^"]+)", line (\d+)', text)
        lines = [f"{file or other}, line {n or m}" for file, n, other, m in places]
        where = next((line for line in lines if f"{stem}.py," in line), "its functions")
        allocates = "NRT required" in text or "returning of array passed" in text
        cure = (
            "Mark the function with allocating_kernel" if allocates else "docs/own-policy.md says what kernels may do"
        )
        message = f"policy {stem!r} must compile, but in {where} numba says: {said[0] if said else error} {cure}."
        raise InvalidInput(message) from error


def bound(function: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of the types of these examples, and no others.

    Calling it saves numba's look at the type of every argument, which for a large state takes six times as long as
    the call itself.
    """
    if not hasattr(function, "overloads"):  # the JIT is off
        return function
    import numba

    types = tuple(numba.typeof(example) for example in examples)  # type: ignore[no-untyped-call]
    function.compile(types)  # type: ignore[attr-defined]
    code: Callable[..., Any] = function.overloads[types].entry_point
    return code


def cache_folder() -> Path:
    """Where compiled loops are kept: ``SIGSHIFT_CACHE`` or the user's cache folder."""
    named = os.environ.get("SIGSHIFT_CACHE")
    if named:
        return Path(named)
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home())
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sigshift"


def fingerprint(files: list[Path]) -> str:
    """A hash of the files' contents and of the versions that compile them."""
    import numba
    import numpy as np

    digest = hashlib.sha256(repr((sys.version, numba.__version__, np.__version__)).encode())
    for path in files:
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:20]


def essence(files: Iterable[Path]) -> str:
    """A hash of what the files do: of their code without comments, docstrings, layout and what cards say of it."""
    found = sorted(_essence(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return hashlib.sha256(" ".join(found).encode()).hexdigest()


@functools.cache
def _essence(path: Path, changed: int, size: int) -> str:
    """That of one file, as it is now."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _said(part)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _said(node: ast.stmt) -> bool:
    """Whether a statement only tells a reader something."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in CARD


def dependencies(root: Path, folder: Path | None = None) -> list[Path]:
    """``root`` and every file it imports, however indirectly, that is sigshift's or the user's own."""
    found: dict[Path, None] = {}
    waiting = [root.resolve()]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        waiting += [other for other in _imported(path, folder) if other not in found]
    return sorted(found)


def _cached_loop(module: ModuleType, origin: Path) -> ModuleType | None:
    files = dependencies(origin, origin.parent) + loop_files()
    return _placed(module.__name__.rsplit(".", 1)[-1], files, _text(module, CACHED))


@functools.cache
def loop_files() -> list[Path]:
    """What the loop depends on besides the policy; the one that it is written with is only a stand-in."""
    files = dependencies(Path(__file__).parent / "loop.py")
    return [path for path in files if path.parent.name != "policies"]


@functools.cache
def fresh(name: str) -> ModuleType:
    """A module of cached kernels under a name that holds the hash of all it depends on.

    By itself numba looks at the time of that one file only, and serves stale code after an edit in another.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"no module {name}")
    origin = Path(spec.origin)
    text = origin.read_text(encoding="utf-8")
    return _placed(origin.stem, dependencies(origin), text) or importlib.import_module(name)


def _placed(stem: str, files: list[Path], text: str) -> ModuleType | None:
    """The module of this text, kept in the cache folder; None where there is no folder to write in."""
    name = f"sigshift_{stem}_{fingerprint(files)}"
    try:
        path = _place(cache_folder(), f"{name}.py", text)
    except OSError:
        return None
    return sys.modules.get(name) or load_file(name, path)


def load_text(stem: str, files: list[Path], text: str) -> ModuleType:
    """A module of this text, which depends on these files: from the cache folder, or in memory if there is none."""
    module = _placed(stem, files, text)
    if module is None:
        module = ModuleType(f"sigshift_{stem}_{fingerprint(files)}")
        sys.modules[module.__name__] = module
        exec(compile(text, f"<{stem}>", "exec"), module.__dict__)
    return module


def load_file(name: str, path: Path) -> ModuleType:
    """Run a Python file as the module of that name, which later imports find."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _text(module: ModuleType, entry: str) -> str:
    text = (Path(__file__).parent / "loop.py").read_text(encoding="utf-8")
    grows = hasattr(module, "crowded")
    names = "select, update" + (", crowded" if grows else "")
    in_memory = entry == UNCACHED
    source = "\n".join(f"{n} = __policy__.{n}" for n in names.split(", ")) if in_memory else ""
    source = source or f"from {module.__name__} import {names}"
    changes = [(POLICY_LINE, source + "\n"), (CACHED, entry)] + [(CROWDED, "")] * grows
    for old, new in changes:
        if text.count(old) != 1:
            raise RuntimeError(f"loop.py has lost the line {old!r} that specialise() replaces.")
        text = text.replace(old, new)
    return text


def _place(folder: Path, name: str, text: str) -> Path:
    """Write the file unless it is there; of several that race, the first one's file stays, if it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if path.exists() and path.read_bytes() != text.encode():  # left half-written by a machine that went down
        path.unlink()
    if not path.exists():
        _prune(folder)
        handle, draft = tempfile.mkstemp(dir=folder, suffix=".draft")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                os.replace(draft, path)
                return path
        finally:
            if os.path.exists(draft):
                os.unlink(draft)
    return path


def _prune(folder: Path) -> None:
    """Forget modules (and their machine code) that nobody has used for a long time."""
    oldest = time.time() - KEPT_DAYS * 86400
    for path in [*folder.glob("sigshift_*"), *folder.glob("__pycache__/sigshift_*")]:
        try:
            status = path.stat()
            if max(status.st_atime, status.st_mtime) < oldest:
                path.unlink()
        except OSError:
            continue


def _imported(path: Path, folder: Path | None) -> Iterator[Path]:
    if path.suffix != ".py":
        return
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            origin = _origin(name, str(folder) if folder else "")
            if origin is not None:
                yield origin


@functools.cache
def _origin(name: str, folder: str) -> Path | None:
    """The file of a module if it is sigshift's or the user's own, not the standard library's or installed."""
    if folder and not name.startswith("sigshift"):
        beside = Path(folder, *name.split("."))
        for path in (beside.with_suffix(".py"), beside / "__init__.py"):
            if path.exists():
                return path.resolve()
    top = name.split(".")[0]
    if top in sys.stdlib_module_names or top in ("numpy", "numba"):
        return None
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin).resolve()
    installed = [Path(sysconfig.get_path(key)).resolve() for key in ("purelib", "platlib")]
    if top != "sigshift" and any(path.is_relative_to(place) for place in installed):
        return None
    return path
