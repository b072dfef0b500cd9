"""The ways into the native module: functions that get unchecked bytes, and how to call each of them.

An entry is a function of bytes and of a number that says how. What it raises is a mistake, and so is what a sanitizer
says. New ones go to the end of a format's: inputs of the corpus know them by their number.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from thawline.generated.encoders.inputs import ENCODERS
from thawline.generated.kernels.tables import SYNCS, TABLES

from thawline.engine.arrays import OFFSET
from thawline.engine.counting import RowCounter
from thawline.engine.starts import Starts
from thawline.engine.tables import Sync, Table, arrays
from thawline.formats.aerospike.checks import QUICKLY_CHECKED, Soundness
from thawline.formats.kafka.resync import LONGEST_CHAIN
from thawline.formats.kafka.rows import RecordColumns
from thawline.formats.kafka.units import LEAST_SIZE, MOST_OFFSETS
from thawline.formats.kafka.write import OpenBatch
from thawline.formats.rbak.records import RECORD
from thawline.formats.rbf.walk import ReverseScan
from thawline.native.constants.documents import FAULTY_CELLS, PAIR_CELLS, SCRATCH_BYTES, WORK_CELLS
from thawline.native.constants.kernels import COPY_STEP as ROOM_BEHIND
from thawline.native.constants.kernels import PROBE_CELLS
from thawline.ripemd160 import SIZE
from tools.fuzz.scans import LONGEST, NATIVE, How, Scan, block, filled, gather, zeros
from tools.fuzz.writing import Encoding, text_rows

Entry = Callable[[memoryview, How], None]

CHECKPOINTS = 16
MOST = 4
"""Values that bytes are cut into."""
LARGE = 600
"""Bytes of a bytearray that has a block of its own."""
TOLD_AS_TEXT = "rbf"
"""The format with the fewest ways of its own, which has that to text besides."""
LETTERS = b"SGXBDILMNYZJCPRHE"
"""Of keys and bins of Aerospike."""


@cache
def entries(name: str) -> tuple[Entry, ...]:
    """The entries of a format."""
    tables = [table for key, table in TABLES.items() if key.startswith(name)]
    scans = [_scan(table, is_gathered=is_gathered) for table in tables for is_gathered in _ways(table)]
    starts = (_starts(sync) for key, sync in SYNCS.items() if key.startswith(name))
    encodings = (Encoding(encoder) for key, encoder in ENCODERS.items() if key.startswith(name))
    texts = (text_rows,) if name == TOLD_AS_TEXT else ()
    return (*scans, *(_counter(table) for table in tables), *OTHERS[name], *starts, *encodings, *texts)


def _ways(table: Table) -> tuple[bool, ...]:
    """Whether values are copied or only found, where there are such."""
    return (True, False) if any(it.part == OFFSET for it in arrays(table)) else (True,)


def _scan(table: Table, *, is_gathered: bool) -> Entry:
    scan = Scan(table, is_gathered=is_gathered)

    def read(view: memoryview, how: How) -> None:
        for rows in scan.chunks(view, how):
            if how.is_gathered:
                scan.copied(view, rows, how.pattern)

    return read


def _counter(table: Table) -> Entry:
    counter = RowCounter(table)

    def read(view: memoryview, _: How) -> None:
        broken, end = counter.broken(view), counter.end(view)
        if not (0 <= end <= len(view) and (broken is None or 0 <= broken.at <= len(view))):
            raise AssertionError(f"{table.name}: a row that ends at {end}, {broken} of {len(view)} bytes")

    return read


def _starts(sync: Sync) -> Entry:
    def search(view: memoryview, how: How) -> None:
        starts, size = Starts(sync, view, is_proven=how.is_gathered), len(view)
        first = size // 3 if how.number & 8 else 0
        found = list(starts.within(first, size))
        positions = [at for at, _ in found]
        if positions != sorted(set(positions)) or not all(first <= at < at + length <= size for at, length in found):
            raise AssertionError(f"{sync.name}: units at {found} of {size} bytes")
        if starts.following(first) != (positions[0] if positions else size):
            raise AssertionError(f"{sync.name}: the first unit is not that at {positions[:1]}")
        why = starts.why_not(first)
        if why is not None and not first <= why.at <= size:
            raise AssertionError(f"{sync.name}: {why} of {size} bytes")

    return search


# Of several formats.


def checksums(view: memoryview, how: How) -> None:
    """Checksums of ranges, from the bytes and from checkpoints."""
    cuts = sorted(min(cut, len(view)) for cut in struct.unpack_from("<4H", bytes(view[:8]).ljust(8, b"\0")))
    starts, ends = array("q", [0, cuts[0], cuts[1]]), array("q", [len(view), cuts[2], cuts[3]])
    found, again = array("q", [0]) * 3, array("q", [0]) * 3
    NATIVE.crc32_ranges(view, starts, ends, 3, found)
    NATIVE.crc32c_ranges(view, starts, ends, 3, found)
    states = array("I", [0]) * (len(view) // CHECKPOINTS + 1)
    NATIVE.crc32c_checkpoints(view, CHECKPOINTS, states)
    NATIVE.crc32c_spans(view, starts, ends, 3, states, CHECKPOINTS, again)
    if found != again:
        raise AssertionError(f"checksums {list(found)} are {list(again)} from checkpoints")
    NATIVE.ripemd160_ranges(view, starts, ends, 3, memoryview(block(3 * SIZE, how.pattern)))


class Cut:
    """Bytes cut into values: how many and how long they are stands before them."""

    def __init__(self, view: memoryview) -> None:
        head = bytes(view[: 4 * MOST]).ljust(4 * MOST, b"\0")
        self.marks, self.numbers, self.rest = head[:MOST], head[MOST:], array("B", bytes(view[4 * MOST :]))[:]
        self.rows = 1 + self.marks[0] % MOST

    def values(self, which: int, size: int) -> tuple[array[int], array[int]]:
        """Offsets of values, and their bytes: the first `size` of what is left."""
        data, self.rest = self.rest[:size], self.rest[size:]
        cuts = sorted(min(cut, len(data)) for cut in self.numbers[which * MOST : which * MOST + self.rows - 1])
        return array("i", [0, *cuts, len(data)]), data

    def longs(self, count: int) -> array[int]:
        """Numbers of 64 bits."""
        data, self.rest = self.rest[: 8 * count], self.rest[8 * count :]
        return array("q", data.tobytes().ljust(8 * count, b"\0"))[:]

    def letters(self) -> array[int]:
        """The type of each value."""
        return array("q", [LETTERS[(mark >> 2) % len(LETTERS)] for mark in self.marks[: self.rows]])


def watch(owner: type) -> None:
    """Let a module of ours allocate watched blocks: Python's small bytearrays share blocks with other objects."""
    if hasattr(NATIVE, "fuzz_hold"):
        vars(sys.modules[owner.__module__])["bytearray"] = zeros


watch(Soundness)


# Aerospike.


def _sound() -> Entry:
    scan = Scan(TABLES["aerospike_records"], is_gathered=False, wanted=QUICKLY_CHECKED)
    soundness = Soundness(keeps_digests=True)

    def read(view: memoryview, how: How) -> None:
        for rows in scan.chunks(view, how):
            places = scan.found(rows)
            if soundness.holds(view, places) and (kept := soundness.kept(view, places)):
                ends, tail = array("q", [0]) * 256, b"abcdef"
                out = block(len(kept.digests) + len(tail) * rows, how.pattern)
                NATIVE.share_digests(rows, array("B", kept.digests)[:], tail, ends, out)

    return read


def bins(view: memoryview, how: How) -> None:
    """Values of bins, decoded and as JSON."""
    cut = Cut(view)
    compact = array("B", [cut.marks[1]])
    names = cut.values(0, 24)
    doubles = cut.values(1, 24)
    starts, data = cut.values(2, LONGEST)
    rows, size = cut.rows, len(data) + ROOM_BEHIND
    text, offsets, totals = array("i", [0]) * (rows + 1), array("i", [0]) * (rows + 1), array("q", bytes(32))
    out, problems = block(size, how.pattern), block(rows, how.pattern)
    NATIVE.decode_bins(
        rows, cut.letters(), compact, *names, *doubles, starts, data,
        text, block(size, how.pattern), zeros(1), offsets, out, zeros(1), problems, totals,
    )  # fmt: skip
    if totals[2]:
        json, ends = block(totals[3] + ROOM_BEHIND, how.pattern), array("i", [0]) * (rows + 1)
        NATIVE.write_json(rows, cut.letters(), problems, offsets, out[: offsets[rows]], ends, json, zeros(1))
        if ends[rows] > totals[3]:
            raise AssertionError(f"JSON of {ends[rows]} bytes where there is room for {totals[3]}")
        bytes(json[: ends[rows]]).decode()
    NATIVE.find_bins(1, array("i", [0, rows]), *names, b"ab", array("q", [0]))


def keys(view: memoryview, how: How) -> None:
    """Heads of records, keys, and what digests are hashes of."""
    cut = Cut(view)
    rows, letters, has_key, compact = cut.rows, cut.letters(), array("B", [cut.marks[1]]), array("B", [cut.marks[2]])
    numbers, expirations = cut.longs(rows), cut.longs(rows)
    sets, doubles, data = cut.values(0, 70), cut.values(1, 30), cut.values(2, LONGEST)
    flags = zeros(rows)
    NATIVE.check_heads(rows, *sets, *doubles, data[0], expirations, flags)
    offsets, out = array("i", [0]) * (rows + 1), block(len(data[1]) + len(doubles[1]) + 20 * rows + 32, how.pattern)
    NATIVE.decode_keys(rows, letters, has_key, numbers, compact, *doubles, *data, offsets, out, flags)
    decoded = out[: offsets[rows]]
    messages = block(len(sets[1]) + len(decoded) + 9 * rows, how.pattern)
    starts, ends = array("q", [0]) * rows, array("q", [0]) * rows
    count = NATIVE.pack_messages(
        rows, letters, has_key, numbers, expirations, offsets, decoded, *sets, starts, ends, messages
    )
    hashes = block(SIZE * count, how.pattern)
    NATIVE.ripemd160_ranges(memoryview(messages), starts, ends, count, memoryview(hashes))
    NATIVE.compare_digests(rows, has_key, *data, hashes, flags)
    NATIVE.partition_ids(rows, *data, array("i", [0]) * rows)


def scattered(view: memoryview, how: How) -> None:
    """Values with escapes or in base-64 anywhere in a buffer."""
    numbers = struct.unpack_from("<8H", bytes(view[:16]).ljust(16, b"\0"))
    starts = array("q", [number % (len(view) + 1) for number in numbers[:MOST]])
    sizes = [number % (len(view) - start + 1) for number, start in zip(numbers[MOST:], starts, strict=True)]
    for kind in ("base64", "escaped"):
        lengths = [-1 if number & 1 << 15 else size for number, size in zip(numbers[MOST:], sizes, strict=True)]
        if kind == "escaped":
            lengths = [-2 - size if number & 1 << 14 else size for number, size in zip(numbers, lengths, strict=False)]
        gather(view, kind, (starts, array("i", lengths), MOST), how.pattern)


# Kafka.


def units(view: memoryview, how: How) -> None:
    """Where units may start after damage, and their checksums."""
    bounds = (0, 1 << 62) if how.is_gathered else (1, 1 << 20)
    for positions, sizes in Starts(SYNCS["kafka_segment__entry"], view, bounds=bounds).bundles(0, len(view)):
        starts = array("q", [start + 21 for start in positions])
        ends = array("q", [start + size for start, size in zip(positions, sizes, strict=True)])
        NATIVE.crc32c_ranges(view, starts, ends, len(starts), array("q", [0]) * len(starts))


def follow(view: memoryview, how: How) -> None:
    """Units and gaps between them, followed through a window."""
    size = len(view)
    start, room = (size // 3 if how.number & 8 else 0), 2 if how.number & 16 else size // LEAST_SIZE + 2
    known, state = zeros(size - start), array("q", (start, -1, size if how.number & 32 else 100, 0, 0))
    while state[0] < size:
        state[3] = state[4] = 0
        before = state[0]
        units, holes = filled("q", 2 * room, how.pattern), filled("q", 4 * room, how.pattern)
        window, limits = array("q", (start, size)), array("q", (MOST_OFFSETS, LONGEST_CHAIN))
        NATIVE.follow_units(
            view, window, limits, how.is_gathered, state, array("q", bytes(8 * PROBE_CELLS)), known, units, holes
        )
        spans = [*zip(units[: 2 * state[3] : 2], units[1 : 2 * state[3] : 2], strict=True)]
        spans += [*zip(holes[: 4 * state[4] : 4], holes[1 : 4 * state[4] : 4], strict=True)]
        if [at for span in sorted(spans) for at in span][1:-1:2] != [span[0] for span in sorted(spans)[1:]]:
            raise AssertionError(f"units and gaps that are not one after the other: {sorted(spans)}")
        if not before <= state[0] <= size:
            raise AssertionError(f"units are followed from {before} to {state[0]} of {size} bytes")
        if state[0] == before:
            return


def _rows(cut: Cut) -> RecordColumns:
    count = cut.rows
    nothing = array("i"), b""
    key, value = cut.values(0, 40), cut.values(1, LONGEST)
    offsets = array("q", sorted({number & (1 << 62) - 1 for number in cut.longs(count)}))
    rows = len(offsets)
    deltas = memoryview(array("i", [0]) * rows), memoryview(array("q", [0]) * rows)
    columns = (
        array("b"), *reversed(deltas),
        *key, array("B", [cut.marks[1]]), 0, *value, b"", 0, array("i"), *nothing, *nothing, b"", 0,
    )  # fmt: skip
    return RecordColumns(rows, columns, (memoryview(offsets), memoryview(cut.longs(rows)), memoryview(b"")), deltas)


def encode(view: memoryview, how: How) -> None:
    """Records written again, with timestamps that are any."""
    rows = _rows(Cut(view))
    batch, row = OpenBatch(most_records=2, most_bytes=LARGE), 0
    while row < rows.count:
        row = batch.add(rows, row, 0, is_append_time=not how.is_gathered)
        batch.clear()


def placing(view: memoryview, how: How) -> None:
    """Offsets and timestamps from deltas to what the heads of batches say."""
    cut = Cut(view)
    rows, batches = 6, cut.rows
    ranges, heads, bases = array("i", sorted(i % batches for i in range(rows))), cut.longs(4 * batches), cut.longs(rows)
    deltas = array("i", cut.rest[: 4 * rows].tobytes().ljust(4 * rows, b"\0"))[:]
    offsets, timestamps = array("q", [0]) * rows, array("q", [0]) * rows
    last = array("q", [-1]) * batches
    NATIVE.place_records(ranges, deltas, bases, rows, heads, last, offsets, timestamps, zeros(batches))
    NATIVE.to_microseconds(timestamps, rows, array("q", [0]) * rows, block(rows, how.pattern))
    NATIVE.add_bases(heads, ranges, bases, rows, offsets)
    NATIVE.add_bases_short(heads, ranges, deltas, rows, offsets)
    NATIVE.first_not_rising(offsets, rows, -1)
    state, room = array("q", bytes(64)), [array(code, [0]) * (rows + 1) for code in "iiqi"]
    positions = array("q", range(0, 100 * rows, 100))
    NATIVE.index_batches(positions, offsets, timestamps, rows, abs(heads[0] >> 1), 50, state, *room)
    NATIVE.index_end(abs(heads[0] >> 1), state, *room[2:])


# RBF.


class _Held:
    """What the reverse scan asks of a source."""

    def __init__(self, view: memoryview) -> None:
        self._view, self.size = view, len(view)

    def view(self, _start: int, _end: int) -> memoryview:
        return self._view


def back(view: memoryview, how: How) -> None:
    """The reverse scan, in blocks that are short, with and without checkpoints."""
    scan = ReverseScan(_Held(view), 0)  # type: ignore[arg-type]
    if not how.is_gathered:
        scan.budget = -1
    steps = 0
    while scan.is_open:
        for segment in scan.step(16 << (how.number >> 3 & 7)):
            if not 0 <= segment.start < segment.end <= len(view):
                raise AssertionError(f"a stretch of frames at {segment}")
        steps += 1
        if steps > LONGEST:
            raise AssertionError("the reverse scan does not come to an end")


# RBAK.


def documents(view: memoryview, how: How) -> None:
    """Documents of records with their texts and headers."""
    cuts = [0, *_newlines(view), len(view)]
    starts, ends, rows = array("q", cuts[:-1]), array("q", cuts[1:]), len(cuts) - 1
    fields, pattern = len(RECORD.fields), how.pattern
    values, lengths = filled("q", fields * rows, pattern), filled("i", fields * rows, pattern)
    seen, counts, indices = filled("i", rows, pattern), filled("i", rows, pattern), filled("q", rows, pattern)
    work, scratch, escaped = array("q", bytes(8 * WORK_CELLS)), zeros(SCRATCH_BYTES), zeros(fields)
    good, _ = NATIVE.read_rbak_record(
        view, starts, ends, rows, 0, values, lengths, seen, counts, filled("i", rows + 1, pattern),
        block(len(view) // 2 + 16, pattern), indices, filled("q", FAULTY_CELLS * rows, pattern), escaped, work, scratch,
    )  # fmt: skip
    if not good:
        return
    for number, field in enumerate(RECORD.fields):
        part = slice(number * rows, number * rows + good)
        NATIVE.pack_seen(seen, number, good, zeros((good + 7) // 8))
        if field.kind in {"text", "pairs"}:
            gather(view, "json" if escaped[number] else "text", (values[part], lengths[part], good), pattern)
        elif field.kind not in {"object", "bytes"}:
            NATIVE.widen(values[part], good, array("q", [0]) * 2 * good)
        if field.kind == "pairs":
            _pairs(view, (values[part], lengths[part], counts, good), (work, scratch), pattern)


def _pairs(view: memoryview, found: tuple[Any, Any, Any, int], room: tuple[Any, Any], pattern: int) -> None:
    texts, sizes, counts, rows = found
    offsets = array("i", [0]) * (rows + 1)
    NATIVE.list_offsets(counts, rows, offsets, zeros((rows + 7) // 8))
    total = offsets[rows]
    if not 0 <= total <= LONGEST:
        raise AssertionError(f"{total} pairs")
    cells, places = filled("q", PAIR_CELLS * total, pattern), [filled(typecode, total, pattern) for typecode in "qiqi"]
    is_escaped = NATIVE.find_pairs(view, texts, sizes, counts, rows, cells, *places, RECORD.pair_names, *room)
    gather(view, "json" if is_escaped else "text", (places[0], places[1], total), pattern)
    gather(view, "text", (places[2], places[3], total), pattern)


def _newlines(view: memoryview) -> Iterator[int]:
    data = bytes(view)
    at = data.find(b"\n")
    while at >= 0:
        yield at + 1
        at = data.find(b"\n", at + 1)


OTHERS: dict[str, tuple[Entry, ...]] = {
    "rbak": (documents, scattered),
    "rbf": (back, checksums),
    "aerospike": (_sound(), bins, keys, scattered, checksums),
    "borg": (checksums,),
    "kafka": (units, follow, placing, encode, checksums),
}
