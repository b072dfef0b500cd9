from __future__ import annotations

import json
from pathlib import Path

import lz4.block
import pytest
from crc32c import crc32c
from rbak_segments import CODECS, codes, document, head, records, rows, sealed, segment, stored, verified

import thawline
from thawline.errors import CodecError
from thawline.formats.rbak.lz4_prefix import decoded_prefix
from thawline.verbs.salvage import Salvaged, salvage
from tools.samples.rbak import RECORD

COUNT = 2000


def saved(data: bytes, tmp_path: Path, **options: object) -> tuple[bytes, Salvaged]:
    target = tmp_path / "saved"
    with thawline.open(data, "rbak", **options) as cold:
        done = salvage(cold, target)
    return target.read_bytes(), done


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("cut", [0.3, 0.6, 0.99])
def test_what_is_left_of_a_cut_segment_becomes_a_valid_one(codec: str, cut: float, tmp_path: Path) -> None:
    data = segment(records(COUNT), CODECS[codec])
    written, done = saved(data[: int(len(data) * cut)], tmp_path)
    report = verified(written)
    assert (report.findings, report.rows) == ([], done.rows)
    kept = rows(written, ["body", "delivery_tag"])
    assert kept == rows(data, ["body", "delivery_tag"])[: len(kept)]
    assert cut * COUNT * 0.7 < len(kept) < COUNT
    assert done.recovered[0].recovered == "RBK103"
    assert done.lost


@pytest.mark.parametrize("codec", CODECS)
def test_a_lost_footer_costs_no_record(codec: str, tmp_path: Path) -> None:
    data = segment(records(COUNT), CODECS[codec])
    for cut in (1, 4, 7, 8):
        (tmp_path / "saved").unlink(missing_ok=True)
        written, done = saved(data[:-cut], tmp_path)
        assert (done.rows, verified(written).findings) == (COUNT, []), cut


@pytest.mark.parametrize("codec", ["zstd", "lz4 frame", "lz4 block"])
def test_records_before_a_flipped_bit_are_saved(codec: str, tmp_path: Path) -> None:
    data = bytearray(segment(records(COUNT * 3), CODECS[codec]))
    data[-100] ^= 0x10
    written, done = saved(bytes(data), tmp_path)
    assert verified(written).ok
    kept = rows(written, ["delivery_tag"])
    assert done.rows == len(kept) > COUNT
    assert kept[: COUNT // 2] == rows(segment(records(COUNT // 2)), ["delivery_tag"])


def test_a_damaged_length_in_a_stored_payload_costs_one_record(tmp_path: Path) -> None:
    data = bytearray(segment(records(10)))
    first = 32 + 4 + int.from_bytes(data[32:36], "little")
    data[first : first + 4] = b"\xff\xff\xff\x7f"
    written, done = saved(bytes(data), tmp_path)
    assert [row["delivery_tag"] for row in rows(written)] == [0, *range(2, 10)]
    assert done.lost
    assert verified(written).findings == []


def test_a_damaged_magic_costs_nothing(tmp_path: Path) -> None:
    data = segment(records(10), CODECS["zstd"])
    written, done = saved(b"XBAK" + data[4:], tmp_path)
    assert done.rows == 10
    assert rows(written) == [row | {"segment": "<bytes>"} for row in rows(data)]


@pytest.mark.parametrize("at", [4, 5, 8, 20])
def test_a_damaged_header_does_not_hide_the_payload(at: int, tmp_path: Path) -> None:
    data = bytearray(segment(records(10), CODECS["zstd"]))
    data[at] ^= 0x40
    written, done = saved(bytes(data), tmp_path)
    assert (done.rows, verified(written).findings) == (10, [])


def test_an_intact_segment_is_copied_byte_by_byte(tmp_path: Path) -> None:
    data = segment(records(10), CODECS["zstd"])
    assert saved(data, tmp_path)[0] == data


def test_bytes_around_a_segment_are_left_out(tmp_path: Path) -> None:
    data = segment(records(10))
    assert saved(data + bytes(50), tmp_path)[0] == data


def test_segments_end_to_end_become_one(tmp_path: Path) -> None:
    written, _ = saved(segment(records(3)) + segment(records(4), CODECS["zstd"]), tmp_path)
    report = verified(written)
    assert (report.units, report.rows, report.ok) == (1, 7, True)


def test_records_that_are_none_are_left_out_and_the_rest_is_verbatim(tmp_path: Path) -> None:
    odd = json.dumps(RECORD | {"later": [1.0, "\u00e9"]}, indent=1).encode()
    written, done = saved(stored(odd, b"{", document(body=[256]), document(), count=9), tmp_path)
    assert verified(written).findings == []
    assert [row["record_json"] for row in rows(written, ["record_json"])] == [odd.decode(), document().decode()]
    assert {finding.code.id for finding in done.lost} == {"RBK110", "RBK111", "RBK109"}


def test_a_checksum_of_the_other_polynomial_is_put_right(tmp_path: Path) -> None:
    data = segment(records(3))
    written, _ = saved(data[:-8] + crc32c(data[:-8]).to_bytes(4, "little") + b"KABR", tmp_path)
    assert codes(verified(written)) == []


def test_nothing_readable_gives_an_empty_segment(tmp_path: Path) -> None:
    written, done = saved(b"RBAK" + bytes(100), tmp_path)
    report = verified(written)
    assert (report.ok, report.rows, done.rows) == (True, 0, 0)


def test_unverified_rows_are_given_when_they_are_asked_for_and_marked() -> None:
    data = segment(records(10))[:-8]
    assert rows(data) == []
    given = rows(data, ["delivery_tag", "verified"], unverified=True)
    assert [row["verified"] for row in given] == [False] * 10
    assert codes(verified(data, unverified=True)) == ["RBK103", "RBK304"]
    assert rows(segment(records(1)), ["verified"]) == [{"verified": True}]


def test_a_whole_lz4_block_decodes_to_what_the_library_decodes() -> None:
    for size in (0, 1, 12, 13, 100, 70_000):
        data = bytes(index * 7 % 11 for index in range(size)) + b"x" * size
        assert b"".join(decoded_prefix(memoryview(lz4.block.compress(data)), 1 << 20)) == data


@pytest.mark.parametrize(
    "hostile", [b"", b"\1\0", b"\xff\xff\xff\xff", b"\xff" * 40, b"\x10\0\0\0\x10A\0\0", b"\x10\0\0\0\0\1\0"]
)
def test_a_hostile_lz4_block_ends_in_an_error(hostile: bytes) -> None:
    with pytest.raises(CodecError):
        list(decoded_prefix(memoryview(hostile), 1 << 16))


def test_every_cut_of_a_segment_can_be_salvaged(tmp_path: Path) -> None:
    for codec in CODECS.values():
        data = segment(records(4), codec)
        for size in range(0, len(data), 37):
            (tmp_path / "saved").unlink(missing_ok=True)
            written, _ = saved(data[:size], tmp_path)
            assert verified(written).ok


def test_garbage_that_claims_to_be_a_payload_is_no_row(tmp_path: Path) -> None:
    for compression in (0, 1, 2):
        data = sealed(head(compression, 5) + bytes(range(256)) * 20)[:-3]
        assert rows(data, unverified=True) == []
        (tmp_path / "saved").unlink(missing_ok=True)
        assert verified(saved(data, tmp_path)[0]).rows == 0


@pytest.mark.parametrize("codec", CODECS)
def test_segments_that_are_too_large_together_become_several_that_are_read(codec: str, tmp_path: Path) -> None:
    bound = 1 << 15
    parts = [segment(records(24, b"part %d" % number), CODECS[codec]) for number in range(5)]
    data = b"".join(parts) + b"torn"
    assert bound / 5 < len(segment(records(24, b"part 1"))) < bound / 2
    written, done = saved(data, tmp_path, max_payload=bound)
    report = verified(written, max_payload=bound)
    assert (report.findings, report.rows, done.rows) == ([], 120, 120)
    assert rows(written, ["body"]) == rows(data, ["body"])
    assert 1 < report.units < 5
