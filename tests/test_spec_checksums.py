"""Checksums that a spec declares: every algorithm by its own catalogue's check value, in units and in lists."""

from __future__ import annotations

import hashlib
from pathlib import PurePath

import pyarrow as pa
import pytest

from thawline.crc16 import CRC16, crc16
from thawline.formats.described.proofs import ALGORITHMS, RANGES, hidden_of, proofs_of
from thawline.ksy.documents import SpecError, TypeDef, parse_spec

NINE = b"123456789"
CHECKS: dict[str, int | bytes] = {
    "crc32": 0xCBF43926,
    "crc32c": 0xE3069283,
    "adler32": 0x091E01DE,
    "xxh32": 0x937BAD67,
    "xxh64": 0x8CB841DB40E6AE83,
    "sha256": bytes.fromhex("15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
    "crc16-arc": 0xBB3D,
    "crc16-modbus": 0x4B37,
    "crc16-usb": 0xB4C8,
    "crc16-xmodem": 0x31C3,
    "crc16-ibm-3740": 0x29B1,
    "crc16-genibus": 0xD64E,
    "crc16-kermit": 0x2189,
    "crc16-ibm-sdlc": 0x906E,
}
"""Of the digits 1 to 9: the catalogue of CRCs, RFC 1950, FIPS 180-4, xxHash's own tests."""

SPEC = """
meta:
  id: boxes
seq:
  - id: items
    type: item
    repeat: eos
types:
  item:
    seq:
      - id: sum
        size: 4
      - id: body
        type: body
        size: 4
  body:
    instances:
      sum_input:
        pos: 0
        size-eos: true
        -overlay: true
        -columnar: {HINTS}
"""


def spec(hints: str) -> TypeDef:
    parsed = parse_spec(SPEC.replace("{HINTS}", f"{{{hints}}}").encode(), PurePath("boxes.ksy"))
    return TypeDef(parsed, (), parsed.data)


def rows(items: list[list[tuple[int | bytes, bytes]]]) -> pa.StructArray:
    structs = [{"items": [{"sum": sum_, "body": {"sum_input": data}} for sum_, data in row]} for row in items]
    first = items[0][0][0]
    type_ = pa.binary() if isinstance(first, bytes) else pa.uint64()
    body = pa.struct([("sum_input", pa.binary())])
    return pa.array(structs, pa.struct([("items", pa.list_(pa.struct([("sum", type_), ("body", body)])))]))


@pytest.mark.parametrize("name", [name for name in (*RANGES, *ALGORITHMS) if name in CHECKS])
def test_a_checksum_is_the_one_of_its_name(name: str) -> None:
    (proof,) = proofs_of(spec(f"checksum: {name}, stored: _parent.sum"), {})
    right, wrong = (CHECKS[name], NINE), (CHECKS[name], b"12345678")
    assert proof.wrong(rows([[right, right], [right]])).to_pylist() == []
    assert proof.wrong(rows([[right], [right, wrong, wrong], [right], [wrong]])).to_pylist() == [1, 3]


def test_the_newest_xxhash_is_the_one_of_its_own_documentation() -> None:
    assert ALGORITHMS["xxh3_64"](b"") == 0x2D06800538D394C2


def test_every_algorithm_is_tested() -> None:
    assert {*RANGES, *ALGORITHMS} - CHECKS.keys() == {"blake3", "xxh3_64"}  # see tests/test_checksums, and below
    assert {f"crc16-{name}" for name in CRC16} <= CHECKS.keys()


def test_a_masked_crc_is_the_one_that_leveldb_stores() -> None:
    # https://github.com/google/leveldb/blob/main/util/crc32c.h: rotate right by 15 bits, add a constant
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    (proof,) = proofs_of(spec("checksum: crc32c, mask: 0xa282ead8, stored: _parent.sum"), {})
    assert proof.wrong(rows([[(masked, NINE)], [(crc, NINE)]])).to_pylist() == [1]


def test_a_signed_field_stores_the_same_bits() -> None:
    (proof,) = proofs_of(spec("checksum: crc32, stored: _parent.sum"), {})
    given = rows([[(0xCBF43926, NINE)]])
    items = pa.struct([("sum", pa.int32()), ("body", pa.struct([("sum_input", pa.binary())]))])
    signed = [{"items": [{"sum": 0xCBF43926 - (1 << 32), "body": {"sum_input": NINE}}]}]
    assert given.type != pa.struct([("items", pa.list_(items))])
    assert proof.wrong(pa.array(signed, pa.struct([("items", pa.list_(items))]))).to_pylist() == []


def test_the_bytes_that_a_checksum_covers_are_no_column() -> None:
    assert hidden_of(spec("checksum: crc32, stored: _parent.sum"), {}) == {("items", "[]", "body", "sum_input")}


@pytest.mark.parametrize(
    "hints, why",
    [
        ("checksum: crc33, stored: _parent.sum", "there is no checksum 'crc33'"),
        ("checksum: sha256, mask: 1, stored: _parent.sum", "a mask is"),
        ("checksum: crc32, mask: -1, stored: _parent.sum", "a mask is"),
        ("checksum: crc32, stored: _parent._parent.sum", "beside what it covers"),
        ("checksum: crc32, colour: red", "'colour' says nothing"),
    ],
)
def test_a_checksum_that_makes_no_sense_is_refused_at_its_place(hints: str, why: str) -> None:
    with pytest.raises(SpecError, match=rf"boxes\.ksy:\d+:\d+: .*{why}"):
        proofs_of(spec(hints), {})


def test_crcs_of_nothing_and_of_much_are_right() -> None:
    assert crc16(b"", "arc") == 0
    data = hashlib.sha256(b"much").digest() * 100
    assert crc16(data, "xmodem") == _bitwise(data, 0x1021)


def _bitwise(data: bytes, polynomial: int) -> int:
    register = 0
    for byte in data:
        for bit in range(7, -1, -1):
            out = register >> 15 ^ byte >> bit & 1
            register = (register << 1 & 0xFFFF) ^ (polynomial if out & 1 else 0)
    return register
