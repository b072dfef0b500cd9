"""Whatever befalls a backup: its tables can be read, tail says what cat says, and what is salvaged has no damage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
import zstandard
from accounts import golden_files
from backups import HEADER, Lines, keyed, numbered, text_bin
from seeds import SEED

import thawline
from thawline.verbs.salvage import salvage
from tools.damage import damages
from tools.mutants import mutants

TABLES = ("records", "indexes", "udfs")
RICH = (
    HEADER + b"# first-file\n* i test demo idx N 1 a N\n"
    + b"* i test  idy K 1 b S lhABI8zIIqMDaWQ=\n* u L a.lua 8 return 1\n"
    + keyed(1) + numbered(2, b"- D a 0.5", text_bin(b"b", b"x\ny"), b"- Z c T", b"- N d")
    + numbered(3, b"- L a 4 kgEC", b"- B! b 3 \n\n\n", b"- X c 4 YWJj", b"- M! d 1 \x80")
    + Lines(key=b"I 7", found_set=rb"a\ b").data() + Lines(found_set=b"", namespace=rb"t\ t").data()
)  # fmt: skip
ODD = (
    HEADER + numbered(1, b"- I a234567890123456 1") + numbered(2, b"- I a ") + keyed(3).replace(b"user3", b"user4")
    + numbered(4, b"- B b 5 YQ\n==") + b"* e test demo idx N 1 a N AAAA\n" + numbered(5, b"- L a 4 kQGh")
    + numbered(6, b"- D a 0x1p3") + Lines(found_set=b"s" * 64, namespace=b"n" * 40).data()
    + numbered(7, text_bin(b"s", HEADER + numbered(8) + keyed(9))) + numbered(10)
)  # fmt: skip
OLD = RICH.replace(b"3.1", b"3.0") + numbered(11).replace(b"+ n test", rb"+ n te\st")
BASES = [RICH, ODD, OLD, *(golden.data for golden in golden_files("aerospike") if len(golden.data) < 1 << 13)]
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "zstd": lambda data: zstandard.compress(data[: len(data) // 2]) + zstandard.compress(data[len(data) // 2 :]),
    "zstd with checksums": zstandard.ZstdCompressor(write_checksum=True).compress,
}
CI, FUZZ = 40, int(os.environ.get("THAWLINE_MUTANTS", "3000"))
"""Mutants of each kind and packing."""


def damaged(packed: str, seed: int, count: int) -> Iterator[bytes]:
    """Backups with damage: mutants, whole blocks gone wrong, splices of two, damage before and behind compression."""
    random = Random(seed)
    for number in range(count):
        base, other = (PACKED[packed](random.choice(BASES)) for _ in range(2))
        match number % 4:
            case 0:
                yield next(mutants(base, seed + number, 1))
            case 1:
                yield random.choice(list(damages(base, seed + number))).data
            case 2:
                yield base[: random.randrange(len(base) + 1)] + other[random.randrange(len(other) + 1) :]
            case _:
                yield PACKED[packed](next(mutants(random.choice(BASES), seed + number, 1)))


def rows_of(data: bytes, table: str) -> list[pa.RecordBatch]:
    with thawline.open(data, "aerospike", table=table) as cold:
        batches = list(cold.batches())
        for batch in batches:
            batch.validate(full=True)
        return batches


def shown(batches: list[pa.RecordBatch]) -> list[str]:
    """Rows as text, in which a NaN is the same as another."""
    return [repr(row) for batch in batches for row in batch.to_pylist()]


def check(data: bytes, target: Path) -> None:
    """What holds for every file."""
    report = thawline.open(data, "aerospike").verify()
    for table in TABLES:
        batches = rows_of(data, table)
        with thawline.open(data, "aerospike", table=table) as cold:
            assert shown(cold.tail(3)) == shown(batches)[-3:], table
    with thawline.open(data, "aerospike") as cold:
        kept = salvage(cold, target, overwrite=True)
    again = thawline.open(target, "aerospike").verify()
    assert [finding for finding in again.findings if finding.severity == "error"] == []
    assert again.ok
    assert again.rows == kept.rows
    assert report.ok == (not kept.lost and not kept.recovered and not kept.suspects)


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("count", [CI, pytest.param(FUZZ, marks=pytest.mark.fuzz)])
def test_a_mutant_is_read_and_what_is_salvaged_of_it_is_without_damage(tmp_path: Path, packed: str, count: int) -> None:
    for number, data in enumerate(damaged(packed, SEED, count)):
        try:
            check(data, tmp_path / "new.asb")
        except Exception as error:
            (tmp_path / "bad.asb").write_bytes(data)
            error.add_note(f"THAWLINE_SEED={SEED}, mutant {number}, kept as {tmp_path / 'bad.asb'}")
            raise


@pytest.mark.parametrize("before", [(), (b"- I x 5",)], ids=["in the first bin", "behind a bin"])
@pytest.mark.parametrize("count", [200, pytest.param(FUZZ, marks=pytest.mark.fuzz)])
def test_records_in_a_value_of_a_broken_record_are_suspect(before: tuple[bytes, ...], count: int) -> None:
    """Also where the first line of the broken record is what is broken, so that nothing tells that it was one."""
    inner = b"".join(numbered(number).replace(b"+ n test", b"+ n inner") for number in (8, 9))
    outer = numbered(7, *before, text_bin(b"s", b"some text\n" + inner + b"the rest"), b"- I z 1")
    head, tail = outer.split(inner)
    random = Random(SEED)
    for _ in range(count):
        at = random.randrange(len(head))
        changed = (
            head[:at] + bytes([random.choice(b"\0 \n\\=+-09Az\x7f\xff")]) + head[at + random.choice((0, 1, 1, 2)) :]
        )
        data = HEADER + numbered(1) + changed + inner + tail + numbered(3)
        rows = [row for batch in rows_of(data, "records") for row in batch.to_pylist()]
        trusted = [row for row in rows if row["namespace"] == "inner" and row["suspect"] is None]
        assert trusted == [], (SEED, changed)


def test_records_between_two_records_without_a_first_line_are_trusted() -> None:
    headless = numbered(2).replace(b"+ n", b"x n")
    data = HEADER + numbered(1) + headless + numbered(3) + numbered(4) + headless + numbered(5)
    rows = [row for batch in rows_of(data, "records") for row in batch.to_pylist()]
    assert [row["suspect"] for row in rows] == [None] * 4
