"""The bytes of a path, a URL, stdin, a file object or a bytes object.

Local files are mapped: a view is free, and only accessed pages are read. Without a guard against unreadable pages they
are read in blocks instead (`unmapped`). Remote files are read in ranges. Inputs are
opened for reading only and never locked.
"""

from __future__ import annotations

import io
import mmap
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import IO, Any, Protocol, Self
from weakref import WeakSet, finalize

from thawline.blocks import Blocks, keep, taken
from thawline.errors import MissingExtra, SourceError

STDIN = "-"
SHRUNK = "the file was cut while it was read"
FAILED = "the disk gave an input/output error"
EXTRAS = {"s3": "s3", "s3a": "s3"}
"""URL schemes, and the extra that is installed to read them."""
PAGE = mmap.ALLOCATIONGRANULARITY

Identity = tuple[int, int]
"""Device and inode of a file: the same for every name, link and hard link of it."""
_OPEN: WeakSet[LocalSource | RemoteSource] = WeakSet()

Readable = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""What can be opened: a path, `-` for stdin, a URL, bytes, or a binary file object."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Bytes `[start, end)` that could not be read; zeros replace them."""

    start: int
    end: int
    reason: str


class Source(Protocol):
    """A file that is read at any position."""

    name: str
    size: int
    is_local: bool
    """Whether views of any size are free."""

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`; `SourceError` if they are not all in the file."""
        ...

    def release(self, end: int) -> None:
        """Allow bytes before `end` to leave memory; they can still be read again."""
        ...

    def on_disk(self) -> Source:
        """A source of the same bytes whose views are free: itself if it is local, else a copy on disk."""
        ...

    def faults(self) -> Sequence[Fault]:
        """The bytes that could not be read so far, and were read as zeros; the list grows during a read."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class LocalSource:
    """Bytes in memory, or a mapped file."""

    is_local = True

    def __init__(
        self,
        name: str,
        data: bytes | bytearray | memoryview | mmap.mmap,
        file: IO[bytes] | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.name = name
        self._file = file
        self._map = data if isinstance(data, mmap.mmap) else None
        self._whole = memoryview(data).cast("B")
        self.size = len(self._whole)
        self.identity = identity_of_file(file) if file is not None else None
        self._faults = faults
        self._guard = _Guard(data, file) if isinstance(data, mmap.mmap) and file is not None else None
        _OPEN.add(self)

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`, without a copy."""
        if not 0 <= start <= end <= self.size:
            raise SourceError(f"{self.name}: no bytes {start:#x}..{end:#x} in a file of {self.size:#x}")
        try:
            return self._whole[start:end]
        except ValueError as error:
            raise SourceError(f"{self.name}: is closed; open it again to read it") from error

    def release(self, end: int) -> None:
        """Drop mapped pages before `end` from memory; the next access reads them from the file again."""
        if self._map is not None and end >= PAGE and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, 0, end // PAGE * PAGE)

    def on_disk(self) -> LocalSource:
        """Itself."""
        return self

    def faults(self) -> Sequence[Fault]:
        """Pages with an input/output error, or cut off while the file was read."""
        return [*self._faults, *self._guard.faults()] if self._guard else self._faults

    @property
    def is_guarded(self) -> bool:
        """Whether an unreadable page becomes a fault instead of ending the process."""
        return self._map is None or (self._guard is not None and self._guard.is_on)

    def close(self) -> None:
        """Unmap the file, once no view of it is left."""
        _OPEN.discard(self)
        if self._guard:
            self._guard.close()
        self._whole.release()
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                self._map = None  # an Arrow column still refers to it, and unmaps it when it is freed
            else:
                if self._guard:
                    self._guard.stop()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Guard:
    """Replaces unreadable pages of a mapped file by zeros; without it, SIGBUS ends the process.

    Only the native module can do this, and for a limited number of files at a time.
    """

    def __init__(self, mapped: mmap.mmap, file: IO[bytes]) -> None:
        from thawline.native import functions  # noqa: PLC0415 - slow to import, and not needed before a file is mapped

        self._functions = functions
        self._slot = functions.guard(mapped, file.fileno())
        self.is_on = self._slot >= 0
        """Whether there is one."""
        self._last: tuple[Fault, ...] = ()
        # The slot is freed with the map: on close, or later if an Arrow column still refers to it.
        self._end = finalize(mapped, functions.unguard, self._slot) if self._slot >= 0 else None

    def faults(self) -> Sequence[Fault]:
        """The bytes that could not be read so far, in file order."""
        if self._slot < 0:
            return self._last
        faults = self._functions.faults(self._slot)
        if not faults:
            return ()
        faults.sort()
        return [Fault(start, end, SHRUNK if is_cut else FAILED) for start, end, is_cut in faults]

    def close(self) -> None:
        """Keep the faults so far; the slot stays in use until the file is unmapped."""
        if self._slot >= 0:
            self._last = tuple(self.faults())
            self._slot = -1

    def stop(self) -> None:
        """Free the slot: the file is unmapped."""
        if self._end:
            self._end()


@dataclass(frozen=True, slots=True)
class _Fetched:
    """What was fetched of a remote file, as a file on disk."""

    blocks: Blocks
    copy: LocalSource

    def close(self) -> None:
        """Stop fetching, and remove it."""
        self.copy.close()
        self.blocks.close()


class RemoteSource:
    """A file at a URL, fetched through fsspec in blocks, each of them once."""

    is_local = False
    block = 256 << 10
    """Bytes that are fetched at least."""
    identity: Identity | None = None

    def __init__(self, name: str, file: Any, size: int) -> None:
        self.name, self.size, self._file = name, size, file
        _OPEN.add(self)
        self._fetched: _Fetched | None = None
        details = getattr(file, "details", None) or {}
        etag = details.get("ETag") or details.get("etag")
        self._version = (name, size, etag) if etag else None
        self._is_closed = False
        self._lock = RLock()

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`, fetched as far as they were not before."""
        if not 0 <= start <= end <= self.size:
            raise SourceError(f"{self.name}: no bytes {start:#x}..{end:#x} in a file of {self.size:#x}")
        return self._having(start, end).view(start, end)

    def _having(self, start: int, end: int) -> LocalSource:
        """The file on disk, with these bytes in it."""
        with self._lock:
            self._check_open()
            if self._fetched is None:
                self._fetched = self._begun()
        try:
            self._fetched.blocks.need(start, end)
        except SourceError:
            raise
        except OSError as error:
            raise SourceError(error.errno, f"{self.name}: cannot be copied: {error.strerror}") from error
        return self._fetched.copy

    def _check_open(self) -> None:
        if self._is_closed:
            raise SourceError(f"{self.name}: is closed; open it again to read it")

    def _begun(self) -> _Fetched:
        kept = taken(self._version) if self._version else None
        if isinstance(kept, _Fetched):
            kept.blocks.resume(self._fetch)
            return kept
        try:
            blocks = Blocks(self.size, self.block, self._fetch)
        except OSError as error:
            raise SourceError(error.errno, f"{self.name}: cannot be copied: {error.strerror}") from error
        return _Fetched(blocks, LocalSource(self.name, blocks.data))

    def _fetch(self, start: int, end: int) -> bytes:
        try:
            data = self._read(start, end)
        except Exception as error:
            if type(error).__name__ == "FileExpired":  # as s3fs says that the object has another ETag now
                raise SourceError(f"{self.name}: the object was replaced while it was read; read it again") from error
            raise SourceError(f"{self.name}: cannot read {start:#x}..{end:#x}: {error}") from error
        if len(data) != end - start:
            raise SourceError(f"{self.name}: the file changed while it was read; it ends before {end:#x}")
        return data

    def _read(self, start: int, end: int) -> bytes:
        """One request; file systems with requests by position take several at a time."""
        fetch = getattr(self._file, "_fetch_range", None)
        if fetch is not None:
            return bytes(fetch(start, end))
        with self._lock:
            self._file.seek(start)
            return bytes(self._file.read(end - start))

    def release(self, end: int) -> None:
        """Drop mapped pages before `end` from memory; they stay on disk."""
        if self._fetched is not None:
            self._fetched.copy.release(end)

    def on_disk(self) -> LocalSource:
        """A copy on disk: the blocks that were fetched before, and now the others."""
        return self._having(0, self.size)

    def faults(self) -> Sequence[Fault]:
        """None: a range that cannot be fetched raises instead."""
        return ()

    def close(self) -> None:
        """Close the connection, and remove what was copied."""
        _OPEN.discard(self)
        self._is_closed = True
        if self._fetched is not None:
            self._fetched.blocks.rest()
            if self._version is None or not keep(self._version, self._fetched):
                self._fetched.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Held:
    """A file whose bytes stay in memory while others read what was passed."""

    def __init__(self, source: Source) -> None:
        self._source, self.name, self.size, self.is_local = source, source.name, source.size, source.is_local

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`."""
        return self._source.view(start, end)

    def release(self, end: int) -> None:
        """Do nothing."""

    def on_disk(self) -> Source:
        """The same file on disk."""
        return self if self.is_local else Held(self._source.on_disk())

    def faults(self) -> Sequence[Fault]:
        """Those of the file."""
        return self._source.faults()

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class Beginning:
    """The first bytes of a file: what has been appended to it since it was listed is not part of it."""

    def __init__(self, source: Source, size: int) -> None:
        self._source, self.name, self.size, self.is_local = source, source.name, size, source.is_local

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`."""
        if end > self.size:
            raise SourceError(f"{self.name}: no bytes {start:#x}..{end:#x} in a file of {self.size:#x}")
        return self._source.view(start, end)

    def release(self, end: int) -> None:
        """As for the whole file."""
        self._source.release(min(end, self.size))

    def on_disk(self) -> Source:
        """The same bytes of the file on disk."""
        return self if self.is_local else Beginning(self._source.on_disk(), self.size)

    def faults(self) -> Sequence[Fault]:
        """Those of the whole file that are in it."""
        return [fault for fault in self._source.faults() if fault.start < self.size]

    def close(self) -> None:
        """Close the file."""
        self._source.close()


def open_files() -> set[Identity]:
    """The files that are open for reading in this process."""
    return {source.identity for source in list(_OPEN) if source.identity}


def identity_of(name: str) -> Identity | None:
    """The identity of the file that a path, a `file://` URL or stdin leads to; None if that is no local file."""
    scheme, _, path = name.rpartition("://")
    try:
        if name in {STDIN, "<stdin>"}:
            return _identity(os.fstat(sys.stdin.fileno()))
        return _identity(Path(path if scheme in {"file", "local"} else name).stat())
    except (OSError, ValueError, AttributeError):  # no such file, a name that is no valid path, or a closed stdin
        return None


def identity_of_file(file: IO[bytes]) -> Identity:
    """Which file is open."""
    return _identity(os.fstat(file.fileno()))


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def open_source(readable: Readable, name: str | None = None) -> LocalSource | RemoteSource:
    """A source over anything readable; `SourceError` if it cannot be opened.

    >>> open_source(b"RBF1").view(0, 4).tobytes()
    b'RBF1'
    """
    if isinstance(readable, bytes | bytearray | memoryview):
        return LocalSource(name or "<bytes>", readable)
    if isinstance(readable, str | os.PathLike):
        path = os.fspath(readable)
        if path == STDIN:
            return _spooled(name or "<stdin>", sys.stdin.buffer)
        return _remote(path) if "://" in path else _mapped(name or path, path)
    return _of_file_object(name, readable)


def open_beside(path: str) -> LocalSource | RemoteSource:
    """A file that the user did not name, such as the index beside a segment; `SourceError` unless it is a regular file.

    Opening a pipe would block.
    """
    if "://" not in path and not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises for a name with a NUL
        raise SourceError(f"{path}: is no regular file")
    return open_source(path)


def _mapped(name: str, path: str) -> LocalSource | RemoteSource:
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - the source closes it
    except IsADirectoryError as error:
        raise SourceError(error.errno, f"{name}: is a folder, which thawline.open_folder opens") from error
    except OSError as error:
        raise SourceError(error.errno, f"{name}: {error.strerror}") from error
    return _map_file(name, file)


def _map_file(name: str, file: IO[bytes]) -> LocalSource | RemoteSource:
    try:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        # Not mappable: a pipe, a device, a file of /proc, or an empty file. Read a copy on disk instead.
        with file:
            return _spooled(name, file)
    source = LocalSource(name, mapped, file)
    if source.is_guarded or not hasattr(os, "pread"):  # Windows, which does not cut a mapped file
        return source
    from thawline.unmapped import unmapped  # noqa: PLC0415 - rarely needed

    twin = os.fdopen(os.dup(file.fileno()), "rb")
    source.close()
    return unmapped(name, twin)


def _spooled(name: str, file: IO[bytes]) -> LocalSource:
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
    try:
        shutil.copyfileobj(file, copy, 1 << 20)
        return _map_copy(name, copy)
    except BaseException as error:
        copy.close()
        if isinstance(error, OSError):
            raise SourceError(error.errno, f"{name}: {error.strerror}") from error
        raise


def _map_copy(name: str, copy: IO[bytes], faults: Sequence[Fault] = ()) -> LocalSource:
    """A mapped copy in a nameless file, which no process can cut; `faults` are those of the copied bytes."""
    copy.flush()
    if not copy.tell():
        return LocalSource(name, b"", copy)
    return LocalSource(name, mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ), copy, faults)


def _of_file_object(name: str | None, file: IO[bytes]) -> LocalSource | RemoteSource:
    """A source over an open file, which stays open; a mapped one also keeps its position."""
    shown = name or str(getattr(file, "name", "<file>"))
    if isinstance(file, io.BytesIO):
        return LocalSource(shown, file.getvalue())
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"{shown} is open as text; open it with mode 'rb'")
    try:
        twin = os.fdopen(os.dup(file.fileno()), "rb") if _is_plain(file) else None
    except (OSError, ValueError) as error:
        raise SourceError(f"{shown}: {error}") from error
    return _map_file(shown, twin) if twin else _spooled(shown, file)


def _is_plain(file: Any) -> bool:
    """Whether a file object reads the bytes of a file on disk unchanged.

    The descriptor is not enough: gzip's file object has that of the compressed file, and bytes of a pipe may already
    be in the object's buffer.
    """
    file = getattr(file, "file", file)  # what `tempfile` wraps
    raw = getattr(file, "raw", file)
    return isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)


def _remote(url: str) -> LocalSource | RemoteSource:
    filesystem, path = filesystem_of(url)
    try:
        if url.startswith(("file://", "local://")):
            return _mapped(url, path)
        file = filesystem.open(path, "rb", cache_type="none")
        if file.size is None:  # a server that does not send the size does not serve ranges
            with file:
                return _spooled(url, file)
        return RemoteSource(url, file, int(file.size))
    except FileNotFoundError as error:
        raise SourceError(error.errno, f"{url}: no such file") from error
    except Exception as error:  # stores raise errors of any class, such as for missing credentials
        raise SourceError(f"{url}: {error}") from error


def filesystem_of(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it; `MissingExtra` names the package to install for its scheme."""
    import fsspec  # noqa: PLC0415 - only URLs need it

    try:
        filesystem, path = fsspec.url_to_fs(url)
    except ImportError as error:
        scheme = url.partition("://")[0]
        remedy = f"pip install 'thawline[{EXTRAS[scheme]}]'" if scheme in EXTRAS else str(error)
        raise MissingExtra(f"{url}: {scheme}:// needs a package that is not installed: {remedy}") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"{url}: {error}") from error
    return filesystem, str(path)
