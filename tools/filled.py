"""Fresh memory that holds the worst that memory can hold, so that whoever reads a slot that was never written is seen.

What a process gets from the system is zeros, and most wrong reads of those are harmless; what it gets back from itself
is anything. A plugin of pytest, which `tools.sanitize` uses: `THAWLINE_FILL=least pytest -p tools.filled`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

PATTERNS = {
    "least": bytes(7) + b"\x80",  # the most negative number of 64 bits, from which nothing can be taken away
    "minus-one": b"\xff" * 8,
    "far": b"\x7f" * 8,
}
"""What is repeated, by its name; numbers are little-endian."""

Allocate = Callable[..., pa.Buffer]


@contextmanager
def filled(name: str) -> Iterator[None]:
    """Let every buffer of Arrow's start with a pattern in it."""
    plain = pa.allocate_buffer
    pa.allocate_buffer = _filling(plain, PATTERNS[name])
    try:
        yield
    finally:
        pa.allocate_buffer = plain


def _filling(allocate: Allocate, pattern: bytes) -> Allocate:
    def allocated(size: int, *arguments: object, **options: object) -> pa.Buffer:
        buffer = allocate(size, *arguments, **options)
        memoryview(buffer).cast("B")[:] = (pattern * (size // len(pattern) + 1))[:size]
        return buffer

    return allocated


def pytest_configure() -> None:
    """Fill memory for the length of the tests, if the environment asks for it."""
    if name := os.environ.get("THAWLINE_FILL"):
        filled(name).__enter__()
