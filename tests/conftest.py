from __future__ import annotations

import os
from pathlib import Path

import pytest
from seeds import pytest_terminal_summary
from transcripts import pytest_addoption, pytest_collect_file

__all__ = ["pytest_addoption", "pytest_collect_file", "pytest_terminal_summary"]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Folder of the third-party vectors: $THAWLINE_VECTORS, else shared/vectors beside the project."""
    folder = Path(os.environ.get("THAWLINE_VECTORS", ROOT.parent / "shared" / "vectors"))
    if not folder.is_dir():
        pytest.skip(f"no third-party vectors at {folder}; set THAWLINE_VECTORS to their folder")
    return folder
