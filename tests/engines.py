"""The two ways to read: with the extension module, and without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from unittest.mock import patch

from thawline import native
from thawline.native import plain


@contextmanager
def plainly() -> Iterator[None]:
    """Read as an installation does that has no extension module."""
    with patch.object(native, "is_compiled", new=False), calling(plain):
        yield


@contextmanager
def calling(functions: object | ModuleType) -> Iterator[None]:
    """Let everything that is compiled be called from somewhere else."""
    with patch.object(native, "functions", functions):
        yield
