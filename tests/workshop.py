"""The specs in tests/toys, a table each, with kernels that run uncompiled. The fixture `shop` has all of them."""

from __future__ import annotations

import random
import shutil
import struct
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

from engines import calling

from thawline import native
from thawline.compiler.emission import HEADER, emit
from thawline.compiler.lowering import lower
from thawline.compiler.subset import tables
from thawline.engine import kernels
from thawline.engine.chunks import Break, Chunk, Ranges
from thawline.engine.tables import Table, arrays, lists
from thawline.ksy.documents import SCHEMAS, load_specs
from thawline.native.constants.kernels import STATE_LISTS, STATE_POSITION

FOLDER = Path(__file__).parent / "toys"
SAMPLES = {
    "awkward_names": bytes([1, 2, 3, 4, *range(14)]),
    "bits": bytes.fromhex("93 8001 5a a5 c0ffee 11"),
    "bytes_of_all_kinds": bytes.fromhex("03 616263 7878 2e 00 05 0161 626364 656667"),
    "calculated": bytes.fromhex("05 fe 80ffffff"),
    "checked": struct.pack("<BIB", 8, crc32(b"\x03abc"), 3) + b"abc",
    "elsewhere": bytes.fromhex("08 ff 01 61 aa bbccdd 03"),
    "enums": bytes([1, 255, 0x82, 9]),
    "huge": bytes.fromhex("02000000 6162"),
    "huge_lists": bytes.fromhex("01 02000000 6162"),
    "in_blocks": bytes.fromhex("05 01 07 08 09 03  05 00 07 08 09 00"),
    "integers": bytes(range(42)),
    "nested": bytes.fromhex("02 0102 6162 6300 00 02 01 78 00"),
    "numbers": bytes.fromhex("01 02") + b"12 -7\n" + b"a\\ b c\n",
    "optional": bytes.fromhex("03 0100 02 6162 07 81 ff 00"),
    "orders": bytes(range(8)),
    "parents": bytes.fromhex("06 02 01 05 02 06 07 ff"),
    "plain_lists": bytes.fromhex("02 0100 0200 03 01 0261 02 00 02"),
    "rules": b"MAGIC" + bytes([7, 10, 20, 3, 2, 30, 0x80, 5]),
}
"""Bytes that each toy reads."""


@dataclass
class Workshop:
    """The toys' kernels, uncompiled."""

    folder: Path
    tables: dict[str, Table]
    scans: dict[str, Callable[..., int]]

    def chunks(
        self, name: str, data: bytes, *stretches: tuple[int, int, int], rows: int = 100, only: str = ""
    ) -> list[Chunk | Break]:
        """What the native engine yields when it runs this kernel, for all columns or only one."""
        table = self.tables[name]
        wanted = [column for column in table.columns if only in ("", column.name)]
        ranges = Ranges.of(stretches or [(0, len(data), -1)])
        with calling(SimpleNamespace(**vars(native.functions) | {f"scan_{name}": self.scans[name]})):
            return list(kernels.read(table, memoryview(data), ranges, wanted, (rows, 1 << 25)))

    def rows(self, name: str, data: bytes, *stretches: tuple[int, int, int], rows: int = 100) -> list[dict[str, Any]]:
        """The rows of data that must be readable to its end."""
        chunks = self.chunks(name, data, *stretches, rows=rows)
        assert not [chunk for chunk in chunks if isinstance(chunk, Break)]
        return [row for chunk in chunks for row in chunk.batch.to_pylist()]

    def failure(self, name: str, data: bytes) -> tuple[str, str, int]:
        """Path, reason and byte of the failure that data must end with."""
        *_, end = self.chunks(name, data)
        assert isinstance(end, Break)
        return end.failure.path, end.failure.reason, end.at


def viewed(scan: Callable[..., int]) -> Callable[..., int]:
    """The kernel, which takes an `array` for a memoryview by itself when it is compiled."""
    return lambda *arguments: scan(*(memoryview(item) if isinstance(item, array) else item for item in arguments))


def opened(folder: Path) -> Workshop:
    """A workshop with all toys, whose specs go to a folder that is not there yet."""
    shutil.copytree(FOLDER, folder)
    shutil.copytree(SCHEMAS / "common", folder / "common")
    loaded = load_specs(folder)
    shop = Workshop(folder, {}, {})
    for name, type_ in tables(loaded):
        shop.tables[name], source = emit(lower(name, type_, loaded))
        module: dict[str, Any] = {}
        exec(HEADER + source, module)  # noqa: S102 - the tests are about this source
        shop.scans[name] = viewed(module[f"scan_{name}"])
    return shop


@dataclass
class Run:
    """One call of a kernel: what it returned and what it left in its arrays."""

    status: int
    state: list[int]
    arrays: dict[str, list[int]]


def run(
    shop: Workshop,
    name: str,
    buf: Any,
    stretches: list[tuple[int, int, int]],
    *,
    rows: int,
    items: int = 0,
    size: int = 1 << 12,
) -> Run:
    """Call a kernel once, with room for some rows, items of each list, and bytes of each column; 0: for places."""
    table = shop.tables[name]
    ranges = Ranges.of(stretches)
    state = array("q", bytes(8 * (STATE_LISTS + len(list(lists(table.columns))))))
    state[STATE_POSITION] = ranges.starts[0]
    places = {place: array(code, [0] * rows) for place, code in (("starts", "q"), ("ends", "q"), ("ranges", "i"))}
    sizes = [it.width * (items if len(it.path) > 1 else rows) + (it.part == "offset") for it in arrays(table)]
    filled = {
        "__".join((*it.path, it.part)): array(it.typecode, [0] * (size if it.part == "data" else count))
        for it, count in zip(arrays(table), sizes, strict=True)
    }
    if not size:
        filled = {key: array(code.typecode) if key.endswith("__offset") else code for key, code in filled.items()}
    rooms = array("q", [items for _ in lists(table.columns)])
    status = shop.scans[name](
        buf, ranges.starts, ranges.ends, ranges.counts, 1 << 40, state, rooms, *places.values(), *filled.values()
    )
    return Run(status, list(state), {key: list(values) for key, values in (places | filled).items()})


def nested(*groups: list[bytes]) -> tuple[bytes, dict[str, Any]]:
    """A row of the toy `nested`: its bytes and what they say."""
    data = bytes([len(groups)])
    for group in groups:
        data += bytes([len(group)]) + b"".join(bytes([len(text)]) + text for text in group)
        data += b"\x2a" if group else b""
    listed = [
        {
            "items": [{"text": text.decode() or None} for text in group],
            "mark": 42 if group else None,
            "twice": 2 * len(group),
        }
        for group in groups
    ]
    return data, {"num_groups": len(groups), "groups": listed}


def many_nested() -> tuple[bytes, list[dict[str, Any]]]:
    """Rows of growing and shrinking lists."""
    shapes = [[[b"x" * (i % 3)] * ((i * j) % 7) for j in range(i % 9)] for i in range(40)]
    rows = [nested(*shape) for shape in [*shapes, [[b"ab"] * 100] * 30, [], [[b"end"]]]]
    return b"".join(data for data, _ in rows), [row for _, row in rows]


def mutants(name: str, count: int) -> Iterator[bytes]:
    """The toy's sample, then the sample once or twice with some bytes changed, cut, put in."""
    chance = random.Random(name)
    yield SAMPLES[name]
    for _ in range(count):
        data = bytearray(SAMPLES[name] * chance.choice([1, 1, 2]))
        for _ in range(chance.choice([1, 1, 2, 4])):
            at = chance.randrange(len(data))
            match chance.randrange(6):
                case 0 | 1:
                    data[at] ^= 1 << chance.randrange(8)
                case 2 | 3:
                    data[at] = chance.choice([0, 1, 2, 9, 0x20, 0x5C, 0x7F, 0x80, 0xFF])
                case 4:
                    data[at:at] = chance.randbytes(chance.randrange(1, 4))
                case 5 if at:
                    del data[at:]
        yield bytes(data)


def told(chunks: list[Chunk | Break]) -> tuple[list[tuple[int, int, str, int]], list[int]]:
    """Rows with their places and checksums, and the starts of rows that failed."""
    rows = [
        row
        for chunk in chunks
        if isinstance(chunk, Chunk)
        for row in zip(
            chunk.starts.to_pylist(),
            chunk.ends.to_pylist(),
            map(str, chunk.batch.to_pylist()),
            chunk.checksums.to_pylist() if chunk.checksums else [0] * len(chunk),
            strict=True,
        )
    ]
    return rows, [end.start for end in chunks if isinstance(end, Break)]
