from __future__ import annotations

import struct

import pytest

from thawline import specs
from thawline.errors import FormatError, Truncated

RECORD = b"+ n test\n+ d q+LsiGs1gD9duJDbzQSXytajtCY=\n+ g 1\n+ t 0\n+ b 1\n- I bin 12345\n"
BACKUP = b"Version 3.1\n" + RECORD
BATCH = struct.pack(">qiibIhiqqqhii", 7, 49, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 0)


def failure(spec: str, data: bytes, *params: object) -> FormatError:
    with pytest.raises(FormatError) as caught:
        specs.parse(spec, data, *params, file="cold", base=0x1000)
    return caught.value


def test_a_parser_is_found_by_the_name_of_its_spec_and_type() -> None:
    assert specs.parser("kafka_record_batch").__name__ == "KafkaRecordBatch"
    assert specs.parser("rbf_file::entry").__qualname__ == "RbfFile.Entry"
    assert specs.structure("rbf_frame").__module__ == "thawline.generated.structures.rbf_frame"


def test_the_end_of_the_data_is_an_eof_error_that_names_file_byte_and_field() -> None:
    error = failure("aerospike_backup", BACKUP[:30])
    assert isinstance(error, Truncated)
    assert isinstance(error, EOFError)
    assert (error.file, error.offset, error.spec, error.path) == ("cold", 0x1000 + 25, "aerospike_record", "/seq/7")
    assert str(error) == "cold: byte 0x1019: needs 28 bytes, 5 left (aerospike_record: /seq/7)"


def test_a_broken_rule_names_the_byte_of_its_field_also_inside_a_substream() -> None:
    error = failure("kafka_record_batch", BATCH[:16] + b"\x05" + BATCH[17:])
    assert (error.offset, error.path) == (0x1000 + 16, "/types/body/seq/1")
    assert error.message == "is 5, must be 2"


def test_a_broken_rule_in_a_repeated_structure_names_the_right_one() -> None:
    error = failure("aerospike_backup", BACKUP + RECORD.replace(b"- I", b"- U"))
    assert error.offset == 0x1000 + len(BACKUP) + RECORD.index(b"I bin")
    assert (error.spec, error.path) == ("aerospike_record", "/types/bin/seq/1")


def test_a_rule_checked_ahead_of_its_field_names_the_byte_that_breaks_it() -> None:
    frame = bytes.fromhex("1400000000000000070707071400000000000000")
    error = failure("rbf_frame", frame)
    assert (error.offset, error.path) == (0x1000 + 11, "/types/frame_status/seq/1")


@pytest.mark.parametrize("text", [b"12x45", b"", b"99999999999999999999", b"1" * 5000])
def test_number_text_that_is_no_number_is_a_format_error(text: bytes) -> None:
    error = failure("aerospike_backup", BACKUP.replace(b"12345", text))
    assert (error.spec, error.path) == ("aerospike_record", "/types/bin/seq/6")
    assert error.offset == 0x1000 + BACKUP.index(b"12345")


def test_text_in_the_wrong_encoding_is_a_format_error() -> None:
    error = failure("aerospike_meta", b"# nam\xe9space x\n")
    assert "0xe9" in error.message
    assert error.offset == 0x1000 + 2


def test_a_negative_size_is_a_format_error() -> None:
    error = failure("rbak_segment", b"RBAK\x01\x00" + bytes(30))
    assert (error.offset, error.path) == (0x1000 + 32, "/seq/1")


def test_deep_recursion_is_a_format_error() -> None:
    def dive() -> None:
        dive()

    with pytest.raises(FormatError, match="nested too deeply"), specs.translated("rbf_address", bytes(8)):
        dive()


def test_an_error_of_ours_passes_through_unchanged() -> None:
    mine = FormatError("mine")
    with pytest.raises(FormatError) as caught, specs.translated("rbf_address", b""):
        raise mine
    assert caught.value is mine


def test_an_overlong_varint_is_accepted_and_an_endless_one_is_not() -> None:
    assert specs.parse("zigzag_varint", b"\x82\x80\x80\x80\x00").value == 1
    assert failure("zigzag_varint", b"\xff" * 6).offset == 0x1000 + 4
    assert failure("zigzag_varint", b"\xff\xff\xff\xff\x1f").offset == 0x1000 + 4
    assert specs.parse("zigzag_varlong", b"\xff" * 9 + b"\x01").value == -(2**63)
    assert specs.parse("zigzag_varlong", b"\xfe" + b"\xff" * 8 + b"\x01").value == 2**63 - 1
    assert failure("zigzag_varlong", b"\xff" * 9 + b"\x02").offset == 0x1000 + 9
