"""Outputs that appear complete or not at all, and never in place of something that is no file."""

import os
import stat
import threading

import pytest

from haplowave.files import atomic_path


def test_file_appears_when_complete(tmp_path):
    target = tmp_path / "folder" / "out.txt"
    with atomic_path(target) as temporary:
        temporary.write_text("done")
        assert not target.exists()
    assert target.read_text() == "done"
    assert [entry.name for entry in target.parent.iterdir()] == ["out.txt"]


def test_failure_leaves_the_old_file(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def fail():
        with atomic_path(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_pipe_is_written_to_not_replaced(tmp_path):
    """What holds for a pipe holds for /dev/null: as root, a rename would have put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with atomic_path(pipe) as path:
        assert path == pipe
        path.write_text("through")
    reader.join(10)
    assert received == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
