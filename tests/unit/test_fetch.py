"""Fetching, against a server of its own: whole, resumed, refused."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from haplowave.errors import UserError
from haplowave.io.fetch import fetch

CONTENT = bytes(range(256)) * 50


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        resumes = self.path != "/old"
        if self.path == "/none":
            self.send_error(404)
            return
        body = CONTENT[start:] if resumes else CONTENT
        self.send_response(206 if start and resumes else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{service.server_port}"
        service.shutdown()


def test_whole_file(server: str, tmp_path: Path) -> None:
    fetch(f"{server}/x", tmp_path / "new" / "x.bam")
    assert (tmp_path / "new" / "x.bam").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.bam"]


@pytest.mark.parametrize("path", ["x", "old"])
def test_goes_on_where_it_stopped(server: str, tmp_path: Path, path: str) -> None:
    (tmp_path / "x.bam.part").write_bytes(CONTENT[:1000])
    fetch(f"{server}/{path}", tmp_path / "x.bam")
    assert (tmp_path / "x.bam").read_bytes() == CONTENT


def test_checksum(server: str, tmp_path: Path) -> None:
    fetch(f"{server}/x", tmp_path / "x.bam", hashlib.md5(CONTENT).hexdigest())
    with pytest.raises(UserError, match=r"has MD5 .*, expected 00; start again"):
        fetch(f"{server}/x", tmp_path / "y.bam", "00")
    assert [path.name for path in tmp_path.iterdir()] == ["x.bam"]


def test_a_broken_connection_keeps_what_is_here(server: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="start again, what is here is kept"):
        fetch(f"{server}/cut", tmp_path / "x.bam")
    assert not (tmp_path / "x.bam").exists()
    fetch(f"{server}/x", tmp_path / "x.bam")
    assert (tmp_path / "x.bam").read_bytes() == CONTENT


def test_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="404"):
        fetch(f"{server}/none", tmp_path / "x.bam")
    with pytest.raises(UserError, match="cannot be fetched"):
        fetch("http://127.0.0.1:9/x", tmp_path / "x.bam")
