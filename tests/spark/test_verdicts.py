"""The same file, one verdict: what `verify` calls damaged is damaged in the lake, and what is intact is intact."""

from __future__ import annotations

from pathlib import Path

import pytest
from lakes import Alone, table

import thawline
from thawline.cli import run
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
    for row in table(lake, "files"):
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


LOG = (GOLDEN / "rbf" / "many-frames.rbf").read_bytes()


@pytest.mark.parametrize(
    "files, links, code",
    [
        ({"a.rbf": LOG, "notes.txt": b"nothing of interest"}, {}, 0),
        ({"a.rbf": LOG[:-3], "notes.txt": b"nothing of interest"}, {}, 1),
        ({"a.rbf": LOG[:-3]}, {"link": "gone"}, 2),
        ({"a.rbf": LOG}, {"link": "link"}, 2),
        ({"a.rbf": LOG, "b.rbf": b"nothing of interest"}, {}, 3),
        ({"a.rbf": LOG, "empty.asb": b""}, {}, 1),
        ({"a.rbf": LOG, "empty.rbf": b""}, {}, 1),
        ({"notes.txt": b"nothing of interest"}, {}, 3),
    ],
)
def test_a_folder_has_the_exit_code_that_verify_gives_it(
    files: dict[str, bytes], links: dict[str, str], code: int, tmp_path: Path
) -> None:
    cold = tmp_path / "cold"
    cold.mkdir()
    for name, data in files.items():
        (cold / name).write_bytes(data)
    for name, target in links.items():
        (cold / name).symlink_to(target)
    assert run(["verify", "-q", str(cold)]) == code
    for _ in range(2):
        assert pipeline.ingest(Alone(), [str(cold)], tmp_path / "lake").exit_code == code  # type: ignore[arg-type]
