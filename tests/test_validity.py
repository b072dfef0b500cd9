from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import kaitaistruct
import pytest
from accounts import golden_files

from thawline import specs
from thawline.errors import FormatError
from tools.ksy import load_specs, types_of

SMALL = 700
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
    yield "kafka_records", (1,), bytes.fromhex("1600" + "0000" + "0261" + "0262" + "02" + "0263" + "0264") + b"\x00"
    yield from (("zigzag_varlong", (), b"\xff" * 9 + b"\x01"), ("zigzag_varint", (), b"\xff" * 4 + b"\x01"))


def _changes(data: bytes) -> Iterator[bytes]:
    for at, byte in enumerate(data):
        for value in {byte ^ 0x01, byte ^ 0x80, (byte + 4) & 0xFF, 0x7F, 0xFF, ord("z")} - {byte}:
            yield data[:at] + bytes([value]) + data[at + 1 :]


@pytest.mark.parametrize(("spec", "path"), list(rules()))
def test_a_rule_refuses_a_file_that_breaks_it(spec: str, path: str) -> None:
    assert (spec, path) in broken_rules()
