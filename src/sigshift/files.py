"""Writing files so that a reader never sees half of one: a draft beside it, synced, then put in its place."""

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from sigshift.checks import refuse


def file_path(path: str | os.PathLike[str]) -> Path:
    """The file that ``path`` names: ``~`` is the user's home, and a link stands for the file it points to."""
    try:
        return Path(os.path.realpath(Path(path).expanduser()))
    except (TypeError, ValueError, RuntimeError):
        raise refuse("path", "must be the name of a file", path, "Pass a text or a pathlib.Path.") from None


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object]) -> Path:
    """Let ``write`` fill a draft, then put it in the place of ``path``; on any failure the old file is untouched.

    A link stays and the file it points to is replaced; the new file has the permissions of the old one. If the
    process is killed in the middle its draft (``.name.*.draft``) stays behind and may be deleted.
    """
    target = file_path(path)
    _check_place(target, path)
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    draft = target.with_name(f".{target.name[:24]}.{secrets.token_hex(8)}.draft{target.suffix}")
    try:
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode))
            write(draft)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            if mode is not None:
                draft.chmod(mode)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, f"{error.strerror} (nothing was changed)", str(target)) from error
    _sync_folder(target.parent)
    return target


def _check_place(target: Path, path: object) -> None:
    if target.is_dir():
        raise refuse("path", "must be a file and not a folder", str(path), "Add a file name.")
    if target.exists() and not target.is_file():
        raise refuse("path", "must be a file and not a device or pipe", str(path), "Write to a file and send that.")
    if not target.parent.is_dir():
        raise refuse("path", "must be in an existing folder", str(path), "Make the folder first.")


def _sync_folder(folder: Path) -> None:
    """Make the new name last; the file is whole without it, and some file systems cannot."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
