from __future__ import annotations

import json
import os
import random
import tracemalloc
from decimal import Decimal
from pathlib import Path

import pytest
import zstandard
from accounts import golden_files
from crc32c import crc32c
from rbak_segments import CODECS, START, codes, document, head, only, records, rows, sealed, segment, stored, verified

import thawline
from thawline.errors import UnknownFormat
from thawline.formats.contract import read
from thawline.formats.rbak import payload
from thawline.formats.rbak.payload import Ending, documents
from thawline.inflow import Pieces
from thawline.model import Report
from tools.samples.rbak import ALL_PROPERTIES, HEADER_SHAPES, RECORD, TAGGED_VALUES

WHOLE = segment(records(5))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_gives_every_row(codec: str) -> None:
    data = segment(records(300), CODECS[codec])
    report = verified(data)
    assert (report.findings, report.units, report.rows, report.intact_bytes) == ([], 1, 300, len(data))
    assert [row["body"] for row in rows(data)] == [b"message %d" % number for number in range(300)]


def test_the_columns_of_a_message_are_those_of_its_record() -> None:
    data = segment([RECORD | {"properties": ALL_PROPERTIES, "delivery_tag": 2**64 - 1}])
    with thawline.open(data, "rbak") as cold:
        (row,) = (row for batch in cold.batches() for row in batch.to_pylist())
        names = cold.schema.names
    assert names[:8] == [
        "vhost", "queue", "exchange", "routing_key", "delivery_tag", "redelivered", "backed_up_at", "body",
    ]  # fmt: skip
    assert names[-4:] == ["headers", "headers_json", "segment", "record_index"]
    assert (row["vhost"], row["queue"], row["exchange"]) == ("/", "orders", "orders.exchange")
    assert row["delivery_tag"] == Decimal(2**64 - 1)
    assert row["body"] == b"bytes"
    assert row["backed_up_at"].isoformat() == "2024-04-10T13:40:00.123000+00:00"
    for name, value in ALL_PROPERTIES.items():
        assert row["type" if name == "type_field" else name] == value


@pytest.mark.parametrize("shape", [name for name in HEADER_SHAPES if name != "none"])
def test_every_shape_of_headers_gives_keys_and_json(shape: str) -> None:
    (row,) = rows(segment([RECORD | {"headers": HEADER_SHAPES[shape]}]))
    given = HEADER_SHAPES[shape]
    if isinstance(given, dict):
        expected = list(given.items())
    else:
        expected = [(entry["key"], entry["value"]) if isinstance(entry, dict) else tuple(entry) for entry in given]
    assert [(entry["key"], json.loads(entry["value"])) for entry in row["headers"]] == expected
    assert json.loads(row["headers_json"]) == given


def test_tagged_header_values_keep_their_tag() -> None:
    (row,) = rows(segment([RECORD | {"headers": TAGGED_VALUES}]))
    assert {entry["key"]: entry["value"] for entry in row["headers"]}["u32"] == '{"LongUInt":4294967295}'


def test_a_body_of_no_bytes_is_not_the_same_as_no_body() -> None:
    given = [RECORD | {"body": None}, RECORD | {"body": []}, {key: RECORD[key] for key in RECORD if key != "body"}]
    assert [row["body"] for row in rows(segment(given))] == [None, b"", None]


def test_rows_of_golden_files_are_those_of_their_accounts() -> None:
    for golden in golden_files("rbak"):
        (unit,) = golden.account["units"]
        documents = [json.loads(bytes.fromhex(record["json"])) for record in unit["content"]["fields"]["records"]]
        found = rows(golden.data, ["queue", "body", "backed_up_at_ms", "message_id", "record_index", "delivery_tag"])
        assert found == [
            {
                "queue": given["source_queue"],
                "delivery_tag": Decimal(given["delivery_tag"]),
                "body": None if given["body"] is None else bytes(given["body"]),
                "message_id": given["properties"]["message_id"],
                "record_index": index,
                "backed_up_at_ms": given["backed_up_at"],
            }
            for index, given in enumerate(documents)
        ]


def test_a_file_shorter_than_header_and_footer_is_called_too_short() -> None:
    for size in (0, 1, 4, 39):
        report = verified(WHOLE[:size])
        assert codes(report) == ["RBK101"]
        assert report.damaged_bytes == size


def test_each_step_of_the_reading_procedure_has_its_own_finding() -> None:
    payload = segment([RECORD])[32:-8]
    cases = {
        "RBK102": b"X" + WHOLE[1:],
        "RBK103": WHOLE[:-1],
        "RBK104": flipped(WHOLE, 100),
        "RBK105": sealed(head(0, 1, version=2) + payload),
        "RBK106": sealed(head(9, 1) + payload),
        "RBK107": sealed(head(1, 1) + b"no zstd"),
        "RBK108": sealed(head(0, 1) + payload + b"\x09\0\0\0tail"),
        "RBK109": sealed(head(0, 2) + payload),
    }
    for code, data in cases.items():
        assert codes(verified(data))[0] == code, code


def test_a_wrong_checksum_shows_what_is_stored_and_computed_and_costs_the_segment() -> None:
    data = flipped(WHOLE, 100)
    finding = only(verified(data))
    assert finding.detail["crc32_stored"] == int.from_bytes(WHOLE[-8:-4], "little")
    assert finding.detail["crc32_computed"] != finding.detail["crc32_stored"]
    assert (finding.span.start, finding.span.end) == (0, len(data))
    assert finding.hint.startswith("thawline salvage ")
    assert rows(data) == []


def test_a_checksum_of_the_other_polynomial_is_named_and_the_rows_are_read() -> None:
    data = WHOLE[:-8] + crc32c(WHOLE[:-8]).to_bytes(4, "little") + b"KABR"
    report = verified(data)
    assert (codes(report), report.ok, report.rows) == (["RBK201"], True, 5)
    assert only(report).detail == {"polynomial": "Castagnoli"}


def test_reserved_bytes_that_are_not_zero_are_a_remark() -> None:
    covered = bytearray(WHOLE[:-8])
    covered[6:8] = b"\x01\x02"
    report = verified(sealed(bytes(covered)))
    assert (codes(report), report.ok, report.rows) == (["RBK301"], True, 5)


def test_a_count_that_is_too_small_or_too_large_is_reported_and_costs_no_row() -> None:
    payload = WHOLE[32:-8]
    fewer = verified(sealed(head(0, 3, (START, START + 4000)) + payload))
    more = verified(sealed(head(0, 9, (START, START + 4000)) + payload))
    assert (only(fewer).detail["records_surplus"], fewer.rows) == (2, 5)
    assert (only(more).detail["records_missing"], more.rows) == (4, 5)
    assert "4 of 9 messages" in str(only(more).detail["lost"])


BAD_RECORDS = {
    b"": "RBK110",
    b"{": "RBK110",
    b"[]": "RBK112",
    b"null": "RBK112",
    b'{"body":[1,2]}}': "RBK110",
    b'{"exchange":"\xff"}': "RBK110",
    b'{"exchange":"\\ud800"}': "RBK110",
    b'{"x":NaN}': "RBK110",
    b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}": "RBK110",
    b'{"x":' + b'{"y":' * 100_000 + b"1" + b"}" * 100_001: "RBK110",
    b'{"body":[0,256]}': "RBK111",
    b'{"body":[-1]}': "RBK111",
    b'{"body":[1.5]}': "RBK111",
    b'{"body":["a"]}': "RBK112",
    b'{"body":"text"}': "RBK112",
    b'{"delivery_tag":18446744073709551616}': "RBK112",
    b'{"delivery_tag":1e3}': "RBK112",
    b'{"backed_up_at":9223372036854775808}': "RBK112",
    b'{"properties":{"priority":256}}': "RBK112",
    b'{"properties":"none"}': "RBK112",
    b'{"redelivered":"false"}': "RBK112",
    b'{"headers":"none"}': "RBK112",
}


@pytest.mark.parametrize("bad", BAD_RECORDS, ids=lambda bad: bad[:24].decode("latin-1") + f" ({len(bad)})")
def test_a_bad_record_costs_itself_and_no_other(bad: bytes) -> None:
    data = stored(document(), bad, document())
    report = verified(data)
    finding = only(report)
    assert (finding.code.id, finding.span.size, report.rows) == (BAD_RECORDS[bad], 0, 2)
    assert finding.detail["record_index"] == 1
    second = 4 + len(document()) + 4
    assert second <= finding.detail["payload_offset"] <= second + len(bad)  # type: ignore[operator]
    assert [row["record_index"] for row in rows(data)] == [0, 2]


def test_a_wrong_type_names_its_field() -> None:
    finding = only(verified(stored(document(delivery_tag="42"))))
    assert finding.detail["field"] == "delivery_tag"
    assert str(finding.detail["found"]).startswith('"42"')


def test_many_bad_records_are_counted_not_listed() -> None:
    report = verified(stored(*[b"{"] * 5000))
    bad = [finding for finding in report.findings if finding.code.id == "RBK110"]
    assert len(bad) == 101
    assert bad[-1].detail["records"] == 4900


def test_keys_that_are_not_known_are_passed_over() -> None:
    data = stored(document(later={"a": [1, {"b": "\u2028"}]}, properties={"new": 1, "app_id": "x"}))
    assert codes(verified(data)) == []
    assert rows(data)[0]["app_id"] == "x"


def test_missing_fields_are_null_and_a_warning() -> None:
    report = verified(stored(b'{"body":[1]}', times=(0, 0)))
    assert (codes(report), report.ok, report.rows) == (["RBK203"], True, 1)


def test_headers_of_an_unknown_shape_are_null_and_kept_as_json() -> None:
    data = stored(document(headers=[["k"], 5]))
    assert codes(verified(data)) == ["RBK204"]
    (row,) = rows(data)
    assert (row["headers"], row["headers_json"]) == (None, '[["k"],5]')


def test_times_of_the_header_that_no_record_has_are_a_warning() -> None:
    assert codes(verified(stored(document(), times=(1, 2)))) == ["RBK202"]


def test_a_payload_above_the_bound_is_cut_there_and_says_so() -> None:
    data = segment(records(2000, b"x" * 500), CODECS["zstd"])
    report = verified(data, max_payload=1 << 20)
    assert codes(report) == ["RBK114", "RBK109"]
    assert 0 < report.rows < 2000


def test_a_bomb_costs_no_more_memory_than_the_bound() -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 28))
    tracemalloc.start()
    report = verified(sealed(head(1, 1) + bomb), max_payload=4 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "RBK114" in codes(report)
    assert peak < 32 << 20


def test_bytes_behind_a_segment_are_told_from_it() -> None:
    report = verified(WHOLE + bytes(100))
    assert (codes(report), report.rows, report.intact_bytes, report.damaged_bytes) == (["RBK113"], 5, len(WHOLE), 100)


def test_segments_end_to_end_are_each_read() -> None:
    other = segment(records(7), CODECS["zstd"])
    report = verified(WHOLE + other)
    assert (report.findings, report.units, report.rows) == ([], 2, 12)


def test_a_segment_behind_other_bytes_is_found() -> None:
    for size in (20, 4000):
        report = verified(b"junk" * (size // 4) + WHOLE)
        assert (codes(report), report.rows, report.damaged_bytes) == (["RBK113"], 5, size)


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_segment_that_lost_its_magic_is_not_taken_for_other_bytes(place: str) -> None:
    broken = b"rBAK" + segment(records(7))[4:]
    report = verified(broken + WHOLE if place == "before" else WHOLE + broken)
    assert (codes(report), report.rows, report.damaged_bytes) == (["RBK102"], 5, len(broken))


@pytest.mark.parametrize(
    ("before", "code"),
    [(b"KABR", "RBK101"), (b"xKABR", "RBK101"), (b"KABRKABR", "RBK101"), (b"KABR" + bytes(28), "RBK113")],
)
def test_an_end_at_the_start_of_a_file_ends_nothing(before: bytes, code: str) -> None:
    report = verified(before + WHOLE)
    assert (codes(report), report.rows, report.intact_bytes) == ([code], 5, len(WHOLE))
    with pytest.raises(UnknownFormat):
        thawline.open(before + bytes(29) + b"RBAK")


def test_many_false_starts_cost_a_bounded_number_of_passes() -> None:
    report = verified(b"RBAKKABR" * 100_000)
    assert report.damaged_bytes == report.size


def test_the_outline_reads_heads_only_and_agrees_with_the_scan_about_intact_files() -> None:
    for golden in golden_files("rbak"):
        with thawline.open(golden.data, "rbak") as cold:
            whole, heads = cold.verify(), cold.verify(heads_only=True)
        assert (heads.rows, heads.units, heads.ok) == (whole.rows, whole.units, True), golden.name


def test_the_outline_does_not_see_damage_in_a_payload() -> None:
    with thawline.open(flipped(WHOLE, 100), "rbak") as cold:
        assert cold.verify(heads_only=True).ok
        assert not cold.verify().ok


def test_the_segments_table_is_the_header() -> None:
    with thawline.open(segment(records(5), CODECS["zstd"]), "rbak", table="segments") as cold:
        (row,) = (row for batch in cold.batches() for row in batch.to_pylist())
    assert (row["compression"], row["record_count"], row["size_bytes"]) == ("zstd", 5, row["payload_bytes"] + 40)
    assert row["first_timestamp"].timestamp() * 1000 == START


@pytest.mark.parametrize(
    "since, until, expected",
    [
        (START + 1000, START + 3000, [1, 2, 3]),
        (START + 1001, START + 2999, [2]),
        (START + 3000, None, [3, 4]),
        (None, START, [0]),
        (START + 4001, None, []),
        (None, None, [0, 1, 2, 3, 4]),
    ],
)
@pytest.mark.parametrize("prune", ["hint", "strict", "off"])
def test_the_time_window_includes_both_ends(
    since: int | None, until: int | None, expected: list[int], prune: str
) -> None:
    options = {name: value for name, value in {"since": since, "until": until}.items() if value is not None}
    assert [row["record_index"] for row in rows(WHOLE, prune=prune, **options)] == expected


def test_a_segment_far_outside_the_window_is_not_read_at_all() -> None:
    damaged = flipped(WHOLE, 100)
    report = verified(damaged, since=START + 4_000_000)
    assert (codes(report), report.ok) == (["RBK303"], True)
    assert codes(verified(damaged, since=START + 4_000_000, prune="off")) == ["RBK104"]


def test_a_header_is_only_a_hint_about_times() -> None:
    late = records(2)
    late[0]["backed_up_at"] = START + 1_000_000
    late[1]["backed_up_at"] = START
    data = stored(*[document(**record) for record in late], times=(START, START))
    assert [row["record_index"] for row in rows(data, since=START + 900_000)] == [0]
    assert rows(data, since=START + 900_000, prune="strict") == []


def test_clocks_that_stepped_back_do_not_hide_records() -> None:
    back = records(3)[::-1]
    assert len(rows(segment(back), since=START, until=START + 2000, prune="strict")) == 3


def test_a_record_longer_than_the_window_is_read() -> None:
    body = random.Random(3).randbytes(6 << 20)
    data = segment([RECORD | {"body": list(body)}, RECORD], CODECS["zstd"])
    assert [row["body"] for row in rows(data)] == [body, b"bytes"]


@pytest.mark.parametrize("is_read", [True, False])
def test_rows_of_a_long_segment_come_first_and_what_is_wrong_in_it_behind_them(
    monkeypatch: pytest.MonkeyPatch, *, is_read: bool
) -> None:
    monkeypatch.setattr(payload, "WINDOW", 2000)
    data = segment([*[RECORD] * 40, RECORD | {"body": [300]}], CODECS["zstd"])
    with thawline.open(data) as cold:
        reading = read(cold.kind, cold.source, "messages", ["queue"])
        run, batches = next(reading)
        assert run.rows == 41  # as its header counts them
        if is_read:
            assert sum(batch.num_rows for batch in batches) == 40
        found = list(reading)
        assert found == list(cold.findings())
        assert [finding.code.id for finding in found] == ["RBK111"]


def test_rows_do_not_depend_on_how_the_codec_cuts_the_payload() -> None:
    payload = WHOLE[32:-8]
    for size in (1, 3, 7, 100, len(payload)):
        ending = Ending()
        pieces = Pieces(payload[at : at + size] for at in range(0, len(payload), size))
        assert sum(len(found.chunk) for found in documents(pieces, ending)) == 5
        assert (ending.size, ending.torn, ending.error) == (len(payload), [], None)


def test_a_file_is_recognised_by_its_magic_or_its_end() -> None:
    with thawline.open(WHOLE) as cold:
        assert cold.claim is not None
        assert (cold.format.name, cold.claim.confidence) == ("rbak", "certain")
    with thawline.open(b"X" + WHOLE[1:]) as cold:
        assert cold.claim is not None
        assert (cold.format.name, cold.claim.confidence) == ("rbak", "likely")


def test_reading_twice_gives_the_same_report() -> None:
    def of(report: Report) -> list[tuple[str, object]]:
        return [(finding.code.id, finding.span) for finding in report.findings]

    data = flipped(segment(records(50), CODECS["zstd"]), 200)
    assert of(verified(data)) == of(verified(data))


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_the_name_of_a_segment_that_is_not_utf8_is_escaped(tmp_path: Path, codec: str) -> None:
    path = tmp_path / os.fsdecode(b"\xff\xfe.log")
    path.write_bytes(segment(records(5), CODECS[codec]))
    with thawline.open(path, "rbak") as cold:
        assert {row["segment"] for batch in cold.batches() for row in batch.to_pylist()} == {r"\udcff\udcfe.log"}
