"""A format is one `.ksy` and one line: everything thawline does with files works for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time
from zlib import crc32

import pytest

import thawline
from thawline import formats
from thawline.errors import ThawlineError
from thawline.formats.declared import Declared
from thawline.ksy.documents import SpecError
from thawline.model import Finding, Run

SPEC = """
meta:
  id: toy_log
  title: Log of toys
  endian: le
  file-extension: toy
-columnar:
  rows: toys
seq:
  - id: magic
    contents: TOY!
  - id: len_body
    type: u2
    -columnar:
      column: false
  - id: body
    type: body
    size: len_body
types:
  body:
    seq:
      - id: count
        type: u4
      - id: name
        size: _io.size - 8
        -columnar:
          text: true
      - id: crc
        type: u4
    instances:
      crc_input:
        pos: 0
        size: _io.size - 4
        -overlay: true
        -columnar:
          checksum: crc32
"""


def unit(name: str, count: int) -> bytes:
    covered = count.to_bytes(4, "little") + name.encode()
    body = covered + crc32(covered).to_bytes(4, "little")
    return b"TOY!" + len(body).to_bytes(2, "little") + body


TOYS = [("bear", 1), ("train", 7), ("", 0), ("kite", 3)]
UNITS = [unit(name, count) for name, count in TOYS]
FILE = b"".join(UNITS)


@pytest.fixture
def toys(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "toy_log.ksy").write_text(SPEC, encoding="utf-8")
    made = formats.declare(tmp_path / "toy_log.ksy")  # the one line
    yield tmp_path
    del formats.FORMATS[made.name]


def rows(data: bytes | Path) -> list[tuple[str, int]]:
    with thawline.open(data) as cold:
        return [(row["name"], row["count"]) for batch in cold.batches() for row in batch.to_pylist()]


@pytest.mark.usefixtures("toys")
def test_one_spec_and_one_line_are_a_format() -> None:
    claim = thawline.identify(FILE)
    assert (claim.format, claim.confidence) == ("toy_log", "certain")
    assert rows(FILE) == TOYS
    report = thawline.verify(FILE)
    assert (report.ok, report.units, report.intact_bytes) == (True, 4, len(FILE))


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("at", range(len(UNITS[0]), len(UNITS[0] + UNITS[1])))
def test_a_flipped_byte_costs_one_unit(at: int) -> None:
    damaged = bytearray(FILE)
    damaged[at] ^= 0x55
    assert rows(bytes(damaged)) == [TOYS[0], *TOYS[2:]]
    (finding,) = thawline.verify(bytes(damaged)).findings
    assert (finding.span.start, finding.span.end) == (len(UNITS[0]), len(UNITS[0] + UNITS[1]))


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("size", range(1, len(FILE)))
def test_every_byte_of_a_cut_file_is_accounted_for(size: int) -> None:
    with thawline.open(FILE[:size], "toy_log") as cold:
        items = list(cold.scan())
    assert sum(item.span.size for item in items) == size
    assert [item.span.start for item in items[1:]] == [item.span.end for item in items[:-1]]
    assert sum(item.units for item in items if isinstance(item, Run)) == sum(
        size >= end for end in (len(b"".join(UNITS[: count + 1])) for count in range(4))
    )


def test_what_is_salvaged_is_intact(toys: Path) -> None:
    damaged = FILE[: len(UNITS[0])] + b"rubbish" + FILE[len(UNITS[0]) :]
    done = thawline.salvage(damaged, toys / "new.toy")
    assert ((toys / "new.toy").read_bytes(), len(done.lost)) == (FILE, 1)


def test_inspect_shows_the_values_of_a_unit(toys: Path) -> None:
    from thawline.verbs.inspect import inspect  # noqa: PLC0415 - not what the module is about

    (toys / "a.toy").write_bytes(FILE)
    with thawline.open(toys / "a.toy") as cold:
        shown = inspect(cold, unit=1)
    assert (shown.span.start, shown.span.end) == (len(UNITS[0]), len(UNITS[0] + UNITS[1]))
    assert 'name: "train"' in shown.notes
    assert "count: 7" in shown.notes


@pytest.mark.usefixtures("toys")
def test_units_that_nest_cost_time_that_grows_with_the_file_not_its_square() -> None:
    def spent(units: int) -> float:
        claim = b"TOY!" + (60_000).to_bytes(2, "little") + bytes(4)
        data = claim * units + bytes(70_000)
        start = process_time()
        with thawline.open(data, "toy_log") as cold:
            assert all(isinstance(item, Finding) for item in cold.scan())
        return process_time() - start

    spent(10)
    assert spent(4_000) < 40 * max(spent(400), 0.01)


def test_rows_that_only_an_import_states_are_refused_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "toy_log.ksy").write_text(SPEC, encoding="utf-8")
    bare = "meta:\n  id: bare\n  imports:\n    - toy_log\nseq:\n  - id: a\n    type: u1\n"
    (tmp_path / "bare.ksy").write_text(bare, encoding="utf-8")
    with pytest.raises(SpecError, match=r"bare\.ksy:1:1: no type has rows: mark one"):
        Declared.of(tmp_path / "bare.ksy")


def test_a_format_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "rbf.ksy").write_text(SPEC.replace("toy_log", "rbf"), encoding="utf-8")
    with pytest.raises(ThawlineError, match="a format is called 'rbf' already"):
        formats.declare(tmp_path / "rbf.ksy")
