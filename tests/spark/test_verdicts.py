"""The same file, one verdict: what `verify` calls damaged is damaged in the lake, and what is intact is intact."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pytest
from lakes import Alone

import thawline
from thawline.errors import UnknownFormat
from thawline.spark import pipeline
from tools.damage import damaged

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = [path for path in sorted(GOLDEN.rglob("*")) if path.is_file() and path.stat().st_size]


def verdict(file: Path) -> str:
    """What `verify` says of a file, as a status."""
    try:
        with thawline.open(file) as cold:
            return "intact" if cold.verify().ok else "damaged"
    except UnknownFormat:
        return "unknown"


def statuses(source: Path, lake: Path) -> dict[str, list[str]]:
    """The statuses of all files below a folder after one run."""
    pipeline.ingest(Alone(), [str(source)], lake)  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}
    for row in ds.dataset(lake / "files").to_table().to_pylist():
        found.setdefault(row["path"], []).append(row["status"])
    return found


@pytest.fixture(scope="module")
def taken_in(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The golden files, all of them in one run."""
    return statuses(GOLDEN, tmp_path_factory.mktemp("golden") / "lake")


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """Flipped golden files, each in a folder of its own, all of them in one run."""
    folder = tmp_path_factory.mktemp("harmed")
    for number, file in enumerate(FILES):
        place = folder / "cold" / str(number) / file.name
        place.parent.mkdir(parents=True)
        place.write_bytes(damaged(file.read_bytes(), "flip", number).data)
    return folder / "cold", statuses(folder / "cold", folder / "lake")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(GOLDEN)))
def test_a_lake_and_verify_agree_about_a_file(file: Path, taken_in: dict[str, list[str]]) -> None:
    assert taken_in[str(file)] == [verdict(file)]


@pytest.mark.parametrize("number", range(len(FILES)), ids=lambda number: str(FILES[number].relative_to(GOLDEN)))
def test_a_lake_and_verify_agree_about_a_file_with_a_flipped_bit(
    number: int, harmed: tuple[Path, dict[str, list[str]]]
) -> None:
    folder, found = harmed
    file = folder / str(number) / FILES[number].name
    assert found[str(file)] == [verdict(file)]
