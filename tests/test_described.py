"""A format from any `.ksy`: units after a head, units alone, or one structure; damage costs what it touches."""

from __future__ import annotations

import hashlib
import pickle
import random
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

import pytest

import thawline
from thawline.compiler import kernel_cache
from thawline.errors import SourceError, ThawlineError
from thawline.formats.described import Described
from thawline.ksy.documents import SpecError
from thawline.model import Finding, Run

LOG = """
meta:
  id: event_log
  title: Log of events
  endian: be
  file-extension: events
seq:
  - id: head
    type: head
  - id: events
    type: event
    repeat: eos
types:
  head:
    seq:
      - id: magic
        contents: EVT1
      - id: len_name
        type: u1
      - id: name
        size: len_name
        type: str
        encoding: UTF-8
  event:
    -sync:
      magic: mark
      checksum: crc
    seq:
      - id: len_body
        type: u2
      - id: mark
        contents: [0xca, 0xfe]
      - id: crc
        type: u4
      - id: body
        size: len_body
        type: body
  body:
    seq:
      - id: kind
        type: u1
        enum: kind
      - id: notes
        type: note
        repeat: eos
    instances:
      crc_input:
        pos: 0
        size-eos: true
        -overlay: true
        -columnar:
          checksum: crc32
          stored: _parent.crc
    enums:
      kind:
        1: opened
        2: closed
  note:
    seq:
      - id: len_text
        type: u1
      - id: text
        size: len_text
        type: str
        encoding: UTF-8
"""
HEAD = b"EVT1\x04toys"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes longer than all of these tests; tests/test_described_native.py compares both."""
    monkeypatch.setattr(kernel_cache, "missing", lambda: "tests compile nothing")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "event_log.ksy").write_text(LOG, encoding="utf-8")
    return tmp_path / "event_log.ksy"


def event(kind: int, *notes: str) -> bytes:
    body = bytes([kind]) + b"".join(bytes([len(note)]) + note.encode() for note in notes)
    return struct.pack(">H2sI", len(body), b"\xca\xfe", zlib.crc32(body)) + body


EVENTS = [event(1, "bear", "kite"), event(2), event(1, "train"), event(2, "a", "b", "c")]
FILE = HEAD + b"".join(EVENTS)


def rows(data: bytes, spec: Path, table: str | None = None, **options: Any) -> list[dict[str, Any]]:
    with thawline.open(data, spec=spec, table=table, **options) as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


def test_a_unit_is_a_row_with_its_structures(spec: Path) -> None:
    first = rows(FILE, spec)[0]
    assert first["body"] == {
        "kind": "opened",
        "kind_number": 1,
        "notes": [{"len_text": 4, "text": "bear"}, {"len_text": 4, "text": "kite"}],
    }
    assert list(first) == ["len_body", "mark", "crc", "body"]


def test_the_report_covers_the_head_and_every_unit(spec: Path) -> None:
    report = thawline.verify(FILE, spec=spec)
    assert (report.ok, report.units, report.intact_bytes) == (True, 4, len(FILE))


@pytest.mark.parametrize("at", range(len(HEAD + EVENTS[0]), len(HEAD + EVENTS[0] + EVENTS[1])))
def test_a_flipped_byte_costs_one_unit(at: int, spec: Path) -> None:
    damaged = bytearray(FILE)
    damaged[at] ^= 0x55
    (finding,) = thawline.verify(bytes(damaged), spec=spec).findings
    assert (finding.span.start, finding.span.end) == (len(HEAD + EVENTS[0]), len(HEAD + EVENTS[0] + EVENTS[1]))
    assert len(rows(bytes(damaged), spec)) == 3


@pytest.mark.parametrize("size", range(1, len(FILE)))
def test_every_byte_of_a_cut_file_is_accounted_for(size: int, spec: Path) -> None:
    with thawline.open(FILE[:size], spec=spec) as cold:
        items = list(cold.scan())
    assert sum(item.span.size for item in items) == size
    ends = [len(HEAD + b"".join(EVENTS[: count + 1])) for count in range(4)]
    assert sum(item.units for item in items if isinstance(item, Run)) == sum(size >= end for end in ends)


def test_what_is_wrong_names_the_rule_of_the_spec_and_its_place(spec: Path) -> None:
    damaged = bytearray(FILE)
    damaged[len(HEAD) + 2] = 0
    (finding,) = thawline.verify(bytes(damaged), spec=spec).findings
    assert finding.code.id == "KSY101"
    assert str(finding.detail["reason"]).endswith(f"at {len(HEAD) + 2:#x} (event_log: /types/event/seq/1)")
    damaged = bytearray(FILE)
    damaged[len(FILE) - 1] ^= 1
    (finding,) = thawline.verify(bytes(damaged), spec=spec).findings
    assert finding.code.id == "KSY102"
    assert finding.detail["reason"] == "crc32 of body (/types/body/instances/crc_input)"


def test_a_broken_head_does_not_cost_the_units(spec: Path) -> None:
    damaged = b"EVT2" + FILE[4:]
    (finding,) = thawline.verify(damaged, spec=spec).findings
    assert (finding.code.id, finding.span.start, finding.span.end) == ("KSY103", 0, len(HEAD))
    assert len(rows(damaged, spec)) == 4


def test_no_file_is_written_without_the_head_that_it_needs(spec: Path, tmp_path: Path) -> None:
    for damaged in (b"EVT2" + FILE[4:], FILE[3:], HEAD[:2]):
        with pytest.raises(SourceError, match="before the first event is damaged"):
            thawline.salvage(damaged, tmp_path / "new.events", spec=spec)
    assert not (tmp_path / "new.events").exists()


def test_a_file_without_its_head_is_not_told_to_be_salvaged(spec: Path, tmp_path: Path) -> None:
    damaged = bytearray(b"EVT2" + FILE[4:])
    damaged[-1] ^= 1
    (tmp_path / "a.events").write_bytes(damaged)
    found = thawline.verify(tmp_path / "a.events", spec=spec).findings
    assert [one.code.id for one in found] == ["KSY103", "KSY102"]
    assert {one.hint for one in found} == {f"thawline cat {tmp_path}/a.events --spec {spec}"}


@pytest.mark.parametrize("name", ["a.events", "salvaged.events", "salvaged", "intact-a.events"])
def test_a_hint_writes_a_new_file_of_the_same_extension(spec: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILE[:-1])
    (finding,) = thawline.verify(tmp_path / name, spec=spec).findings
    assert finding.hint == f"thawline salvage {tmp_path}/{name} -o intact-{name} --spec {spec}"


def test_a_claim_needs_no_article_for_the_name_of_a_unit(spec: Path) -> None:
    assert thawline.identify(FILE, spec=spec).why == "starts with an intact event, as its spec says"
    assert thawline.identify(HEAD + b"rubbish", spec=spec).why == "starts with a damaged event"


def test_salvage_keeps_the_head_and_the_intact_units(spec: Path, tmp_path: Path) -> None:
    damaged = FILE[: len(HEAD + EVENTS[0])] + b"rubbish" + FILE[len(HEAD + EVENTS[0]) :]
    done = thawline.salvage(damaged, tmp_path / "new.events", spec=spec)
    assert ((tmp_path / "new.events").read_bytes(), len(done.lost)) == (FILE, 1)


def test_columns_and_jobs_give_the_same_rows(spec: Path) -> None:
    many = HEAD + b"".join(EVENTS) * 5000
    with thawline.open(many, spec=spec, jobs=2) as cold:
        read = [number for batch in cold.batches(["len_body"]) for number in batch["len_body"].to_pylist()]
    assert read == [len(one) - 8 for one in EVENTS] * 5000


ROOTED = """
meta:
  id: tick
  endian: le
-sync:
  align: 4
seq:
  - id: number
    type: u2
  - id: check
    type: u2
    valid:
      expr: check == (number ^ 0xffff)
"""


@pytest.fixture
def ticks(tmp_path: Path) -> Path:
    (tmp_path / "tick.ksy").write_text(ROOTED, encoding="utf-8")
    return tmp_path / "tick.ksy"


def tick(number: int) -> bytes:
    return struct.pack("<HH", number, number ^ 0xFFFF)


def test_a_root_with_sync_is_a_unit_and_the_file_its_repetition(ticks: Path) -> None:
    data = b"".join(map(tick, range(10)))
    assert [row["number"] for row in rows(data, ticks)] == list(range(10))
    damaged = bytearray(data)
    damaged[13:15] = b"\xff\xff"
    report = thawline.verify(bytes(damaged), spec=ticks)
    (finding,) = report.findings
    assert (finding.span.start, finding.span.end, report.units) == (12, 16, 9)
    assert "(tick: /seq/1)" in str(finding.detail["reason"])


WHOLE = """
meta:
  id: album
  endian: be
  file-extension: album
seq:
  - id: magic
    contents: ALB
  - id: num_songs
    type: u1
  - id: songs
    type: song
    repeat: expr
    repeat-expr: num_songs
instances:
  cover:
    pos: 200
    size: 4
    if: num_songs > 1
types:
  song:
    seq:
      - id: len_title
        type: u1
      - id: title
        size: len_title
        type: str
        encoding: UTF-8
"""


@pytest.fixture
def album(tmp_path: Path) -> Path:
    (tmp_path / "album.ksy").write_text(WHOLE, encoding="utf-8")
    return tmp_path / "album.ksy"


def test_a_spec_without_sync_is_one_structure_a_file(album: Path) -> None:
    data = b"ALB\x01\x03abc"
    assert rows(data, album) == [
        {"magic": b"ALB", "num_songs": 1, "songs": [{"len_title": 3, "title": "abc"}], "cover": None}
    ]
    assert rows(data, album, "songs") == [{"len_title": 3, "title": "abc"}]
    report = thawline.verify(data, spec=album)
    assert (report.ok, report.units, report.rows) == (True, 1, 1)
    assert thawline.identify(data, spec=album).confidence == "certain"


def test_what_can_be_read_of_a_broken_structure_is_given(album: Path) -> None:
    data = b"ALB\x03\x03abc\x02de\x05fg"
    report = thawline.verify(data, spec=album)
    (finding,) = report.findings
    assert (finding.code.id, report.units, finding.span.end) == ("KSY104", 0, len(data))
    assert [row["title"] for row in rows(data, album, "songs")] == ["abc", "de"]
    assert rows(data, album) == []


def test_an_instance_beyond_the_end_is_damage(album: Path) -> None:
    (finding,) = thawline.verify(b"ALB\x02\x01a\x01b", spec=album).findings
    assert finding.code.id == "KSY106"
    assert "/instances/cover" in str(finding.detail["reason"])


def test_only_a_whole_structure_is_salvaged(album: Path, tmp_path: Path) -> None:
    thawline.salvage(b"ALB\x01\x01a", tmp_path / "whole", spec=album)
    assert (tmp_path / "whole").read_bytes() == b"ALB\x01\x01a"
    done = thawline.salvage(b"ALB\x01\x05a", tmp_path / "broken", spec=album)
    assert (len(done.lost), (tmp_path / "broken").read_bytes()) == (1, b"")


def test_a_structure_with_a_damaged_part_is_not_written_again(album: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no part is a file by itself"):
        thawline.salvage(b"ALB\x02\x01a\x01b", tmp_path / "new", spec=album)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("seed", range(20))
def test_every_mutant_is_tiled_and_gets_one_verdict(seed: int, spec: Path) -> None:
    chance = random.Random(seed)
    data = bytearray(FILE)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        data[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
    report = thawline.verify(bytes(data), spec=spec)
    assert report.intact_bytes + report.damaged_bytes == len(data)
    assert len(rows(bytes(data), spec)) == report.rows
    with thawline.open(bytes(data), spec=spec, on_error="keep") as cold:
        kept = [row["_corrupt_record"] for batch in cold.batches() for row in batch.to_pylist()]
    assert sum(len(it) for it in kept if it) == report.damaged_bytes


def test_units_that_nest_cost_time_that_grows_with_the_file_not_its_square(spec: Path) -> None:
    def spent(units: int) -> float:
        data = HEAD + (struct.pack(">H2sI", 60_000, b"\xca\xfe", 0) + b"\x01") * units + bytes(70_000)
        start = process_time()
        with thawline.open(data, spec=spec) as cold:
            assert all(isinstance(item, Finding) or not item.units for item in cold.scan())
        return process_time() - start

    spent(10)
    assert spent(2_000) < 60 * max(spent(200), 0.05)


def test_units_without_bytes_are_damage_not_a_loop(tmp_path: Path) -> None:
    (tmp_path / "nil.ksy").write_text(
        "meta:\n  id: nil\n-sync:\n  align: 1\nseq:\n  - id: a\n    size: 0\n", encoding="utf-8"
    )
    report = thawline.verify(b"abc", spec=tmp_path / "nil.ksy")
    assert (report.units, report.damaged_bytes) == (0, 3)


def test_a_format_goes_to_another_process_with_its_imports(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "word.ksy").write_text("meta:\n  id: word\nseq:\n  - id: a\n    type: u1\n", encoding="utf-8")
    main = "meta:\n  id: pair\n  imports:\n    - parts/word\n-sync:\n  align: 1\nseq:\n  - id: one\n    type: word\n"
    (tmp_path / "pair.ksy").write_text(main, encoding="utf-8")
    sent = pickle.dumps(Described.of(tmp_path / "pair.ksy").signed())
    (tmp_path / "pair.ksy").unlink()
    received = pickle.loads(sent)  # noqa: S301 - what was made two lines above
    assert str(received.tables["root"].schema.field("one").type) == "struct<a: int16>"


@pytest.mark.parametrize(
    "change, why",
    [
        (("magic: mark", "magic: body"), "a magic is a field with `contents`"),
        (("magic: mark", "magic: nothing"), "nothing is no field of event_log::event"),
        (("checksum: crc\n", "checksum: mark\n"), "no instance says"),
        (("checksum: crc32", "checksum: crc99"), "there is no checksum 'crc99'"),
        (("magic: mark", "colour: red"), "unknown key 'colour'"),
    ],
)
def test_a_unit_that_cannot_be_found_or_proven_so_is_refused_with_its_place(
    change: tuple[str, str], why: str, spec: Path
) -> None:
    spec.write_text(LOG.replace(*change), encoding="utf-8")
    with pytest.raises(SpecError, match=rf"event_log\.ksy:\d+:\d+: .*{why}"):
        thawline.open(FILE, spec=spec)


def damaged_specs() -> Iterator[bytes]:
    chance = random.Random(7)
    text = LOG.encode()
    for _ in range(150):
        cut, much = chance.randrange(len(text)), chance.randrange(1, 30)
        yield text[:cut] + chance.choice([b"", b"[]", b"{}", b"5", b": ", b"\xff"]) + text[cut + much :]


@pytest.mark.parametrize("text", list(damaged_specs()), ids=lambda text: hashlib.sha256(text).hexdigest()[:8])
def test_a_spec_of_any_shape_is_compiled_or_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_bytes(text)
    with suppress(ThawlineError):  # anything else is a mistake
        thawline.verify(FILE, spec=tmp_path / "x.ksy")
