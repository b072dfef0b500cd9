"""A file that breaks a promise, made as small as it gets quickly while it still does."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tools.fuzz.judging import broken, kind_of

SECONDS = 20.0


def shrunk(format_name: str, data: bytes, what: str) -> bytes:
    """The data without those stretches that it breaks the same promise without."""
    end, size = time.monotonic() + SECONDS, len(data) // 2
    with tempfile.TemporaryDirectory() as folder:
        while size and time.monotonic() < end:
            at = 0
            while at < len(data) and time.monotonic() < end:
                shorter = data[:at] + data[at + size :]
                if kind_of(broken(format_name, shorter, Path(folder))) == kind_of(what):
                    data = shorter
                else:
                    at += size
            size //= 2
    return data
