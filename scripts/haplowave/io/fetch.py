"""Large files from the network: what was fetched before an interruption is kept."""

import hashlib
import os
import shutil
import urllib.error
import urllib.request
from pathlib import Path

from haplowave.errors import UserError

_TIMEOUT = 60  # seconds without a byte


def fetch(address: str, output: str | Path, md5: str | None = None) -> None:
    """Fetch `address` to `output`; the bytes wait in OUTPUT.part, where the next call goes on.

    md5: checksum that the file must have, in hexadecimal. Raises UserError with the reason.
    """
    output = Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(output.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    resumed, length = False, None
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            # a server that cannot resume sends everything again
            resumed = have > 0 and getattr(answer, "status", None) == 206
            with open(part, "ab" if resumed else "wb") as file:
                shutil.copyfileobj(answer, file, 1 << 20)
            length = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to fetch
            raise UserError(f"{address}: cannot be fetched ({error.code} {error.reason}); check the address") from error
    except OSError as error:
        raise UserError(f"{address}: cannot be fetched ({error}); check the network and start again, what is here is kept") from error
    expected = int(length) + (have if resumed else 0) if length else None
    if expected is not None and part.stat().st_size != expected:
        raise UserError(f"{address}: connection closed after {part.stat().st_size} of {expected} bytes; start again, what is here is kept")
    if md5 is not None and (found := _md5(part)) != md5.lower():
        part.unlink()
        raise UserError(f"{address}: has MD5 {found}, expected {md5}; start again")
    os.replace(part, output)


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
