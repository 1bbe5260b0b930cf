"""Atomic writes: the old file or the new one, whole, whatever happens."""

import errno
import os
import resource
import stat
import threading
from pathlib import Path

import pytest

from sigshift.checks import InvalidInput
from sigshift.files import write_atomically


def put(path, text):
    return write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def content(folder):
    return {entry.name: entry.read_text() for entry in Path(folder).iterdir() if entry.is_file()}


def test_a_file_is_made_and_replaced(tmp_path):
    path = tmp_path / "a.json"
    assert put(path, "one") == path
    put(str(path), "two")
    assert content(tmp_path) == {"a.json": "two"}


def test_home_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    put("~/a.txt", "home")
    assert content(tmp_path) == {"a.txt": "home"}


def test_the_draft_has_the_suffix_by_which_writers_know_the_format(tmp_path):
    write_atomically(tmp_path / "a.png", lambda draft: draft.write_text(draft.suffix))
    assert content(tmp_path) == {"a.png": ".png"}


def test_long_names_will_do(tmp_path):
    for name in ["x" * 255, "é" * 127, "名" * 80 + ".json"]:
        put(tmp_path / name, "long")
        assert (tmp_path / name).read_text() == "long"


def test_the_mode_of_a_new_file_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        put(tmp_path / "new", "")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_the_mode_of_an_old_file_stays_and_no_draft_shows_more(tmp_path, mode):
    path = tmp_path / "old"
    path.write_text("")
    path.chmod(mode)
    seen = []

    def write(draft):
        seen.append(stat.S_IMODE(draft.stat().st_mode))
        draft.write_text("new")

    write_atomically(path, write)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert seen[0] & ~mode == 0


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "a").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real/a")
    put(link, "new")
    assert link.is_symlink()
    assert content(real) == {"a": "new"}
    dangling = tmp_path / "dangling"
    dangling.symlink_to("real/b")
    put(dangling, "more")
    assert dangling.is_symlink()
    assert content(real) == {"a": "new", "b": "more"}


def refusal(path, write=lambda draft: draft.write_text("new")):
    with pytest.raises(InvalidInput) as caught:
        write_atomically(path, write)
    return str(caught.value)


def test_what_is_no_place_for_a_file_is_refused(tmp_path):
    (tmp_path / "a").write_text("old")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "path must be a file and not a folder" in refusal(tmp_path)
    assert "path must be a file and not a folder" in refusal("")
    assert "path must be in an existing folder" in refusal(tmp_path / "none" / "a")
    assert "path must be in an existing folder" in refusal(tmp_path / "a" / "b")
    assert "path must be a file and not a device or pipe" in refusal(pipe)
    assert "path must be a file and not a device or pipe" in refusal("/dev/null")
    for odd in [None, 5, b"a", "a\0b", "~nobody-has-this-name/a"]:
        message = refusal(odd)
        assert "path must be the name of a file, but got" in message
        assert "Pass a text or a pathlib.Path." in message
    assert content(tmp_path) == {"a": "old"}
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_failing_writer_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    for error in [RuntimeError("mine"), KeyboardInterrupt(), OSError("without a number")]:

        def write(draft, error=error):
            draft.write_text("half")
            raise error

        with pytest.raises(type(error)) as caught:
            write_atomically(path, write)
        assert caught.value is error
        assert content(tmp_path) == {"a": "old"}


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_a_failing_disk_leaves_the_old_file_and_names_it(tmp_path, monkeypatch, call, number):
    path = tmp_path / "a"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(number, os.strerror(number), "a draft nobody knows")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError, match=r"nothing was changed") as caught:
            put(path, "new")
    assert caught.value.errno == number
    assert caught.value.filename == str(path)
    assert os.strerror(number) in str(caught.value)
    assert content(tmp_path) == {"a": "old"}


def test_a_full_disk_in_the_middle_of_the_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))  # a real write that stops half-way
        with pytest.raises(OSError, match="nothing was changed"):
            put(path, "x" * 50_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert content(tmp_path) == {"a": "old"}


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path, monkeypatch):
    sync, calls = os.fsync, []

    def only_files(handle):
        calls.append(handle)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "cannot sync a folder")
        sync(handle)

    monkeypatch.setattr(os, "fsync", only_files)
    put(tmp_path / "a", "new")
    assert len(calls) == 2
    assert content(tmp_path) == {"a": "new"}


def test_many_writers_leave_one_whole_file(tmp_path):
    path = tmp_path / "a"
    texts = [str(i) * 200_000 for i in range(4)]
    put(path, texts[0])
    stop = threading.Event()
    seen = set()

    def read():
        while not stop.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    writers = [threading.Thread(target=lambda text=text: [put(path, text) for _ in range(10)]) for text in texts]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert seen <= set(texts)
    assert content(tmp_path).keys() == {"a"}
