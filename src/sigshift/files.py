"""Writing files so that a reader never sees half of one: a draft beside it, synced, then put in its place."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from sigshift.checks import InvalidInput


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object]) -> Path:
    """Let ``write`` fill a draft, then put it in the place of ``path``; on any failure the old file is untouched."""
    target = Path(path).expanduser()
    if target.is_dir():
        raise InvalidInput(f"path must be a file, but {str(target)!r} is a folder. Add a file name.")
    if not target.parent.is_dir():
        raise InvalidInput(f"path must be in an existing folder, but got {str(target)!r}. Make the folder first.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=f".draft{target.suffix}")
    os.close(handle)
    draft = Path(name)
    try:
        write(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        draft.chmod(mode)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
