"""RbfWriter: append frames to an RBF log so that a crash at any byte loses nothing that was appended before."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine import encoding
from thawline.errors import SourceError, ThawlineError
from thawline.formats.rbf.findings import TORN_TAIL
from thawline.formats.rbf.frame import FENCE, LONGEST_WRITTEN, frame_before, is_newer_layout
from thawline.formats.rbf.walk import tiles
from thawline.model import Finding
from thawline.source import Source, open_source

try:
    import fcntl
except ImportError:  # Windows has no flock
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["BadFrame", "FrameBuilder", "NotAppendable", "OutOfTurn", "RbfWriter"]

LONGEST_FRAME = LONGEST_WRITTEN - 4
"""The address of a frame has 26 bits for its length in units of four bytes (SizedPtr)."""
LONGEST_PAYLOAD = LONGEST_FRAME - 17
"""The longest frame has one byte of status [F-HEADLEN-FORMULA]."""
IN_MEMORY = 8 << 20
"""A builder keeps a payload of up to this size in memory, and a longer one in a temporary file."""
MOST_AT_ONCE = 1 << 30
LARGEST_TAG = 0xFFFF_FFFF


class NotAppendable(SourceError):
    """The file cannot be appended to as it is; it has not been changed."""


class BadFrame(ThawlineError, ValueError):
    """A tag or payload that no frame can hold."""


class OutOfTurn(ThawlineError, RuntimeError):
    """A call that the state of the writer or builder does not allow."""


def encode(tag: int, payload: Buffer, *, tombstone: bool = False) -> bytes:
    """A frame and the fence after it.

    >>> encode(0x44434241, b"").hex(" ", 4)
    '14000000 41424344 03030303 14000000 e4a68bc1 52424631'
    """
    view = memoryview(payload).cast("B")
    head, tail = encoding.frame("rbf_frames", frame_tag=tag, payload=view, is_tombstone=tombstone)
    return b"".join((head, view, tail))


def _tag(tag: int | bytes) -> int:
    """A tag as a number; four bytes are taken in the order of the file."""
    number = int.from_bytes(tag, "little") if isinstance(tag, bytes) and len(tag) == len(FENCE) else tag
    if not isinstance(number, int) or not 0 <= number <= LARGEST_TAG:
        raise BadFrame(f"a tag is four bytes or a number of 32 bits, not {tag!r}")
    return number


def _wire_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of the table `frames` under the names of the spec."""
    if missing := {"tag", "payload"} - set(batch.schema.names):
        raise BadFrame(f"a batch of frames needs the column {' and '.join(sorted(missing))}")
    tombstones = batch["tombstone"] if "tombstone" in batch.schema.names else pa.nulls(len(batch), pa.bool_())
    columns = {
        "frame_tag": batch["tag"],
        "payload": batch["payload"],
        "is_tombstone": tombstones.fill_null(False),  # noqa: FBT003 - Arrow has no keyword
    }
    return pa.RecordBatch.from_pydict(columns)


def _parts(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in parts that one write takes: Linux writes no more than 2 GiB at a time."""
    if rows.nbytes > MOST_AT_ONCE and rows.num_rows > 1:
        half = rows.num_rows // 2
        yield from _parts(rows.slice(0, half))
        yield from _parts(rows.slice(half))
    elif rows.num_rows:
        yield rows


def _check_size(size: int) -> None:
    if size > LONGEST_PAYLOAD:
        raise BadFrame(f"a payload of {size} bytes does not fit a frame; it may have {LONGEST_PAYLOAD}")


class RbfWriter:
    """An RBF log to append to; a new one has the genesis fence and nothing else [F-GENESIS].

    A frame and its fence are appended in one write, so a crash leaves the frames appended before, and at most one torn
    frame, which readers do not return. (If the torn frame's payload holds a whole RBF file, readers return the frames
    of that one; the format has no defence, `verify` marks them as nested suspects.) Nothing is buffered: when `append`
    returns, other processes see the frame; `sync` makes it survive a power cut.

    A file that does not end in a fence after a valid frame is refused, because what is appended there could not be
    read. With `truncate_torn_tail` it is cut after the last valid fence; `truncated_bytes` is the number of bytes cut.
    """

    def __init__(self, path: str | os.PathLike[str], *, truncate_torn_tail: bool = False) -> None:
        self.path = Path(path)
        self.truncated_bytes = 0
        """Bytes that were cut from the end of the file when it was opened."""
        self._builder: FrameBuilder | None = None
        self._file = _opened(self.path)
        try:
            _lock(self._file, self.path)
            self._end = self._good_end(truncate_torn_tail=truncate_torn_tail)
            if self._end == 0:
                self._write((FENCE,))
        except BaseException:
            os.close(self._file)
            raise

    def _good_end(self, *, truncate_torn_tail: bool) -> int:
        """Where to append: the end of the file, once a torn end has been cut off."""
        size = os.fstat(self._file).st_size
        end = _end_of_frames(self.path, is_cut_allowed=truncate_torn_tail)
        if end < size:
            os.ftruncate(self._file, end)
            self.truncated_bytes = size - end
        return end

    @property
    def size(self) -> int:
        """Size of the file: the DataTail after the last frame [R-DATATAIL-DEFINITION]."""
        return self._end

    def append(self, tag: int | bytes, payload: Buffer, *, tombstone: bool = False) -> int:
        """Write a frame; its address, which is the position of its HeadLen in the file."""
        self._check_idle()
        number, view = _tag(tag), memoryview(payload).cast("B")
        _check_size(len(view))
        return self._put(number, view, tombstone=tombstone)

    def append_batch(self, batch: pa.RecordBatch) -> pa.Int64Array:
        """Write the rows of a batch with the columns `tag`, `payload` and `tombstone`; the addresses of their frames.

        Without `tombstone` no row is one. A crash leaves the first frames of the batch, and at most one torn frame. A
        batch that is refused leaves the file as it was.
        """
        self._check_idle()
        rows = _wire_columns(batch)
        _check_size(pc.max(pc.binary_length(rows["payload"])).as_py() or 0)
        try:
            encoded = [encoding.encode("rbf_frames", part) for part in _parts(rows)]
        except encoding.Refused as error:
            raise BadFrame(str(error)) from None
        starts = [self._write((part.data,)) for part in encoded]
        ends = [pc.add(part.ends, start) for part, start in zip(encoded, starts, strict=True)]
        first = pa.array([self._end if not starts else starts[0]], pa.int64())
        return pa.concat_arrays([first, *ends])[: batch.num_rows]

    def begin(self, tag: int | bytes, *, tombstone: bool = False) -> FrameBuilder:
        """A frame to be written in parts; nothing of it reaches the file before `commit`."""
        self._check_idle()
        self._builder = FrameBuilder(self, _tag(tag), tombstone=tombstone)
        return self._builder

    def flush(self) -> None:
        """Do nothing, since nothing is buffered: callers expect it of a file."""
        self._check_open()

    def sync(self) -> None:
        """Wait until all frames are on the disk."""
        self._check_open()
        try:
            os.fsync(self._file)
        except OSError as error:
            raise SourceError(error.errno, f"{self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; a frame that was begun and not committed is dropped."""
        if self._builder:
            self._builder.abort()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _check_open(self) -> None:
        if self._file < 0:
            raise OutOfTurn(f"{self.path}: the writer is closed")

    def _check_idle(self) -> None:
        self._check_open()
        if self._builder:
            raise OutOfTurn(f"{self.path}: a frame has been begun; commit or abort it first")

    def _put(self, tag: int, payload: memoryview, *, tombstone: bool) -> int:
        head, tail = encoding.frame("rbf_frames", frame_tag=tag, payload=payload, is_tombstone=tombstone)
        return self._write((head, payload, tail))

    def _write(self, parts: tuple[Buffer, ...]) -> int:
        """Append bytes to the file, all or none; the position of the first."""
        address, size = self._end, sum(map(len, parts))  # type: ignore[arg-type]
        try:
            if os.pwritev(self._file, parts, address) != size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 - a short write means just that
            self._end = address + size
        except BaseException as error:  # Ctrl-C, too: a frame that was not reported to the caller must not stay
            self._end = address
            with suppress(OSError):
                os.ftruncate(self._file, address)
            if isinstance(error, OSError):
                raise SourceError(error.errno, f"{self.path}: {error.strerror}") from error
            raise
        return address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FrameBuilder:
    """A frame that is being built: write its payload in parts, then commit or abort it.

    As a context manager it commits at the end of the block and aborts on an exception.
    """

    def __init__(self, writer: RbfWriter, tag: int, *, tombstone: bool) -> None:
        self._writer, self._tag, self._tombstone = writer, tag, tombstone
        self._size = 0
        self._memory = bytearray()
        self._spill: IO[bytes] | None = None
        self.address: int | None = None
        """The address of the frame, once it has been committed."""

    def write(self, data: Buffer) -> int:
        """Add to the payload; the number of bytes added."""
        self._check_open()
        view = memoryview(data).cast("B")
        _check_size(self._size + len(view))
        if self._spill is None and self._size + len(view) > IN_MEMORY:
            self._spill = tempfile.TemporaryFile()  # noqa: SIM115 - commit and abort close it
            self._spill.write(self._memory)
            self._memory = bytearray()
        if self._spill is None:
            self._memory += view
        else:
            self._spill.write(view)
        self._size += len(view)
        return len(view)

    def commit(self) -> int:
        """Write the frame; its address."""
        self._check_open()
        if self._spill is None:
            return self._commit(self._memory)
        self._spill.flush()
        with mmap.mmap(self._spill.fileno(), 0, access=mmap.ACCESS_READ) as payload:
            return self._commit(payload)

    def _commit(self, payload: bytearray | mmap.mmap) -> int:
        with memoryview(payload) as view:
            self.address = self._writer._put(self._tag, view, tombstone=self._tombstone)  # noqa: SLF001
        self._end()
        return self.address

    def abort(self) -> None:
        """Drop the frame; nothing of it is in the file. Does nothing once it is committed or aborted."""
        if self.is_open:
            self._end()

    @property
    def is_open(self) -> bool:
        """Whether it can still be written to."""
        return self._writer._builder is self  # noqa: SLF001 - the writer knows which builder is open

    def _check_open(self) -> None:
        if not self.is_open:
            done = "aborted" if self.address is None else "committed"
            raise OutOfTurn(f"{self._writer.path}: the frame has been {done} already")

    def _end(self) -> None:
        self._writer._builder = None  # noqa: SLF001 - as is_open
        self._memory = bytearray()
        if self._spill:
            self._spill.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.is_open:
            self.commit()
        self.abort()


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise SourceError(error.errno, f"{path}: {error.strerror}") from error


def _lock(file: int, path: Path) -> None:
    """Keep other writers out while this one is open: two would overwrite each other's frames."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise NotAppendable(error.errno, f"{path}: another writer has it open") from error
    except OSError as error:
        if error.errno not in {errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK}:  # not on every network file system
            raise NotAppendable(error.errno, f"{path}: {error.strerror}") from error


def _end_of_frames(path: Path, *, is_cut_allowed: bool) -> int:
    """Where a log ends after a valid frame, or after its genesis fence; 0 for one that does not have that yet."""
    with open_source(path) as source:
        if ends_well(source):
            return source.size
        _refuse_what_is_no_log(source)
        if not is_cut_allowed:
            raise NotAppendable(
                f"{path}: does not end in a fence after a valid frame, so nothing appended could be read; "
                f"`thawline verify {path}` says why, truncate_torn_tail=True cuts the end off"
            )
        return 0 if source.size < len(FENCE) else _last_good_end(source)


def ends_well(source: Source) -> bool:
    """Whether a file is empty, is a genesis fence, or ends in a fence after a valid frame."""
    fence = source.size - len(FENCE)
    if source.size == 0:
        return True
    if fence < 0 or fence % 4 or source.view(fence, source.size) != FENCE:
        return False
    return fence == 0 or frame_before(source.view(0, source.size), fence) is not None


def _refuse_what_is_no_log(source: Source) -> None:
    """Refuse files of other formats and layouts: none has a valid frame, so cutting after the last would empty it."""
    head = bytes(source.view(0, min(source.size, len(FENCE))))
    if not FENCE.startswith(head):
        raise NotAppendable(f"{source.name}: does not start with the fence RBF1, so it is no RBF log to append to")
    if is_newer_layout(source):
        raise NotAppendable(f"{source.name}: is written in the newer layout 0.40, which is not written here")


def _last_good_end(source: Source) -> int:
    """The end of the last intact frame; `NotAppendable` if frames after it may be payload or may be records."""
    end, doubtful, torn = len(FENCE), 0, 0
    for item in tiles(source):
        if isinstance(item, Finding):
            torn = item.span.start if item.code is TORN_TAIL else torn
        elif not item.suspect:
            end, doubtful = item.span.end, 0
        elif not (torn and _holds_a_log(source, torn)):
            doubtful = doubtful or item.span.start
    if doubtful:
        raise NotAppendable(
            f"{source.name}: the frames from {doubtful:#x} on may be payload of a broken frame or records of this log, "
            f"so they are not cut off; `thawline salvage {source.name}` with --truncate-at {end} makes a copy without"
        )
    return end


def _holds_a_log(source: Source, start: int) -> bool:
    """Whether the payload of a torn frame starts like an RBF file, so that frames after it are no records."""
    return source.view(start + 8, start + 8 + len(FENCE)) == FENCE
