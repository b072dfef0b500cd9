from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import kaitaistruct
import pytest
from accounts import golden_files

from thawline import specs
from thawline.errors import FormatError
from thawline.ksy.documents import load_specs, types_of

SMALL = 250
"""Units up to this size are swept byte by byte; every rule applies to one of them."""


def rules() -> Iterator[tuple[str, str]]:
    """Every `valid` and `contents` of every spec, as (spec, path)."""
    for spec in load_specs().values():
        for type_ in types_of(spec):
            prefix = "".join(f"/types/{name}" for name in type_.names)
            for index, attribute in enumerate(type_.data.get("seq") or []):
                if "valid" in attribute or "contents" in attribute:
                    yield spec.id, f"{prefix}/seq/{index}"


@cache
def broken_rules() -> frozenset[tuple[str, str]]:
    """Rules that a parser refused a changed golden file for."""
    broken = set()
    for spec, params, data in _small_units():
        for changed in _changes(data):
            try:
                specs.parse(spec, changed, *params)
            except FormatError as error:
                if isinstance(error.__cause__, kaitaistruct.ValidationFailedError | ValueError):
                    broken.add((error.spec or "", error.path or ""))
    return frozenset(broken)


def _small_units() -> Iterator[tuple[str, tuple[int, ...], bytes]]:
    seen = set()
    for golden in golden_files():
        for unit, data in golden.units():
            if len(data) <= SMALL and data not in seen:
                seen.add(data)
                yield unit["spec"], tuple(unit.get("params", ())), data
        if golden.account["file_spec"] and golden.account["size"] <= SMALL:
            yield golden.account["file_spec"], (), golden.data
    yield "kafka_records", (0,), b"\x00"
    yield "kafka_records", (1,), bytes.fromhex("18000000026102620202630264")
    yield "aerospike_backup", (), b"Version 3.1\n* z"
    yield "aerospike_record", (), b"+ n n\n+ d " + b"A" * 28 + b"\n+ g 0\n+ t 0\n+ b 1\n- Z b T\n"
    yield "borg_index", (), b"BORGHASH" + bytes([1, 0, 0, 0]) + bytes(4)
    # Values that a table takes for one field report their failure at that field, so they are swept by themselves.
    yield from (("zigzag_varlong", (), b"\xff" * 9 + b"\x01"), ("zigzag_varint", (), b"\xff" * 4 + b"\x01"))
    yield "unsigned_varint", (), b"\xff" * 4 + b"\x01"
    yield from (("decimal_line", (), b"9223372036854775807\n"), ("decimal_word", (), b"9223372036854775807 "))


def _changes(data: bytes) -> Iterator[bytes]:
    for at, byte in enumerate(data):
        for value in {byte ^ 0x01, byte ^ 0x80, (byte + 4) & 0xFF, (byte - 1) & 0xFF, 0, 0x7F, 0xFF, ord("z")} - {byte}:
            yield data[:at] + bytes([value]) + data[at + 1 :]


@pytest.mark.parametrize(("spec", "path"), list(rules()))
def test_a_rule_refuses_a_file_that_breaks_it(spec: str, path: str) -> None:
    assert (spec, path) in broken_rules()
