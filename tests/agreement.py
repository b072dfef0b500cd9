"""The three engines, and whether they agree: compiled kernels, the same kernels uncompiled, and ksc's parsers.

The kernels and the parsers come from the same specs by two compilers that share nothing, so each is the other's test.
DIFFERENCES lists where kernel and parser may differ.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from engines import calling
from inputs import WITHOUT_VECTORS, Input
from thawline.generated.kernels.tables import TABLES

from thawline.engine import kernels, parsed
from thawline.engine.chunks import Break, Chunk, Ranges, schema_of
from thawline.engine.columns import MAX_BYTES, MAX_ROWS
from thawline.engine.tables import Table
from thawline.native import plain as uncompiled
from tools.mutants import varint

LIMITS = (MAX_ROWS, MAX_BYTES)


EACH_LIMIT = [
    (1, MAX_BYTES), (2, MAX_BYTES), (7, MAX_BYTES), (MAX_ROWS, 1), (MAX_ROWS, 16), (MAX_ROWS, 100), (3, 100),
]  # fmt: skip


LONG_RUN = int(os.environ.get("THAWLINE_MUTANTS", "20000"))
"""Mutants of each table in the long runs."""


TOO_LONG, TOO_LONG_ROW = "longer than a column can hold", "longer than a batch can hold"
"""Need 2 GiB; test_engine_bounds has sparse files of that size."""


each_table = pytest.mark.parametrize("name", sorted(TABLES))


each_table_with_vectors = pytest.mark.parametrize("name", sorted(TABLES.keys() - WITHOUT_VECTORS))


each_limit = pytest.mark.parametrize("limits", EACH_LIMIT, ids=lambda limits: f"{limits[0]}rows-{limits[1]}bytes")


Found = list[Chunk | Break]


def compiled_read(table: Table, *arguments: Any) -> Found:
    return list(kernels.read(table, *arguments))


def uncompiled_read(table: Table, *arguments: Any) -> Found:
    with calling(uncompiled):
        return list(kernels.read(table, *arguments))


def parsed_read(table: Table, *arguments: Any) -> Found:
    return list(parsed.read(table, *arguments))


ENGINES = [compiled_read, uncompiled_read, parsed_read]


each_engine = pytest.mark.parametrize("engine", ENGINES)


def read(engine: Callable[..., Found], given: Input, ranges: Ranges | None = None, limits: Any = LIMITS) -> Found:
    table = TABLES[given.table]
    return engine(table, memoryview(given.data), ranges or given.ranges(), table.columns, limits)


def plain(found: Chunk | Break) -> Any:
    """What of a chunk or a break has to agree. The parsers do not say why a field fails."""
    if isinstance(found, Break):
        return found.failure.spec, found.failure.path, found.start, found.at, found.range_index
    return tuple(
        part for part in (found.batch, found.starts, found.ends, found.ranges, found.checksums) if part is not None
    )


def are_equal(first: Found, second: Found) -> bool:
    """Whether two engines gave equal chunks and breaks in the same order."""
    return len(first) == len(second) and all(plain(a) == plain(b) for a, b in zip(first, second, strict=True))


def rows(found: Found, name: str) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    """All rows, and where each of them lies, however they were cut into chunks."""
    chunks = [part for part in found if isinstance(part, Chunk)]
    table = pa.Table.from_batches([chunk.batch for chunk in chunks], schema=schema_of(TABLES[name].columns))
    places = [
        place
        for chunk in chunks
        for place in zip(
            chunk.starts.to_pylist(),
            chunk.ends.to_pylist(),
            chunk.ranges.to_pylist(),
            chunk.checksums.to_pylist() if chunk.checksums is not None else [None] * len(chunk),
            strict=True,
        )
    ]
    return table.combine_chunks(), places


def breaks(found: Found) -> list[Break]:
    return [part for part in found if isinstance(part, Break)]


def shown(given: Input, **outcomes: Found) -> str:
    """A disagreement, so that it can be reproduced."""
    said = [
        f"{engine}: {[plain(part) if isinstance(part, Break) else part.batch.to_pylist() for part in found]}"
        for engine, found in outcomes.items()
    ]
    return "\n".join([f"{given.table}, count {given.count}, bytes.fromhex('{given.data.hex()}')", *said])


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    reason: str
    explains: Callable[[bytes, Break], bool]


DECIMAL_WORDS = {("aerospike_record", "/types/sized/seq/0"), ("aerospike_index", "/seq/8"), ("aerospike_udf", "/seq/4")}
"""Numbers that a space ends; the others end with their line."""


def is_number_to_python_only(data: bytes, end: Break) -> bool:
    terminator = b" " if (end.failure.spec, end.failure.path) in DECIMAL_WORDS else b"\n"
    text, found, _ = data[end.at :].partition(terminator)
    if not found or end.failure.reason != "no decimal number" or re.fullmatch(rb"-?[0-9]+", text):
        return False
    try:
        return -(1 << 63) <= int(text.decode("ascii")) < 1 << 63
    except ValueError:
        return False


DIFFERENCES = (
    Difference(
        name="Python's int() takes more for a number than the specs do",
        reason="ksc turns `.to_i` into int(), which takes `+5`, `1_0` and blanks around a number. No writer makes them,"
        " both Aerospike tools refuse them, and the specs say that they are no numbers.",
        explains=is_number_to_python_only,
    ),
    # Two more that no mutant shows, each with a test of its own (test_engine_values, test_engine_bounds):
    # - int() refuses more than 4300 digits, even where all but a few are leading zeros, which the specs allow.
    # - Values of 2 GiB and more, in one row or in all items of a list, do not fit an Arrow column of 32-bit offsets.
)


def is_deliberate(given: Input, kernel: Found, parser: Found) -> bool:
    """Whether the kernel stopped at something in DIFFERENCES, after the rows that the parser found too."""
    if not kernel or not isinstance(end := kernel[-1], Break):
        return False
    (table, places), (all_rows, all_places) = rows(kernel, given.table), rows(parser, given.table)
    has_same_rows = places == all_places[: len(places)] and table == all_rows.slice(0, len(places)).combine_chunks()
    goes_on = len(all_places) > len(places) or any(later.at > end.at for later in breaks(parser))
    return has_same_rows and goes_on and any(known.explains(given.data, end) for known in DIFFERENCES)


def check_agreement(given: Input, *, is_uncompiled_too: bool) -> None:
    kernel, parser = read(compiled_read, given), read(parsed_read, given)
    assert are_equal(kernel, parser) or is_deliberate(given, kernel, parser), shown(given, kernel=kernel, parser=parser)
    for part in kernel:
        if isinstance(part, Chunk):
            part.batch.validate(full=True)
    if is_uncompiled_too:
        plainly = read(uncompiled_read, given)
        assert are_equal(kernel, plainly), shown(given, compiled=kernel, uncompiled=plainly)
        assert [end.failure for end in breaks(kernel)] == [end.failure for end in breaks(plainly)]


def record(*headers: tuple[bytes, bytes | None], key: bytes | None = None, value: bytes | None = b"value") -> bytes:
    """A Kafka record."""
    body = b"\0\0\0" + sized(key) + sized(value) + zigzag(len(headers))
    body += b"".join(sized(name) + sized(content) for name, content in headers)
    return zigzag(len(body)) + body


def sized(value: bytes | None) -> bytes:
    return zigzag(-1) if value is None else zigzag(len(value)) + value


def zigzag(number: int) -> bytes:
    return varint(number << 1 ^ number >> 63)
