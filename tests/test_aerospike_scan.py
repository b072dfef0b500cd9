"""What is read of damaged, odd and hostile Aerospike backups, and what is said about the rest."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from accounts import Golden, golden_files
from backups import DIGEST, HEADER, Lines, digest_of, keyed, numbered, text_bin

import thawline
from thawline.cold import ColdFile
from thawline.formats.aerospike import Aerospike, Backup
from thawline.formats.aerospike import text as texts
from thawline.formats.contract import Depth
from thawline.model import Finding, Run
from thawline.source import LocalSource, open_source

QUICK = ("document-sample.asb", "interleaved.asb", "bins.asb", "version-3.0.asb")
EACH = [
    pytest.param(golden, id=golden.name, marks=() if golden.name.endswith(QUICK) else pytest.mark.fuzz)
    for golden in golden_files("aerospike")
    if len(golden.data) < 2000
]


def opened(data: bytes, **options: object) -> ColdFile:
    return thawline.open(data, "aerospike", **options)


def codes(data: bytes, **options: object) -> list[str]:
    return [finding.code.id for finding in opened(data, **options).verify().findings]


def only(data: bytes, **options: object) -> Finding:
    (finding,) = opened(data, **options).verify().findings
    return finding


def rows(data: bytes, **options: object) -> list[dict[str, object]]:
    return [row for batch in opened(data, **options).batches() for row in batch.to_pylist()]


def numbers(data: bytes, **options: object) -> list[object]:
    """The first integer bin of every row."""
    return [row["bins"][0]["integer"] for row in rows(data, **options)]  # type: ignore[index]


def ends_of_entries(data: bytes) -> set[int]:
    source, found = open_source(data), Backup(Aerospike(strict=False))
    runs = [item for item in found.walk(source, Depth.EVERYTHING) if isinstance(item, Run)]
    return {span.end for run in runs for span in found.units(source, run)}


@pytest.mark.parametrize("golden", EACH)
def test_a_cut_is_an_error_at_every_byte_that_ends_no_entry(golden: Golden) -> None:
    ends = ends_of_entries(golden.data)
    for cut in set(range(len(golden.data))) - ends:
        errors = [finding for finding in opened(golden.data[:cut]).verify().findings if finding.severity == "error"]
        assert "ASB101" in {finding.code.id for finding in errors}, cut


def test_a_cut_says_where_the_last_complete_record_ends() -> None:
    data = HEADER + numbered(1) + numbered(2)
    finding = only(data[:-5])
    assert finding.code.id == "ASB101"
    assert finding.span.start == finding.detail["last_complete_record_ends_at"] == len(HEADER + numbered(1))
    assert finding.span.end == len(data) - 5
    assert "digest 0000000000000002" in str(finding.detail["lost"])


def test_an_empty_file_is_not_called_clean() -> None:
    assert codes(b"") == ["ASB101"]


@pytest.mark.parametrize("golden", EACH)
def test_a_changed_byte_never_stops_the_reading(golden: Golden) -> None:
    for at in range(len(golden.data)):
        data = bytearray(golden.data)
        data[at] ^= 0x11 if at % 2 else 0x04
        for strict in (True, False):
            cold = opened(bytes(data), strict=strict)
            report = cold.verify()
            assert report.rows == sum(batch.num_rows for batch in cold.batches())


def test_damage_costs_one_record() -> None:
    records = [numbered(index) for index in range(5)]
    data = HEADER + b"".join(records)
    broken = data.replace(b"- I n 2\n", b"- I n x\n")
    assert numbers(broken) == [0, 1, 3, 4]
    finding = only(broken)
    start = len(HEADER + b"".join(records[:2]))
    assert (finding.code.id, finding.span.start, finding.span.size) == ("ASB102", start, len(records[2]))
    assert finding.detail["at"] == start + records[2].index(b"2\n", -3)


def test_a_size_that_is_too_large_costs_one_record() -> None:
    data = HEADER + numbered(0) + numbered(1, text_bin(b"t", b"x" * 10)) + b"".join(map(numbered, range(2, 99)))
    broken = data.replace(b"- S t 10 ", b"- S t 90 ")
    assert len(rows(broken)) == 98
    assert only(broken).code.id == "ASB102"


def test_a_record_with_more_bins_than_it_counts_is_not_returned_without_them() -> None:
    data = HEADER + numbered(0) + numbered(1, b"- I n 1", b"- I m 2").replace(b"+ b 2", b"+ b 1") + numbered(2)
    assert numbers(data) == [0, 2]
    finding = only(data)
    assert finding.detail["reason"] == "the bin count is 1, and more bins follow"
    assert finding.span.start == len(HEADER + numbered(0))


LOOKS_LIKE_RECORDS = b"\n" + numbered(77) + numbered(78) + b"and more"


def test_records_inside_of_values_of_intact_records_are_not_looked_at() -> None:
    holder = numbered(1, b"- I n 1", text_bin(b"t", LOOKS_LIKE_RECORDS))
    broken = HEADER + numbered(0).replace(b"+ g 1", b"+ g x", 1) + holder + numbered(2)
    assert numbers(broken) == [1, 2]
    assert {row["suspect"] for row in rows(broken)} == {None}


def test_records_inside_of_a_value_of_a_broken_record_are_labelled() -> None:
    holder = numbered(1, b"- I n 1", text_bin(b"t", LOOKS_LIKE_RECORDS)).replace(b"+ g 1", b"+ g x", 1)
    broken = HEADER + numbered(0) + holder + numbered(2)
    assert [(row["bins"][0]["integer"], row["suspect"]) for row in rows(broken)] == [  # type: ignore[index]
        (0, None), (77, "nested"), (78, "nested"), (2, None),
    ]  # fmt: skip


def test_records_inside_of_a_value_that_is_cut_are_labelled() -> None:
    cut = HEADER + numbered(0) + numbered(1, text_bin(b"t", LOOKS_LIKE_RECORDS))[:-3]
    assert [row["suspect"] for row in rows(cut)] == [None, "nested", "nested"]
    assert "ASB101" in codes(cut)


def test_salvage_leaves_out_what_only_looks_like_a_record(tmp_path: Path) -> None:
    from thawline.verbs.salvage import salvage  # noqa: PLC0415

    holder = numbered(1, text_bin(b"t", LOOKS_LIKE_RECORDS)).replace(b"+ g 1", b"+ g x", 1)
    done = salvage(opened(HEADER + numbered(0) + holder + numbered(2)), tmp_path / "out.asb")
    assert (done.suspects, (tmp_path / "out.asb").read_bytes()) == (2, HEADER + numbered(0) + numbered(2))


def test_a_wrong_digest_is_damage_strictly_and_a_suspect_leniently() -> None:
    data = HEADER + keyed(1) + keyed(2).replace(b"+ s demo", b"+ s demi") + keyed(3)
    finding = only(data)
    assert (finding.code.id, finding.span.size) == ("ASB105", len(keyed(2)))
    assert "key 'user2'" in str(finding.detail["lost"])
    assert codes(data, strict=False) == ["ASB205"]
    assert [row["suspect"] for row in rows(data)] == [None, "digest", None]
    assert [row["suspect"] for row in rows(data, strict=True)] == [None, None]


def test_keys_of_every_type_have_the_right_digest() -> None:
    golden = next(golden for golden in golden_files("aerospike") if golden.name.endswith("keys.asb"))
    assert codes(golden.data) == []
    for place in (b"key1", b"+ k I -1", b"+ k D 1.5", b"text", b"+ s a\\ set"):
        assert place in golden.data or place == b"text"
    assert codes(golden.data.replace(b"+ k D 1.5", b"+ k D 2.5")) == ["ASB105"]
    assert codes(golden.data.replace(b"+ k I -1", b"+ k I -2")) == ["ASB105"]


MAP = bytes.fromhex("81 a2 03 61 01")


@pytest.mark.parametrize(
    "bin_line, code",
    [
        (b"- M! m %d %s" % (len(MAP) + 1, MAP + b"\0"), "ASB106"),
        (b"- M! m %d %s" % (len(MAP) - 1, MAP[:-1]), "ASB106"),
        (b"- L! m %d %s" % (len(MAP), MAP), "ASB106"),
        (b"- L! m 70 " + b"\x91" * 70, "ASB106"),
        (b"- L! m 5 \xdd\xff\xff\xff\xff", "ASB106"),
        (b"- Y! m 11 " + bytes([0, 4, 0]) + bytes(8), "ASB107"),
        (b"- Y! m 3 abc", "ASB107"),
        (b"- Y! m 23 " + bytes([0, 99, 0]) + bytes(20), "ASB107"),
    ],
)
def test_values_with_a_structure_are_checked(bin_line: bytes, code: str) -> None:
    data = HEADER + numbered(0) + numbered(1, bin_line) + numbered(2)
    assert codes(data) == [code]
    assert codes(data, strict=False) == [code.replace("1", "2", 1)]
    assert [row["suspect"] for row in rows(data)] == [None, "value", None]
    assert rows(data)[1]["bins"][0]["bytes"] == bin_line.split(b" ", 4)[4]  # type: ignore[index]


def test_a_string_that_is_not_utf_8_is_kept_as_bytes() -> None:
    data = HEADER + numbered(0, text_bin(b"t", b"gr\xfcn")) + numbered(1, text_bin(b"t", "grün".encode()))
    assert codes(data) == ["ASB201"]
    found = [row["bins"][0] for row in rows(data)]  # type: ignore[index]
    assert [(each["text"], each["bytes"]) for each in found] == [(None, b"gr\xfcn"), ("grün", None)]


ONE_TOOL = [
    (b"- I a-name-of-16-by 1", "ASB103", "bin name of 16 bytes; the limit is 15"),
    (b"- D d 0x1p-2", "ASB103", "double '0x1p-2'"),
    (b"- D d 1E5", "ASB103", "double '1E5'"),
    (b"- D d 1e400", "ASB104", "double '1e400'"),
    (b"- I i ", "ASB104", "an empty number (integer), which asrestore takes for 0"),
    (b"- Z z \\T", "ASB104", "a backslash before T or F"),
    (b"- B b 5 YQ\n==", "ASB103", "line ends in base-64"),
]


@pytest.mark.parametrize("bin_line, code, reason", ONE_TOOL)
def test_findings_say_which_tool_refuses_a_line(bin_line: bytes, code: str, reason: str) -> None:
    bin_line = bin_line.replace(b"16-by ", b"16-byt ")
    data = HEADER + numbered(0) + numbered(1, bin_line) + numbered(2)
    finding = only(data)
    assert (finding.code.id, finding.detail["reason"]) == (code, reason)
    assert finding.message == ("asrestore" if code == "ASB103" else "backup-go") + " refuses this line"
    assert codes(data, strict=False) == [code.replace("1", "2", 1)]
    assert (len(rows(data, strict=True)), len(rows(data))) == (2, 3)


@pytest.mark.parametrize(
    "bin_line, column, value",
    [
        (b"- D d 0x1p-2", "double", 0.25),
        (b"- D d 1e400", "double", float("inf")),
        (b"- I i ", "integer", 0),
        (b"- I i 1\\2", "integer", 12),
        (b"- Z z \\T", "boolean", True),
        (b"- B b 5 YQ\n==", "bytes", b"a"),
        (b"- S s \\3 abc", "text", "abc"),
    ],
)
def test_leniently_a_value_is_what_the_tool_that_reads_it_takes_it_for(
    bin_line: bytes, column: str, value: object
) -> None:
    (row,) = rows(HEADER + numbered(0, bin_line))
    assert row["bins"][0][column] == value  # type: ignore[index]


@pytest.mark.parametrize(
    "bin_line, reason",
    [
        (b"- I i 9223372036854775808", "does not fit 64 bits"),
        (b"- B b 4 ====", "padding where none belongs"),
        (b"- U u 1 a", "large data type"),
        (b"- Q q 1 a", "no type of bin has the letter 'Q'"),
        (b"- N n 1", "a value after a bin that has none"),
        (b"- D d 0x1p99999", "is no number"),
        (b"- D d " + b"1" * 5000, "5 000 characters"),
        (b"- S s 99999999999 a", "is out of range"),
    ],
)
def test_what_no_tool_reads_or_one_makes_up_is_damage_either_way(bin_line: bytes, reason: str) -> None:
    data = HEADER + numbered(0) + numbered(1, bin_line) + numbered(2)
    for strict in (True, False):
        (finding,) = opened(data, strict=strict).verify().findings
        assert reason in str(finding.detail["reason"])
        assert finding.code.id in ("ASB102", "ASB111")
        assert numbers(data, strict=strict) == [0, 2]


def test_what_is_unknown_is_a_finding_and_the_rest_is_read() -> None:
    data = HEADER + b"* i test set1 idx S 1  E\n* z what is this\n" + numbered(1) + b"* x\n" + numbered(2)
    assert codes(data) == ["ASB111", "ASB111"]
    assert numbers(data) == [1, 2]


def test_version_3_0_has_no_escapes() -> None:
    data = b"Version 3.0\n" + Lines((b"- I a\\ 1",), found_set=b"a\\ b").data() + Lines().data()
    (first, second) = rows(data)
    assert (first["set"], first["bins"][0]["name"]) == ("a\\ b", "a\\")  # type: ignore[index]
    assert second["set"] == "demo"
    assert codes(data) == []


def test_version_3_2_is_read_strictly_and_older_ones_only_leniently() -> None:
    expression = b"* e test set1 idx N 1  N AQID\n"
    assert codes(b"Version 3.2\n" + expression) == []
    assert codes(b"Version 3.1\n" + expression) == ["ASB103"]
    assert codes(b"Version 2.9\n" + numbered(1)) == ["ASB103"]
    assert codes(b"Version 2.9\n" + numbered(1), strict=False) == ["ASB203"]
    assert codes(b"Version 3.3\n" + numbered(1)) == ["ASB108"]
    assert numbers(b"Version 3.3\n" + numbered(1)) == [1]


def test_records_are_found_in_a_file_that_lost_its_beginning() -> None:
    data = (HEADER + numbered(1) + numbered(2))[60:]
    assert codes(data) == ["ASB108"]
    assert numbers(data) == [2]


# Containers.


def frames(*parts: bytes, **options: bool) -> bytes:
    return b"".join(zstandard.ZstdCompressor(**options).compress(part) for part in parts)


def test_compressed_files_hold_the_same_rows_in_any_number_of_frames() -> None:
    plain = HEADER + b"".join(map(numbered, range(500)))
    for data in (frames(plain), frames(plain[:100], plain[100:7777], b"", plain[7777:], write_checksum=True)):
        assert rows(data) == rows(plain)
        report = opened(data).verify()
        assert (report.ok, report.rows, report.intact_bytes) == (True, 500, len(data))


def test_rows_of_compressed_runs_can_be_read_again_one_by_one() -> None:
    plain = HEADER + b"".join(map(numbered, range(900)))
    cold = opened(frames(plain[:5000], plain[5000:]))
    runs = [item for item in cold.scan() if isinstance(item, Run)]
    found: list[int] = []
    for run in reversed(runs):
        reading = cold.kind.rows(cold.source, [run.portable()], "records", ["bins"])
        batches = [batch for item in reading if not isinstance(item, Finding) for batch in item[1]]
        found[:0] = [row["bins"][0]["integer"] for batch in batches for row in batch.to_pylist()]
    assert found == list(range(900))


def test_damage_inside_of_compressed_text_says_where_in_the_text_it_is() -> None:
    plain = HEADER + numbered(0) + numbered(1, b"- I n x") + numbered(2)
    finding = only(frames(plain))
    assert finding.code.id == "ASB102"
    assert (finding.span.size, finding.detail["text_start"]) == (0, len(HEADER + numbered(0)))
    assert numbers(frames(plain)) == [0, 2]


def three_frames(*, write_checksum: bool) -> tuple[bytes, list[bytes]]:
    """A compressed file of 3000 records, and its frames."""
    records = [numbered(index, b"- I n %d" % index, text_bin(b"t", b"%d " % index**7)) for index in range(3000)]
    parts = [HEADER + b"".join(records[:1000]), b"".join(records[1000:2000]), b"".join(records[2000:])]
    made = [frames(part, write_checksum=write_checksum) for part in parts]
    return b"".join(made), made


def test_a_damaged_frame_costs_what_is_in_it() -> None:
    data, (first, second, _) = three_frames(write_checksum=False)
    at = len(first) + len(second) // 2
    data = data[:at] + bytes(200) + data[at + 200 :]
    report = opened(data).verify()
    found = set(numbers(data))
    assert "ASB110" in {finding.code.id for finding in report.findings}
    assert found >= {*range(1000), *range(2000, 3000)}
    assert len(found) < 3000
    assert not report.ok


def test_records_of_a_frame_with_a_wrong_checksum_are_suspects() -> None:
    data, (first, second, _) = three_frames(write_checksum=True)
    end = len(first) + len(second)
    data = data[: end - 1] + bytes([data[end - 1] ^ 1]) + data[end:]
    assert codes(data) == ["ASB110"]
    assert {row["suspect"] for row in rows(data)[1000:2000]} == {"frame"}
    assert {row["suspect"] for row in rows(data)[:1000] + rows(data)[2000:]} == {None}


def test_the_pass_for_a_checksum_keeps_no_page_that_it_is_done_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.asb"
    path.write_bytes(frames(HEADER + b"".join(map(keyed, range(9000))), write_checksum=True))
    released: list[int] = []
    monkeypatch.setattr(texts, "WINDOW", 1 << 14)
    monkeypatch.setattr(LocalSource, "release", lambda _, end: released.append(end))
    with thawline.open(path) as cold:
        text = texts.ZstdText(cold.source.view(0, cold.source.size), release=cold.source.release)
        assert len(text.window(0, 100)[0]) == 100
    assert len(released) > 3
    assert max(released) > path.stat().st_size - (1 << 17)


def test_a_compressed_file_that_is_cut_is_an_error_at_every_byte() -> None:
    data = frames(HEADER + numbered(0), numbered(1), numbered(2))
    ends = {len(frames(HEADER + numbered(0))), len(frames(HEADER + numbered(0), numbered(1)))}
    for cut in set(range(4, len(data))) - ends:
        assert not opened(data[:cut]).verify().ok, cut


def test_a_small_compressed_file_does_not_grow_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "WINDOW", 1 << 20)
    monkeypatch.setattr(texts.ZstdText, "step", 1 << 20)
    bomb = HEADER + numbered(0) + b"\0" * (64 << 20)
    started = time.process_time()
    report = opened(frames(bomb)).verify()
    assert (report.rows, report.ok) == (1, False)
    assert time.process_time() - started < 20


def test_encrypted_files_are_named(tmp_path: Path) -> None:
    import random  # noqa: PLC0415

    path = tmp_path / "test_00000.asb"
    path.write_bytes(random.Random(1).randbytes(5000))
    with thawline.open(path) as cold:
        assert cold.format.name == "aerospike"
        assert [finding.code.id for finding in cold.findings()] == ["ASB109"]


def test_xdr_backups_are_named(tmp_path: Path) -> None:
    path = tmp_path / "0_test_1.asbx"
    path.write_bytes(b"\1" + (1).to_bytes(8, "big") + bytes(4) + b"source-ns1".ljust(31, b"\0") + DIGEST)
    with thawline.open(path) as cold:
        assert [finding.code.id for finding in cold.findings()] == ["ASB112"]


# Cost.


HEAD = b"+ n t\n+ d " + b"A" * 27 + b"=\n+ g 1\n+ t 0\n"
HOSTILE = {
    "sizes that claim the rest": (HEAD + b"+ b 1\n- S a 999999999 \n") * 3000,
    "starts without an end": b"+ k S 9 \n+ n " * 20_000,
    "starts whose line feed is escaped": b"+ n a\\\n" * 100_000,
    "digests in one long line": (b"+ n a\n+ d AAAA" + b"\n" * 9) * 50_000,
    "records in records": (HEAD + b"+ b 2\n- I a 1\n") * 3000,
    "kinds that change with every line": (numbered(1) + b"* i n s i N 1 b N\n") * 1500,
    "one very long line": b"+ n " + b"a" * 3_000_000,
    "only line feeds": b"\n" * 1_000_000,
    "deep lists": numbered(1, b"- L! l 500000 " + b"\x91" * 500_000) * 3,
    "counts beyond the end": numbered(1, b"- L! l 5 \xdd\x7f\xff\xff\xff") * 2000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_time_in_proportion_to_its_size(name: str) -> None:
    started = time.process_time()
    data = HEADER + HOSTILE[name]
    report = opened(data).verify()
    assert report.intact_bytes + report.damaged_bytes == len(data)
    assert time.process_time() - started < 10


def test_version_3_0_costs_no_more_where_a_backslash_is_far_away() -> None:
    data = b"Version 3.0\n" + b"".join(map(numbered, range(20_000))) + Lines(found_set=b"a\\b").data() + Lines().data()
    started = time.process_time()
    found = rows(data)
    assert (len(found), found[-2]["set"], found[-1]["set"]) == (20_002, "a\\b", "demo")
    assert time.process_time() - started < 10


def test_leniently_a_digest_or_an_expiration_is_what_the_tool_that_reads_it_takes_it_for() -> None:
    longer = Lines(key=b"S 5 user1", digest=digest_of(b"demo", "S", b"user1")).data().replace(b"=\n+ s", b"A\n+ s")
    later = Lines(expiration=b"4294967296").data()
    assert codes(HEADER + longer) == ["ASB104"]
    assert codes(HEADER + later) == ["ASB103"]
    (row,) = rows(HEADER + longer)
    assert (row["digest"], row["suspect"]) == (digest_of(b"demo", "S", b"user1"), "backup-go")
    (row,) = rows(HEADER + later)
    assert row["expiration"] == datetime(2146, 2, 7, 6, 28, 16, tzinfo=UTC)
    assert codes(HEADER + Lines(expiration=b"9223372036854775807").data(), strict=False) == ["ASB102"]
