"""`-sync`: what a unit is found by after damage is what its spec says, and costs no more than linear time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import process_time
from zlib import crc32

import pytest
from accounts import golden_files
from engines import plainly
from thawline.generated.kernels.tables import SYNCS, TABLES

import thawline
from thawline import formats
from thawline.compiler.loading import imported, probed
from thawline.engine import columns
from thawline.engine.chunks import Chunk, Ranges
from thawline.engine.starts import NO_BOUNDS, Starts
from thawline.ksy.documents import SpecError
from tools import mutants

SPEC = """
meta:
  id: note_log
  endian: be
-columnar:
  rows: notes
-sync:
{sync}
seq:
  - id: number
    type: u2
    valid:
      max: 999
  - id: kind
    type: u1
    valid: 7
  - id: len_body
    type: u1
  - id: body
    type: body
    size: len_body
types:
  body:
    seq:
      - id: color
        type: u1
        valid:
          max: 2
      - id: crc
        type: u4
      - id: text
        size-eos: true
    instances:
      crc_input:
        pos: 5
        size-eos: true
        -overlay: true
        -columnar:
          checksum: crc32
"""


def note(number: int, text: bytes, color: int = 0, kind: int = 7) -> bytes:
    body = bytes([color]) + crc32(text).to_bytes(4, "big") + text
    return number.to_bytes(2, "big") + bytes([kind, len(body)]) + body


def starts_in(
    tmp_path: Path, data: bytes, *sync: str, is_proven: bool = False, bounds: tuple[int, int] = NO_BOUNDS
) -> list[int]:
    (tmp_path / "note_log.ksy").write_text(SPEC.format(sync="\n".join(f"  {line}" for line in sync)), encoding="utf-8")
    found = probed("notes", imported(tmp_path / "note_log.ksy"))
    starts = Starts(found, memoryview(data), is_proven=is_proven, bounds=bounds)
    return [at for at, _ in starts.within(0, len(data))]


GARBAGE = b"\xff\xff\xff"
DATA = GARBAGE + note(1, b"one") + GARBAGE + note(2000, b"two") + note(3, b"three", color=9)
ONE, TWO, THREE = 3, 18, 30


@pytest.mark.parametrize(
    ("sync", "found"),
    [
        (["magic: kind"], [ONE]),
        (["magic: kind", "plausible: []"], [ONE, TWO, THREE]),
        (["magic: kind", "plausible: [number]"], [ONE, THREE]),
        (["magic: kind", "plausible: [body.color]"], [ONE, TWO]),
        (["magic: kind", "plausible: [number > 999]"], [TWO]),
        (["magic: kind", "plausible: [body.color < 9 and number < 3000, len_body == 8]"], [ONE, TWO]),
        (["magic: kind", "plausible: [body.crc]"], [ONE, TWO, THREE]),
        (["magic: kind", "align: 2", "plausible: []"], [TWO, THREE]),
        (["align: 3"], [ONE]),
    ],
)
def test_a_unit_is_found_by_what_the_spec_says(tmp_path: Path, sync: list[str], found: list[int]) -> None:
    assert starts_in(tmp_path, DATA, *sync) == found


def test_a_unit_may_be_told_by_the_bytes_before_it_and_by_a_few_values(tmp_path: Path) -> None:
    assert starts_in(tmp_path, DATA, "after: [0xff, 0xff, 0xff]", "plausible: []") == [ONE, TWO]
    assert starts_in(tmp_path, DATA[ONE:], "after: [0xff, 0xff, 0xff]", "plausible: []") == [TWO - ONE]
    data = note(1, b"one") + note(2, b"two", color=1) + note(3, b"three", color=2) + note(4, b"four", color=3)
    few = ("magic: body.few", "plausible: []")
    spec = SPEC.replace("id: color", "id: few").replace("max: 2", "any-of: [0, 2]")
    (tmp_path / "few.ksy").write_text(
        spec.format(sync="\n".join(f"  {line}" for line in few)).replace("note_log", "few")
    )
    starts = Starts(probed("notes", imported(tmp_path / "few.ksy")), memoryview(data))
    assert [at for at, _ in starts.within(0, len(data)) if data[at + 2] == 7] == [0, 24]


def test_what_comes_after_the_last_field_that_is_looked_at_may_be_anything(tmp_path: Path) -> None:
    cut = DATA[: TWO + 4] + b"\xff"
    two = [TWO - 2, TWO]  # the number 2000 starts with a byte of the magic's value
    assert starts_in(tmp_path, cut, "magic: kind", "plausible: []") == [ONE]
    assert starts_in(tmp_path, cut, "magic: kind", "plausible: []", "until: len_body") == [ONE, *two]


def test_what_rises_from_unit_to_unit_keeps_to_its_bounds(tmp_path: Path) -> None:
    sync = ("magic: kind", "plausible: []", "rising: number")
    assert starts_in(tmp_path, DATA, *sync) == [ONE, TWO, THREE]
    assert starts_in(tmp_path, DATA, *sync, bounds=(2, 2000)) == [TWO, THREE]
    assert starts_in(tmp_path, DATA, *sync, bounds=(4, 1999)) == []


def test_a_search_for_several_kinds_finds_what_the_searches_for_each_find() -> None:
    several = {
        "aerospike_backup__item": ("aerospike_indexes", "aerospike_records", "aerospike_udfs"),
        "kafka_segment__entry": ("kafka_batches", "kafka_messages"),
    }
    found = 0
    for name, data in samples():
        if name in several:
            view = memoryview(data)
            each = [dict(Starts(SYNCS[one], view).within(0, len(view))) for one in several[name]]
            whole = dict(Starts(SYNCS[name], view).within(0, len(view)))
            assert whole == {at: size for one in each for at, size in one.items()}
            found += len(whole)
    assert found > 100


def test_a_checksum_proves_a_unit(tmp_path: Path) -> None:
    data = DATA[:-1] + b"E"
    sync = ("magic: kind", "plausible: []", "checksum: body.crc")
    assert starts_in(tmp_path, data, *sync) == [ONE, TWO, THREE]
    assert starts_in(tmp_path, data, *sync, is_proven=True) == [ONE, TWO]


def test_a_field_that_is_listed_must_fit_its_unit(tmp_path: Path) -> None:
    short = bytes([0, 1, 7, 3, 0, 0, 0])
    assert starts_in(tmp_path, short, "magic: kind", "plausible: [body.color]") == [0]
    assert starts_in(tmp_path, short, "magic: kind", "plausible: [body.crc]") == []


def test_a_unit_must_fit_the_file(tmp_path: Path) -> None:
    assert starts_in(tmp_path, DATA[:-1], "magic: kind", "plausible: []") == [ONE, TWO]


@pytest.mark.parametrize(
    ("sync", "message"),
    [
        ("magic: marker", r"8:3: marker is no field of note_log"),
        ("magic: number", r"8:3: number needs contents, or a single value or any-of as `valid`"),
        ("magic: body.text", r"8:3: text needs contents"),
        ("every: 4", r"8:3: unknown key 'every'; -sync has magic, after, align, plausible"),
        ("align: 0", r"8:3: align is 1 to 65536"),
        ("align: four", r"8:3: align cannot be 'four'"),
        ("plausible: [length]", r"8:3: length is no field of note_log"),
        ("plausible: [len_body +]", r"8:15: "),
        ("plausible: [number > body.size]", r"8:15: size is not known here"),
        ("until: ending", r"8:3: ending is no field of note_log"),
        ("rising: kinds", r"8:3: kinds is no integer of note_log"),
        ("after: 10", r"8:3: after must be text or a list of bytes"),
        ("any: body", r"8:3: body is no field of note_log with a switch"),
        ("checksum: body.color", r"8:3: no instance says with `-columnar: checksum` what color covers"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_with_its_place(tmp_path: Path, sync: str, message: str) -> None:
    with pytest.raises(SpecError, match=rf"note_log\.ksy:{message}"):
        starts_in(tmp_path, DATA, sync)


def test_a_declared_format_resynchronises_as_its_spec_says(tmp_path: Path) -> None:
    sync = "  magic: kind\n  plausible: [number]\n  checksum: body.crc"
    (tmp_path / "note_log.ksy").write_text(SPEC.format(sync=sync), encoding="utf-8")
    made = formats.declare(tmp_path / "note_log.ksy")
    try:
        data = note(1, b"one") + GARBAGE + note(2, b"two", color=9) + GARBAGE + note(3, b"three")
        report = thawline.verify(data, format="note_log")
        # The probe takes the second note for a unit; the kernel, which has the last word, does not.
        (finding,) = report.findings
        assert (finding.span.start, finding.span.end) == (12, len(data) - len(note(3, b"three")))
        assert report.units == 2
    finally:
        del formats.FORMATS[made.name]


# The probes of the formats.


PROBES = {
    "borg": ("borg_blobs",),
    "aerospike": ("aerospike_backup__item", "aerospike_indexes", "aerospike_records", "aerospike_udfs"),
    "kafka": ("kafka_batches", "kafka_messages", "kafka_segment__entry"),
    "rbak": ("rbak_segment__footer", "rbak_segment__header"),
    "rbf": ("rbf_frames",),
}
"""The probes of each format."""
UNITS = {
    "aerospike_index": "aerospike_backup__item",
    "aerospike_record": "aerospike_backup__item",
    "aerospike_udf": "aerospike_backup__item",
    "borg_blob": "borg_blobs",
    "kafka_message": "kafka_messages",
    "kafka_record_batch": "kafka_batches",
    "rbf_frame": "rbf_frames",
}
"""The probes of units that golden files hold, by their specs."""


def samples() -> Iterator[tuple[str, bytes]]:
    """Golden files, and mutants of them, each with a probe of its format."""
    for format_, names in PROBES.items():
        for file in golden_files(format_):
            if len(file.data) < 1 << 12:
                several = [file.data, *mutants.mutants(file.data, 19, 4)]
                yield from ((name, data) for name in names for data in several)


def test_every_probe_is_tested_here() -> None:
    assert sorted(name for names in PROBES.values() for name in names) == sorted(SYNCS)


def test_compiled_and_plain_probes_find_the_same() -> None:
    found = 0
    for name, data in samples():
        view = memoryview(data)
        compiled = list(Starts(SYNCS[name], view).within(0, len(view)))
        proven = list(Starts(SYNCS[name], view, is_proven=True).within(0, len(view)))
        why = Starts(SYNCS[name], view).why_not(0)
        with plainly():
            assert list(Starts(SYNCS[name], view).within(0, len(view))) == compiled
            assert list(Starts(SYNCS[name], view, is_proven=True).within(0, len(view))) == proven
            assert Starts(SYNCS[name], view).why_not(0) == why
        found += len(compiled)
    assert found > 100


def unit_at(name: str, data: bytes, at: int) -> int:
    """The size of the unit that a kernel reads at a position; 0 if it reads none."""
    item = next(columns.scan(TABLES[name], data, Ranges.of([(at, len(data), 1)]), columns=()))
    return item.ends[0].as_py() - at if isinstance(item, Chunk) else 0


def test_a_probe_of_all_rules_finds_what_the_kernel_reads_and_nothing_else() -> None:
    found = 0
    for name, data in samples():
        if name == "rbf_frames":
            starts = Starts(SYNCS[name], memoryview(data))
            read = {at: size for at in range(0, len(data), 4) if (size := unit_at(name, data, at))}
            assert dict(starts.within(0, len(data))) == read
            found += len(read)
    assert found > 50


@pytest.mark.parametrize("format_", ["aerospike", "borg", "kafka", "rbf"])
def test_every_intact_unit_is_found(format_: str) -> None:
    units = [(file, unit) for file in golden_files(format_) for unit, _ in file.units() if unit["spec"] in UNITS]
    for file, unit in units:
        if file.file.name == "unused-bits.log":
            continue  # no broker writes such attributes, and the search would find too much with them
        assert Starts(SYNCS[UNITS[unit["spec"]]], memoryview(file.data)).size_at(unit["start"])
    assert len(units) > 10


def test_a_probe_says_which_rule_no_unit_keeps_here() -> None:
    why = Starts(SYNCS["borg_blobs"], memoryview(b"BORG_OBJ\x07" + bytes(99))).why_not(0)
    assert why is not None
    assert (why.failure.path, why.failure.reason, why.at) == ("/seq/1", "valid/any-of", 8)


def test_the_search_ends_with_its_budget() -> None:
    blob = b"BORG_OBJ\x07" + bytes(55)
    starts = Starts(SYNCS["borg_blobs"], memoryview(blob * 1000), budget=64 * 99)
    assert starts.following(0) == len(starts.view)
    whole = b"BORG_OBJ\x01" + bytes(32) + (2).to_bytes(4, "little") * 2 + b"\x02m\x02d"
    view = memoryview(blob * 98 + whole + blob * 2 + whole)
    starts = Starts(SYNCS["borg_blobs"], view, budget=64 * 99)
    assert starts.following(0) == len(blob) * 98
    assert starts.following(len(blob) * 98 + 1) == len(view)


@pytest.mark.parametrize("name", sorted(SYNCS))
def test_a_search_takes_time_that_grows_with_the_file_not_its_square(name: str) -> None:
    sync = SYNCS[name]
    before = bytes(max(sync.offset, 0))

    def spent(size: int) -> float:
        data = memoryview((before + sync.magic + b"\x14\0\0\0" + Random(1).randbytes(4)) * (size // 16))
        start = process_time()
        assert all(at < len(data) for at, _ in Starts(sync, data).within(0, len(data)))
        return process_time() - start

    spent(1 << 16)
    assert spent(1 << 24) < 40 * max(spent(1 << 20), 0.002)
