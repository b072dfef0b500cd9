"""Small segments that are read together: what it takes to decode one by itself is far more than what is in it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import CodecError
from thawline.formats.rbak.messages import MOST_MILLISECONDS, batch_of, chosen, schema_of, wire_columns
from thawline.formats.rbak.payload import RECORD_SHARE, chunk_of, place_records
from thawline.formats.rbak.reading import Reading, Told
from thawline.formats.rbak.records import Decoded, Fault, decoder
from thawline.inflow import Inflow
from thawline.model import Finding, Span

LARGEST = 4 << 10
"""Bytes of a segment that is small."""
LARGEST_PAYLOAD = 16 << 10
"""Bytes that its payload may decompress to."""
MOST_ITEMS, MOST_BYTES, MOST_DOCUMENTS = 1 << 10, 1 << 20, 1 << 14
"""What waits at most before it is decoded: segments and stretches, and bytes and documents of the payloads."""
OWNER = "owner"

Item = Reading | Finding | Span
"""A small segment, a segment that cannot be read, or a stretch that is none."""


@dataclass(slots=True)
class Together:
    """Items of a file in its order, and the payloads of the small segments among them, which are decoded at once."""

    wanted: Collection[str]
    items: list[Item] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)
    """The payloads, one behind the other."""
    begins: list[int] = field(default_factory=list)
    """Where the payload of each reading begins."""
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    """Where documents are."""

    @property
    def is_full(self) -> bool:
        """Whether it is time to decode what waits."""
        is_long = len(self.data) >= MOST_BYTES or len(self.starts) >= MOST_DOCUMENTS
        return is_long or len(self.items) >= MOST_ITEMS

    def add(self, reading: Reading) -> bool:
        """Take the payload of a segment; False if it is not small, and nothing is taken."""
        if reading.segment.span.size > LARGEST or reading.max_payload // RECORD_SHARE < LARGEST_PAYLOAD:
            return False
        payload = _payload(reading.inflow(), reading)
        if payload is None:
            return False
        begin, first = len(self.data), len(self.starts)
        self.data += payload
        with memoryview(self.data) as view:
            end = place_records(view, begin, self.starts, self.ends)
        if end < len(self.data):
            reading.ending.torn.append((end - begin, len(self.data) - begin))
        reading.ending.size, reading.documents = len(payload), len(self.starts) - first
        self.items.append(reading)
        self.readings.append(reading)
        self.begins.append(begin)
        return True

    def read(self) -> Iterator[tuple[Item, pa.RecordBatch | None]]:
        """The items; those that are segments know what is to be said about them, and come with their rows, if any."""
        rows = self._rows() if self.starts else None
        done = 0
        for item in self.items:
            count = item.rows if isinstance(item, Reading) else 0
            yield item, rows.slice(done, count) if rows is not None and count else None
            done += count

    def _rows(self) -> pa.RecordBatch:
        """The rows of all segments."""
        context = self.readings[0].context
        wire = wire_columns(self.wanted, context.named)
        with memoryview(self.data) as view:
            decoded = decoder()(view, chunk_of(self.starts, self.ends), wire, len(self.starts))
            owners = self._tell(decoded, view)
        found = chosen(_owned(decoded.batch, owners, [reading.documents for reading in self.readings]), context)
        for owner, count in Counter(found[OWNER].to_pylist()).items():
            self.readings[owner].rows = count
        return batch_of(found, schema_of(self.wanted), context)

    def _tell(self, decoded: Decoded, view: memoryview) -> array[int]:
        """Tell each reading what was found in its documents; the reading that each row is of."""
        parts = _Parts(decoded)
        owners = array("q")
        for index, (reading, begin) in enumerate(zip(self.readings, self.begins, strict=True)):
            told = parts.next(reading.documents, begin)
            owners.extend([index] * told.good)
            reading.documents = 0
            reading.tell(told, view[begin : begin + reading.ending.size])
        return owners


class _Parts:
    """What was found in some documents, taken apart by the segments that they are of."""

    def __init__(self, decoded: Decoded) -> None:
        self.times: list[int | None] = decoded.batch["backed_up_at"].to_pylist()
        self.faults, self.incomplete, self.odd = (
            decoded.faults[::-1],
            decoded.incomplete[::-1],
            decoded.odd_headers[::-1],
        )
        self.documents = self.rows = 0

    def next(self, documents: int, begin: int) -> Told:
        """What is to be said about the next documents, whose payload begins there."""
        first, self.documents = self.documents, self.documents + documents
        faults = []
        while self.faults and self.faults[-1].index < self.documents:
            fault = self.faults.pop()
            faults.append(Fault(fault.index - first, fault.kind, fault.field, fault.at - begin))
        good = documents - len(faults)
        times = self.times[self.rows : self.rows + good]
        self.rows += good
        beyond = sum(time is not None and abs(time) > MOST_MILLISECONDS for time in times)
        incomplete, odd = self._taken(self.incomplete, first), self._taken(self.odd, first)
        return Told(documents, good, times[:1] + times[-1:], beyond, incomplete, odd, faults)

    def _taken(self, indices: list[int], first: int) -> list[int]:
        taken = []
        while indices and indices[-1] < self.documents:
            taken.append(indices.pop() - first)
        return taken


def _owned(wire: pa.RecordBatch, owners: array[int], documents: list[int]) -> pa.RecordBatch:
    """The rows with the number of the reading that each is of; its own number counts from the start of that."""
    of_each = pa.Array.from_buffers(pa.int64(), len(owners), [None, pa.py_buffer(owners)])
    firsts = array("q", [0])
    for count in documents[:-1]:
        firsts.append(firsts[-1] + count)
    first = pa.Array.from_buffers(pa.int64(), len(firsts), [None, pa.py_buffer(firsts)]).take(of_each)
    at = wire.schema.get_field_index("index")
    return wire.set_column(at, "index", pc.subtract(wire["index"], first)).append_column(OWNER, of_each)


_room = bytearray(LARGEST_PAYLOAD + 1)


def _payload(inflow: Inflow, reading: Reading) -> bytes | None:
    """A payload as far as it decompresses; None if it is not small."""
    held = 0
    with memoryview(_room) as room:
        try:
            while held < len(room) and (size := inflow.readinto(room[held:])):
                held += size
        except CodecError as error:
            reading.ending.stop(error)
        return bytes(room[:held]) if held < len(room) else None
