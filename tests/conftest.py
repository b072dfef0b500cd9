from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from seeds import pytest_terminal_summary
from transcripts import pytest_addoption, pytest_collect_file

from thawline.formats.registry import FORMATS

if TYPE_CHECKING:
    from workshop import Workshop

__all__ = ["pytest_addoption", "pytest_collect_file", "pytest_terminal_summary"]

ROOT = Path(__file__).parents[1]
if "THAWLINE_CACHE" not in os.environ:
    os.environ["THAWLINE_CACHE"] = tempfile.mkdtemp(prefix="thawline-cache-")  # of other processes, too
    atexit.register(shutil.rmtree, os.environ["THAWLINE_CACHE"], ignore_errors=True)


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Folder of the third-party vectors: $THAWLINE_VECTORS, else shared/vectors beside the project."""
    folder = Path(os.environ.get("THAWLINE_VECTORS", ROOT.parent / "shared" / "vectors"))
    if not folder.is_dir():
        pytest.skip(f"no third-party vectors at {folder}; set THAWLINE_VECTORS to their folder")
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """The kernels of the specs in tests/toys."""
    from workshop import opened  # noqa: PLC0415 - few tests need the compiler

    return opened(tmp_path_factory.mktemp("toys") / "specs")


@pytest.fixture(autouse=True)
def formats_of_thawline_alone() -> Iterator[None]:
    """A format that a test declares is gone after it: others read all golden files of all formats."""
    known = dict(FORMATS)
    yield
    FORMATS.clear()
    FORMATS.update(known)
