"""Kafka segments: what damage costs, what hostile files cost, and what is not looked at."""

from __future__ import annotations

import gzip
import itertools
import random
import zlib
from array import array
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from accounts import golden_files
from hypothesis import given, settings
from hypothesis import strategies as st

import thawline
from thawline import codecs
from thawline.checksums import crc32c
from thawline.formats import get
from thawline.formats.contract import read
from thawline.formats.kafka.units import BUDGET
from thawline.formats.kafka.walk import rising
from thawline.model import Finding, Run, Span
from thawline.native import fast, plain
from thawline.native.constants.kernels import PROBE_CELLS
from thawline.rendering.diagnosis import assessment
from thawline.source import open_source
from thawline.verbs.salvage import salvage
from tools.mutants import mutants
from tools.samples.kafka.batches import MANY
from tools.samples.kafka.codings import NONE, Coding
from tools.samples.kafka.entries import START, Batch, Record, numbered

LOG = b"".join(batch.build() for batch in MANY)
STARTS = [sum(len(batch.build()) for batch in MANY[:index]) for index in range(len(MANY) + 1)]
BASE_OFFSET, LENGTH, EPOCH, MAGIC, CRC = range(8), range(8, 12), range(12, 16), 16, range(17, 21)
"""Fields of a batch that no checksum covers, and the checksum itself."""
Row = tuple[int, int, bytes | None]


def rows_of(data: bytes, **options: Any) -> list[Row]:
    """Offset, timestamp and value of every record."""
    with thawline.open(data, "kafka", **options) as cold:
        found = [row for batch in cold.batches(["offset", "timestamp_ms", "value"]) for row in batch.to_pylist()]
    return [(row["offset"], row["timestamp_ms"], row["value"]) for row in found]


def findings_of(data: bytes, **options: Any) -> list[Finding]:
    with thawline.open(data, "kafka", **options) as cold:
        return list(cold.findings())


def codes_of(data: bytes) -> list[str]:
    return [finding.code.id for finding in findings_of(data)]


ROWS = rows_of(LOG)


def rows_without(batch: int) -> list[Row]:
    return [row for row in ROWS if not MANY[batch].base_offset <= row[0] <= MANY[batch].last_offset]


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def test_the_sample_reads_to_what_it_was_made_of() -> None:
    made = [
        (batch.base_offset + record.offset_delta, batch.base_timestamp + record.timestamp_delta, record.value)
        for batch in MANY
        for record in batch.records
    ]
    assert made == ROWS


@pytest.mark.parametrize("batch", range(len(MANY)))
def test_a_flipped_bit_costs_one_batch(batch: int) -> None:
    """Every byte of every head, and a sample of the rest. The last batch's own offset is all there is to believe."""
    start, end = STARTS[batch : batch + 2]
    chosen = [*range(start, start + 61), *random.Random(batch).sample(range(start + 61, end), 60)]
    for at in chosen:
        is_last = batch == len(MANY) - 1
        if is_last and at - start in BASE_OFFSET:
            continue
        data = flipped(LOG, at, at % 8)
        expected = ROWS if at - start in EPOCH else rows_without(batch)
        assert rows_of(data) == expected, (at - start, codes_of(data))
        codes = codes_of(data)
        assert len(codes) == 1 or at - start in EPOCH
        assert codes or at - start in EPOCH


@pytest.mark.parametrize("batch", range(len(MANY)))
@pytest.mark.parametrize("length", [0, 13, 49, 50, 1000, 5000, 2**31 - 1, -1, -(2**31)])
def test_a_destroyed_length_costs_one_batch(batch: int, length: int) -> None:
    at = STARTS[batch] + 8
    data = LOG[:at] + length.to_bytes(4, "big", signed=True) + LOG[at + 4 :]
    assert rows_of(data) == rows_without(batch)


@pytest.mark.parametrize("batch", range(len(MANY)))
def test_zeroed_and_missing_and_foreign_bytes_cost_what_they_cover(batch: int) -> None:
    start, end = STARTS[batch : batch + 2]
    for replacement in (bytes(end - start), b"", b"\xff" * 100, random.Random(1).randbytes(500)):
        data = LOG[:start] + replacement + LOG[end:]
        assert rows_of(data) == rows_without(batch)


def test_several_broken_batches_in_a_row_are_told_apart() -> None:
    data = flipped(flipped(LOG, STARTS[2] + 100), STARTS[3] + 100)
    found = findings_of(data)
    assert [(finding.code.id, finding.span.start) for finding in found] == [
        ("KAF101", STARTS[2]),
        ("KAF101", STARTS[3]),
    ]
    assert found[0].detail["broker"] == "would truncate here and lose 3 intact batches, offsets 572 to 1000"
    assert "broker" not in found[1].detail


def test_a_proven_batch_comes_back_with_recover(tmp_path: Path) -> None:
    length = STARTS[3] + 8
    for data, code in (
        (LOG[:length] + bytes(4) + LOG[length + 4 :], "KAF104"),
        (flipped(LOG, STARTS[3] + MAGIC, 4), "KAF105"),
        (flipped(LOG, STARTS[3] + MAGIC, 1), "KAF105"),
    ):
        assert codes_of(data) == [code]
        damaged, whole, kept = (tmp_path / f"{code}-{name}.log" for name in ("damaged", "whole", "kept"))
        damaged.write_bytes(data)
        for target, recover in ((kept, False), (whole, True)):
            with thawline.open(damaged, "kafka") as cold:
                salvage(cold, target, recover=recover)
        assert whole.read_bytes() == LOG
        assert kept.read_bytes() == LOG[: STARTS[3]] + LOG[STARTS[4] :]
        for file in (whole, kept, damaged):
            file.unlink()


def test_a_batch_with_an_offset_that_cannot_be_is_not_returned() -> None:
    for wrong in (10**12, 0, 143 * 3 + 1, -1):
        data = LOG[: STARTS[3]] + wrong.to_bytes(8, "big", signed=True) + LOG[STARTS[3] + 8 :]
        assert codes_of(data) == ["KAF106"]
        assert rows_of(data) == rows_without(3)


@pytest.mark.parametrize("rows", [(0,), (1,), (0, 1), (1, 2), (0, 1, 2)])
def test_an_offset_below_zero_is_never_returned_however_few_batches_there_are(rows: tuple[int, ...]) -> None:
    batches = [bytearray(Batch(base_offset=n, records=(Record(None, b""),)).build()) for n in range(3)]
    for row in rows:
        batches[row][0] |= 0x80
    data = b"".join(batches)
    for some in (data, data[: len(batches[0]) * 2]):
        kept = [n for n in range(3) if n not in rows and n * len(batches[0]) < len(some)]
        assert [row[0] for row in rows_of(some)] == kept
        assert set(codes_of(some)) == {"KAF106"}


def test_a_compressed_set_with_an_offset_below_zero_is_damaged_for_whoever_does_not_open_it() -> None:
    data = bytearray(next(golden for golden in golden_files("kafka") if golden.name == "kafka/v1-gzip.log").data)
    data[253] |= 0x80
    with open_source(bytes(data)) as source:
        kind = get("kafka").kind_of(source)
        for table in ("records", "batches", "control"):
            found = read(kind, source, table, kind.tables[table].schema.names)
            items = [item if isinstance(item, Finding) else (item, *item[1])[0] for item in found]
            assert [item.code.id for item in items if isinstance(item, Finding)] == ["KAF106"]


def test_offsets_that_start_again_are_returned_with_a_warning() -> None:
    assert codes_of(LOG + LOG) == ["KAF202"]
    assert rows_of(LOG + LOG) == ROWS + ROWS


def test_a_falling_leader_epoch_is_a_warning() -> None:
    batches = [
        Batch(base_offset=n, records=(Record(None, b""),), leader_epoch=epoch) for n, epoch in enumerate((3, 7, 4, 7))
    ]
    found = findings_of(b"".join(batch.build() for batch in batches))
    assert [(finding.code.id, finding.severity, finding.detail["leader_epoch"]) for finding in found] == [
        ("KAF201", "warning", 4)
    ]


def test_a_falling_leader_epoch_is_reported_once_however_often_damage_interrupts() -> None:
    batches = [
        Batch(base_offset=n, records=(Record(None, b"value"),), leader_epoch=epoch).build()
        for n, epoch in enumerate((3, 3, 1 << 30, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2))
    ]
    for broken in (4, 6, 8, 11):
        batches[broken] = flipped(batches[broken], 64)
    found = [finding for finding in findings_of(b"".join(batches)) if finding.code.id == "KAF201"]
    starts = [sum(map(len, batches[:index])) for index in (3, 10)]
    told = [(finding.detail["at"], finding.detail["leader_epoch"], finding.detail["places"]) for finding in found]
    assert told == [(starts[0], 3, 1), (starts[1], 2, 1)]


def test_a_wrong_offset_is_told_with_the_offset_before_it() -> None:
    wrong = LOG[: STARTS[5]] + (7).to_bytes(8, "big") + LOG[STARTS[5] + 8 :]
    for data in (wrong, flipped(wrong, STARTS[1] + 70)):
        (finding,) = (finding for finding in findings_of(data) if finding.code.id == "KAF106")
        assert finding.detail["last_offset_before"] == MANY[4].last_offset


def test_one_record_is_told_in_the_singular() -> None:
    batches = [Batch(base_offset=n, records=(Record(None, b"value"),)).build() for n in range(3691, 3695)]
    (finding,) = findings_of(b"".join([batches[0], flipped(batches[1], 64), batches[2]]))
    assert finding.detail["lost"] == "1 batch of 1 record, offset 3692"
    assert finding.detail["broker"] == "would truncate here and lose 1 intact batch, offset 3693"
    wrong = (9).to_bytes(8, "big") + batches[1][8:]
    (finding,) = findings_of(b"".join([batches[0], wrong, batches[2], batches[3]]))
    assert (finding.code.id, finding.detail["lost"]) == ("KAF106", "1 batch of 1 record")
    (finding,) = findings_of(batches[0] + b"x" * 30 + batches[2])
    assert finding.detail["lost"] == "records in offset 3692"
    (finding,) = findings_of(batches[0] + b"x" * 30 + batches[1])
    assert finding.detail["lost"] == "nothing: the offsets continue after it"


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), max_size=9))
def test_the_longest_rising_series_is_found(spans: list[tuple[int, int]]) -> None:
    firsts, lasts = [first for first, _ in spans], [first + size for first, size in spans]
    found = rising(firsts, lasts)
    assert all(lasts[a] < firsts[b] for a, b in itertools.pairwise(found))
    best = 0
    for chosen in range(1 << len(spans)):
        rows = [index for index in range(len(spans)) if chosen >> index & 1]
        if all(lasts[a] < firsts[b] for a, b in itertools.pairwise(rows)):
            best = max(best, len(rows))
    assert len(found) == best


def test_a_batch_inside_a_record_of_an_intact_batch_is_not_a_batch() -> None:
    inner = Batch(base_offset=500, records=(Record(None, b"inner"),)).build()
    outer = Batch(base_offset=1, records=(Record(None, inner),)).build()
    assert rows_of(outer)[0][0] == 1
    assert len(rows_of(outer)) == 1
    # Nor where the one around it is broken, as long as its length leads to the next.
    behind = Batch(base_offset=900, records=(Record(None, b"behind"),)).build()
    assert [row[0] for row in rows_of(flipped(outer, 61 + 3) + behind)] == [900]


BOMB = Coding("bomb", "gzip", "gzip", lambda data: gzip.compress(data, mtime=0))


def test_a_bomb_is_stopped_at_the_bound() -> None:
    bomb = Batch(base_offset=0, records=(Record(None, bytes(2 << 20)),), coding=BOMB).build()
    assert len(bomb) < 5000
    after = Batch(base_offset=1, records=(Record(None, b"after"),)).build()
    (finding,) = findings_of(bomb + after, max_batch_bytes=1 << 20)
    assert (finding.code.id, finding.detail["bound"]) == ("KAF109", 1 << 20)
    assert [row[0] for row in rows_of(bomb + after, max_batch_bytes="1MiB")] == [1]
    assert [row[0] for row in rows_of(bomb + after)] == [0, 1]


def repaired(batch: bytes) -> bytes:
    """A batch with the length and the checksum that its bytes should have."""
    batch = batch[:8] + (len(batch) - 12).to_bytes(4, "big") + batch[12:]
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


THREE = Batch(base_offset=10, records=numbered(*(Record(None, b"abc") for _ in range(3)))).build()


@pytest.mark.parametrize(
    "data, code",
    [
        (THREE + b"\0", "KAF108"),  # behind the last record
        (THREE[:57] + (2).to_bytes(4, "big") + THREE[61:], "KAF108"),  # fewer records than there are
        (THREE[:57] + (4).to_bytes(4, "big") + THREE[61:], "KAF108"),  # more
        (THREE[:23] + (1).to_bytes(4, "big") + THREE[27:], "KAF108"),  # lastOffsetDelta below that of a record
        (THREE[:21] + b"\0\1" + THREE[23:], "KAF107"),  # says gzip and is none
        (Batch(records=(Record(None, b"a"), Record(None, b"b")), last_offset_delta=1).build(), "KAF108"),  # 0, 0
    ],
)
def test_records_that_do_not_fit_their_batch_are_a_finding_although_the_checksum_is_right(
    data: bytes, code: str
) -> None:
    before = Batch(base_offset=0, records=(Record(None, b"before"),)).build()
    after = Batch(base_offset=100, records=(Record(None, b"after"),)).build()
    data = data.replace(data[:8], (10).to_bytes(8, "big"), 1)
    (finding,) = findings_of(before + repaired(data) + after)
    assert finding.code.id == code
    assert finding.detail["reason"]
    assert [row[0] for row in rows_of(before + repaired(data) + after)] == [0, 100]


def test_a_batch_that_was_sent_broken_is_not_blamed_on_the_disk() -> None:
    whole = Batch(base_offset=0, records=(Record(None, b"before"),)).build()
    sent, flipped = repaired(THREE + b"\0"), THREE[:-1] + b"?"
    blamed = []
    for broken in (sent, flipped):
        with thawline.open(whole + broken, format="kafka") as cold:
            blamed.append(assessment(cold, cold.verify()).looks_like)
    assert blamed[0] == "a fault of the producer, not of the disk: the checksum is right"
    assert "media or copy error" in blamed[1]


def test_what_cannot_match_is_not_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    add = codecs.Room.add

    def watched(room: codecs.Room, codec: str, data: Any, **bounds: Any) -> None:
        opened.append(len(data))
        add(room, codec, data, **bounds)

    monkeypatch.setattr(codecs.Room, "add", watched)
    compressed = [batch for batch in MANY if batch.coding is not NONE]
    chosen = compressed[1]
    found = rows_of(LOG, offsets=f"{chosen.base_offset + 3}..{chosen.base_offset + 5}")
    assert [row[0] for row in found] == [chosen.base_offset + n for n in (3, 4, 5)]
    assert len(opened) == 1
    opened.clear()
    assert rows_of(LOG, since=START + 6000, until=START + 6002) == [
        row for row in ROWS if START + 6000 <= row[1] <= START + 6002
    ]
    assert len(opened) == 1
    opened.clear()
    with thawline.open(LOG, "kafka") as cold:
        report = cold.verify(heads_only=True)
        assert [batch.num_rows for batch in cold.tail(3)] == [3]
    assert (report.rows, report.units) == (len(ROWS), len(MANY))
    assert len(opened) <= 1


def test_damage_in_what_is_not_asked_for_is_not_looked_for() -> None:
    data = flipped(LOG, STARTS[1] + 200)
    assert [row[0] for row in rows_of(data, offsets="800..803")] == [800, 801, 802, 803]


def test_an_index_file_says_where_to_start_and_is_not_believed_blindly(tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(flipped(LOG, STARTS[1] + 200))
    index = b"".join(
        batch.last_offset.to_bytes(4, "big") + start.to_bytes(4, "big")
        for batch, start in list(zip(MANY, STARTS, strict=False))[1:]
    )
    with thawline.open(segment, offsets=(800, 803)) as cold:
        assert [item.span.start for item in skipped(cold)] == []
        segment.with_suffix(".index").write_bytes(index)
        assert [item.span for item in skipped(cold)] == [Span(0, STARTS[4])]
        assert [row["offset"] for batch in cold.batches() for row in batch.to_pylist()] == [800, 801, 802, 803]
    with thawline.open(segment, since=START + 6000) as cold:
        segment.with_suffix(".timeindex").write_bytes((START + 4142).to_bytes(8, "big") + (714).to_bytes(4, "big"))
        assert [item.span for item in skipped(cold)] == [Span(0, STARTS[4])]
        assert {row["offset"] for batch in cold.batches() for row in batch.to_pylist()} == set(range(858, 1001))
    with thawline.open(segment, offsets=(800, 803)) as cold:
        segment.with_suffix(".index").write_bytes(
            (500).to_bytes(4, "big") + (STARTS[4] + 1).to_bytes(4, "big") + b"torn"
        )
        assert skipped(cold) == []
        assert [row["offset"] for batch in cold.batches() for row in batch.to_pylist()] == [800, 801, 802, 803]


def skipped(cold: thawline.ColdFile) -> list[Run]:
    reading = read(cold.kind, cold.source, "records", ["offset"])
    return [item[0] for item in reading if not isinstance(item, Finding) and not item[0].units]


def test_the_last_records_are_those_of_the_whole_file() -> None:
    for count in (0, 1, 142, 143, 144, 1000, 5000):
        with thawline.open(LOG, "kafka") as cold:
            last = [row["offset"] for batch in cold.tail(count) for row in batch.to_pylist()]
        assert last == [row[0] for row in ROWS][len(ROWS) - min(count, len(ROWS)) :]


def test_a_remote_segment_is_the_same() -> None:
    for data in (LOG, flipped(LOG, STARTS[2] + 9), flipped(LOG, STARTS[4] + 90)):
        fsspec.filesystem("memory").pipe("/orders-7/00000000000000000000.log", data)
        with thawline.open("memory://orders-7/00000000000000000000.log") as cold:
            rows = [row for batch in cold.batches() for row in batch.to_pylist()]
            assert {(row["topic"], row["partition"]) for row in rows} == {("orders", 7)}
            assert [row["offset"] for row in rows] == [row[0] for row in rows_of(data)]


@pytest.mark.parametrize("seed", range(6))
def test_units_are_followed_the_same_compiled_and_uncompiled(seed: int) -> None:
    for mutant in mutants(LOG[:6000], seed, 20):
        found = []
        for engine in (fast, plain):
            state, known = array("q", (0, -1, 10**6, 0, 0)), bytearray(len(mutant))
            units, holes = array("q", bytes(16 * 400)), array("q", bytes(32 * 400))
            window, limits = array("q", (0, len(mutant))), array("q", (1 << 30, 8))
            probe = array("q", bytes(8 * PROBE_CELLS))
            engine.follow_units(mutant, window, limits, False, state, probe, known, units, holes)  # noqa: FBT003 - C's way
            found.append((state, known, units, holes))
        assert found[0] == found[1]


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 9), st.integers(-(2**63), 2**63 - 1)), max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
)
def test_records_are_placed_the_same_natively_and_plainly(
    records: list[tuple[int, int, int]], times: list[int]
) -> None:
    records.sort(key=lambda record: record[0])
    units = array("i", [unit for unit, _, _ in records])
    deltas, time_deltas = array("i", [delta for _, delta, _ in records]), array("q", [time for _, _, time in records])
    heads = array("q", [number for n in range(4) for number in (100 * n, 7, times[n], times[3 - n])])
    made = []
    for engine in (fast, plain):
        last, wrong = array("q", [-1] * 4), bytearray(4)
        offsets, stamps = array("q", bytes(8 * len(records))), array("q", bytes(8 * len(records)))
        engine.place_records(units, deltas, time_deltas, len(records), heads, last, offsets, stamps, wrong)
        micros, valid = array("q", bytes(8 * len(records))), bytearray(len(records))
        engine.to_microseconds(stamps, len(records), micros, valid)
        made.append((last, wrong, offsets, stamps, micros, valid))
    assert made[0] == made[1]


@pytest.mark.parametrize("size", [200_000])
def test_the_cost_of_nested_claims_stays_linear(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads that all claim the rest of the file, each at another byte: the checksums asked for stay within a bound."""
    work: list[int] = []
    compute = fast.crc32c_ranges

    def counted(view: memoryview, starts: Any, ends: Any, rows: int, out: Any) -> None:
        work.append(sum(ends) - sum(starts))
        compute(view, starts, ends, rows, out)

    monkeypatch.setattr(fast, "crc32c_ranges", counted)
    head = bytearray(THREE[:61])
    data = bytearray()
    while len(data) < size:
        head[:8] = len(data).to_bytes(8, "big")
        head[8:12] = (size - len(data) - 12).to_bytes(4, "big")
        data += head
    data = data[:size] + THREE.replace((10).to_bytes(8, "big"), (10**6).to_bytes(8, "big"), 1)
    assert [row[0] for row in rows_of(bytes(data))] == [10**6, 10**6 + 1, 10**6 + 2]
    assert sum(work) <= (BUDGET + 1) * 2 * len(data)


def test_a_record_may_have_a_time_that_no_calendar_has() -> None:
    data = Batch(base_timestamp=2**62, records=(Record(None, b"x"),), max_timestamp=2**62).build()
    with thawline.open(data, "kafka") as cold:
        (row,) = pa.Table.from_batches(cold.batches(["timestamp", "timestamp_ms"])).to_pylist()
    assert row == {"timestamp": None, "timestamp_ms": 2**62}


def test_the_topic_and_partition_are_those_of_the_folder(tmp_path: Path) -> None:
    for folder, topic, partition in (("my-topic-12", "my-topic", 12), ("plain", None, None), ("-1", None, None)):
        path = tmp_path / folder / "00000000000000000000.log"
        path.parent.mkdir()
        path.write_bytes(LOG)
        with thawline.open(path) as cold:
            row = next(iter(cold.batches())).to_pylist()[0]
        assert (row["topic"], row["partition"]) == (topic, partition)


def test_a_segment_is_told_by_its_first_batch_or_by_its_name() -> None:
    kafka = get("kafka")
    claims = {
        name: kafka.claim(open_source(data, name))
        for name, data in {
            "anything": LOG,
            "00000000000000000000.log": b"torn",
            "00000000000000000042.log.deleted": b"",
            "noise": random.Random(3).randbytes(5000),
            "other.log": b"2026-11-16 12:00:00 INFO a log of another kind\n" * 9,
        }.items()
    }
    assert {name: claim.confidence if claim else None for name, claim in claims.items()} == {
        "anything": "certain",
        "00000000000000000000.log": "likely",
        "00000000000000000042.log.deleted": "likely",
        "noise": None,
        "other.log": None,
    }


def test_the_legacy_checksum_of_each_kind_is_its_own() -> None:
    (golden,) = (golden for golden in golden_files("kafka") if golden.name.endswith("mixed-magics.log"))
    with thawline.open(golden.file, "kafka", table="batches") as cold:
        heads = [row for batch in cold.batches() for row in batch.to_pylist()]
    for head in heads:
        unit = golden.data[head["batch_start"] : head["batch_start"] + head["size"]]
        assert head["crc"] == (zlib.crc32(unit[16:]) if head["magic"] < 2 else crc32c(unit[21:]))


def test_damage_over_several_batches_tells_all_offsets_that_are_lost(tmp_path: Path) -> None:
    data = bytearray((Path(__file__).parent / "golden" / "kafka" / "many-records.log").read_bytes())
    data[4096:8192] = bytes(4096)
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    with thawline.open(tmp_path / "00000000000000000000.log") as cold:
        (finding,) = [found for found in cold.findings() if found.severity == "error"]
        rows = {offset for batch in cold.batches(["offset"]) for offset in batch["offset"].to_pylist()}
    lost = sorted(set(range(1001)) - rows)
    assert finding.detail["lost"] == (
        f"1 batch of 143 records, offsets {lost[0]} to 428, and records in offsets 429 to {lost[-1]} after it"
    )
