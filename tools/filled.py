"""Fresh memory filled with the worst values, so that a read of a slot that was never written shows.

Memory from the system is zero, and most wrong reads of zeros are harmless; memory that the process reuses holds
anything. A plugin of pytest, which `tools.sanitize` uses: `THAWLINE_FILL=least pytest -p tools.filled`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

PATTERNS = {
    "least": bytes(7) + b"\x80",  # the most negative 64-bit integer, from which nothing can be subtracted
    "minus-one": b"\xff" * 8,
    "far": b"\x7f" * 8,
}
"""The repeated bytes, by name; numbers are little-endian."""

Allocate = Callable[..., pa.Buffer]


@contextmanager
def filled(name: str) -> Iterator[None]:
    """Fill every buffer that Arrow allocates with a pattern."""
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
    """Fill memory during the tests, if the environment says so."""
    if name := os.environ.get("THAWLINE_FILL"):
        filled(name).__enter__()
