"""A file has one verdict: whoever verifies it, reads it or shares it between tasks is told the same of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from accounts import GOLDEN, Golden, golden_files
from borg_repositories import run as command

from thawline.checksums import crc32c
from thawline.errors import SourceError
from thawline.formats import FORMATS, Format, get
from thawline.formats.contract import Depth, Kind, Reading, read
from thawline.formats.division import cut
from thawline.model import Finding, Run, Span
from thawline.source import LocalSource
from tools.damage import damages

SEEDS = range(2)
MORE_SEEDS = range(len(SEEDS), 20)
OF_HEADS = {"segments"}
"""The table of RBAK's headers, for which nothing else of a file is read."""
Error = tuple[str, Span]

each_file = pytest.mark.parametrize(
    "golden",
    [golden for name in FORMATS for golden in golden_files(name) if golden.file.suffix not in {".bin", ".address"}],
    ids=lambda golden: golden.name,
)


def errors(items: Iterable[object]) -> list[Error]:
    """What is wrong, and where."""
    return [(item.code.id, item.span) for item in items if isinstance(item, Finding) and item.severity == "error"]


def consumed(reading: Reading) -> Iterator[Run | Finding]:
    """The items of a reading, after its rows."""
    for item in reading:
        if isinstance(item, Finding):
            yield item
        else:
            assert all(batch.num_rows >= 0 for batch in item[1])
            yield item[0]


def divided(kind: Kind, source: LocalSource, table: str, size: int) -> Iterator[Run | Finding]:
    """The same in parts, as tasks of Spark read it."""
    for item in kind.walk(source, kind.tables[table].depth):
        if isinstance(item, Finding):
            yield item
            continue
        for run in cut(kind, source, item, size):
            yield from consumed(kind.rows(source, [run], table, kind.tables[table].schema.names))


def verdicts(format_: Format, source: LocalSource) -> dict[str, list[Error]]:
    """What is wrong with a file, by who says so."""
    kind = format_.kind_of(source)
    found = {"scan": errors(kind.walk(source, Depth.EVERYTHING))}
    for table in kind.tables:
        names = kind.tables[table].schema.names
        try:
            found[f"read {table}"] = errors(consumed(read(kind, source, table, names)))
            found[f"divide {table}"] = errors(divided(kind, source, table, 200))
        except SourceError:
            continue  # a table that files of this kind have not
    return found


def differing(golden: Golden, data: bytes) -> dict[str, list[Error]]:
    """Who says something else of a file than a scan does."""
    format_ = get(golden.name.partition("/")[0])
    found = verdicts(format_, LocalSource(golden.name, data))
    assert len(found) > 1
    return {who: told for who, told in found.items() if told != found["scan"] and who.split()[-1] not in OF_HEADS}


@each_file
def test_whoever_looks_at_a_damaged_file_finds_the_same(golden: Golden) -> None:
    assert differing(golden, golden.data) == {}
    for seed in SEEDS:
        for damage in damages(golden.data, seed):
            assert differing(golden, damage.data) == {}, damage.what


@pytest.mark.fuzz
@each_file
def test_whoever_looks_at_a_much_damaged_file_finds_the_same(golden: Golden) -> None:
    for seed in MORE_SEEDS:
        for damage in damages(golden.data, seed):
            assert differing(golden, damage.data) == {}, damage.what


SEGMENTS = [golden for golden in golden_files("kafka") if golden.file.suffix == ".log" and golden.data]


@pytest.mark.parametrize("golden", SEGMENTS, ids=lambda golden: golden.name)
def test_whoever_looks_at_batches_that_break_behind_a_right_checksum_finds_the_same(golden: Golden) -> None:
    random = Random(golden.name)
    for _ in range(20):
        data = changed_behind_checksum(random, golden.data)
        told = verdicts(get("kafka"), LocalSource(golden.name, data))
        assert told["scan"] == told["read records"] == told["divide records"]
        for table in ("control", "batches"):  # for which other batches are not opened
            assert set(told[f"read {table}"]) == set(told[f"divide {table}"]) <= set(told["scan"])


def changed_behind_checksum(random: Random, data: bytes) -> bytes:
    """A segment with some bytes of one unit changed, and the checksum of that unit made right again."""
    made, starts = bytearray(data), [0]
    while starts[-1] < len(data):
        starts.append(starts[-1] + 12 + int.from_bytes(data[starts[-1] + 8 : starts[-1] + 12], "big"))
    start, end = random.choice(list(pairwise(starts)))
    is_latest = data[start + 16] == 2
    first = start + (61 if is_latest else 18)
    for _ in range(random.randint(1, 3) if first < end else 0):
        made[random.randrange(first, end)] = random.randrange(256)
    if is_latest:
        made[start + 17 : start + 21] = crc32c(bytes(made[start + 21 : end])).to_bytes(4, "big")
    else:
        made[start + 12 : start + 16] = zlib.crc32(made[start + 16 : end]).to_bytes(4, "big")
    return bytes(made)


def test_a_control_batch_that_cannot_be_read_is_not_passed_over_in_silence() -> None:
    (golden,) = (golden for golden in SEGMENTS if golden.name.endswith("/transactions.log"))
    told = []
    for seed in range(200):
        found = verdicts(get("kafka"), LocalSource("a.log", changed_behind_checksum(Random(seed), golden.data)))
        told += [found] if found["read control"] else []
    assert told
    assert all(found["read control"] == found["divide control"] == found["scan"] for found in told)


def test_what_was_recovered_from_damage_is_told_with_its_reason_and_exit_code(tmp_path: Path) -> None:
    """The rows of a segment whose checksum is wrong go into a new one, whose checksum proves nothing about them."""
    data = bytearray((GOLDEN / "rbak/codec-none.rbak").read_bytes())
    data[len(data) // 2] ^= 1
    path = tmp_path / "x.rbak"
    path.write_bytes(data)
    code, _, said = command("salvage", path, "-o", tmp_path / "new.rbak")
    assert code == 1
    assert "(RBK104 checksum mismatch)" in said
    assert "thawline explain RBK104" in said


def test_an_index_of_a_damaged_segment_says_what_it_lacks(tmp_path: Path) -> None:
    name = "00000000000000000000.log"
    data = bytearray((GOLDEN / "kafka/many-records.log").read_bytes())
    data[70] ^= 1
    (tmp_path / name).write_bytes(data)
    code, _, said = command("kafka", "index", tmp_path / name, "-o", tmp_path / "rebuilt")
    assert code == 1
    assert "damaged bytes" in said
