"""Bytes of a file, wherever it lies: a path, bytes, a file object, stdin or a URL.

Local files are mapped, so a view costs nothing and nothing is read that is not looked at; without a guard against pages
that cannot be read they are read in blocks (`unmapped`). Remote files are read in ranges, never as a whole. Inputs are
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
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self
from weakref import WeakSet, finalize

from thawline.errors import MissingExtra, SourceError

STDIN = "-"
SHRUNK = "the file was cut while it was read"
FAILED = "the disk gave an input/output error"
EXTRAS = {"s3": "s3", "s3a": "s3"}
"""Schemes of URLs, and the extra that reads them."""
PAGE = mmap.ALLOCATIONGRANULARITY

Identity = tuple[int, int]
"""Device and inode of a file: the same by whatever name, link or hard link it is reached."""
_OPEN: WeakSet[LocalSource | RemoteSource] = WeakSet()

Readable = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""What can be opened: a path, `-` for stdin, a URL, bytes, or a binary file object."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Bytes `[start, end)` that could not be read: zeros stand for them."""

    start: int
    end: int
    reason: str


class Source(Protocol):
    """A file to read from at any position."""

    name: str
    size: int
    is_local: bool
    """Whether views of any size cost nothing."""

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`; `SourceError` where the file has not got them."""
        ...

    def release(self, end: int) -> None:
        """Say that bytes before `end` are not needed for now, so that they need not stay in memory."""
        ...

    def on_disk(self) -> Source:
        """The same file where views of any size cost nothing: itself if it is local, else a copy on disk."""
        ...

    def faults(self) -> Sequence[Fault]:
        """What could not be read so far, and was read as zeros; it grows while the file is read."""
        ...

    def close(self) -> None:
        """Let go of the file."""
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
        """Drop mapped pages before `end` from memory; they come back from the file when they are looked at."""
        if self._map is not None and end >= PAGE and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, 0, end // PAGE * PAGE)

    def on_disk(self) -> LocalSource:
        """Itself."""
        return self

    def faults(self) -> Sequence[Fault]:
        """Pages that the disk did not give, or that were cut off while the file was read."""
        return [*self._faults, *self._guard.faults()] if self._guard else self._faults

    @property
    def is_guarded(self) -> bool:
        """Whether a page that cannot be read is a fault, and does not end the process."""
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
                self._map = None  # a column still points into it; it is unmapped when that goes
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
    """Lets reads of a mapped file go on where a page of it cannot be read; without it, that ends the process.

    Only the native module can do it, and for some files at a time.
    """

    def __init__(self, mapped: mmap.mmap, file: IO[bytes]) -> None:
        from thawline.native import functions  # noqa: PLC0415 - not needed to say what a file is called

        self._functions = functions
        self._slot = functions.guard(mapped, file.fileno())
        self.is_on = self._slot >= 0
        """Whether there is one."""
        self._last: tuple[Fault, ...] = ()
        # The slot is given back when the map goes, be it closed, dropped, or held by a column that points into it.
        self._end = finalize(mapped, functions.unguard, self._slot) if self._slot >= 0 else None

    def faults(self) -> Sequence[Fault]:
        """What could not be read so far, in the order of the file."""
        if self._slot < 0:
            return self._last
        found = sorted(self._functions.faults(self._slot))
        return [Fault(start, end, SHRUNK if is_cut else FAILED) for start, end, is_cut in found]

    def close(self) -> None:
        """Keep what is known of the file, and stop, unless something still points into it."""
        if self._slot >= 0:
            self._last = tuple(self.faults())
            self._slot = -1

    def stop(self) -> None:
        """Give the slot back: the file is unmapped."""
        if self._end:
            self._end()


class RemoteSource:
    """A file behind a URL, read in ranges through fsspec."""

    is_local = False
    block = 4 << 20
    """Small views are served from blocks of this size, of which the last few are kept."""
    kept = 8

    identity: Identity | None = None

    def __init__(self, name: str, file: Any, size: int) -> None:
        self.name, self.size, self._file = name, size, file
        _OPEN.add(self)
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._copy: LocalSource | None = None
        self._is_closed = False

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`, fetched unless they are in a block that was fetched lately."""
        if self._copy is not None:
            return self._copy.view(start, end)
        if not 0 <= start <= end <= self.size:
            raise SourceError(f"{self.name}: no bytes {start:#x}..{end:#x} in a file of {self.size:#x}")
        first = start // self.block
        if end <= (first + 1) * self.block:
            return memoryview(self._block(first))[start - first * self.block : end - first * self.block]
        return memoryview(self._fetch(start, end))

    def _block(self, index: int) -> bytes:
        if index not in self._blocks:
            self._blocks[index] = self._fetch(index * self.block, min((index + 1) * self.block, self.size))
            while len(self._blocks) > self.kept:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(index)
        return self._blocks[index]

    def _fetch(self, start: int, end: int) -> bytes:
        self._check_open()
        try:
            self._file.seek(start)
            data: bytes = self._file.read(end - start)
        except Exception as error:
            raise SourceError(f"{self.name}: cannot read {start:#x}..{end:#x}: {error}") from error
        if len(data) != end - start:
            raise SourceError(f"{self.name}: the file changed while it was read; it ends before {end:#x}")
        return data

    def _check_open(self) -> None:
        if self._is_closed:
            raise SourceError(f"{self.name}: is closed; open it again to read it")

    def release(self, end: int) -> None:
        """Drop pages of the copy on disk, if there is one; else only a few blocks are kept at any time."""
        if self._copy is not None:
            self._copy.release(end)

    def on_disk(self) -> LocalSource:
        """A copy on disk, fetched in blocks the first time it is asked for; from then on views are views of it."""
        if self._copy is None:
            copy = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
            try:
                for start in range(0, self.size, self.block):
                    copy.write(self._fetch(start, min(start + self.block, self.size)))
                self._copy = _map_copy(self.name, copy, self.faults())
            except BaseException as error:
                copy.close()
                if isinstance(error, OSError) and not isinstance(error, SourceError):
                    raise SourceError(error.errno, f"{self.name}: cannot be copied: {error.strerror}") from error
                raise
            self._blocks.clear()
        return self._copy

    def faults(self) -> Sequence[Fault]:
        """What could not be read of the copy on disk, if there is one; a range that cannot be fetched is an error."""
        return self._copy.faults() if self._copy is not None else ()

    def close(self) -> None:
        """Close the connection, and remove the copy."""
        _OPEN.discard(self)
        self._is_closed = True
        self._blocks.clear()
        if self._copy is not None:
            self._copy.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_files() -> set[Identity]:
    """The files that are open for reading in this process."""
    return {source.identity for source in list(_OPEN) if source.identity}


def identity_of(name: str) -> Identity | None:
    """Which file a name leads to, be it a path, a URL of a local file or stdin; None if it is none on this machine."""
    scheme, _, path = name.rpartition("://")
    try:
        if name in {STDIN, "<stdin>"}:
            return _identity(os.fstat(sys.stdin.fileno()))
        return _identity(Path(path if scheme in {"file", "local"} else name).stat())
    except (OSError, ValueError, AttributeError):  # no such file, a name that no path can be, or a closed stdin
        return None


def identity_of_file(file: IO[bytes]) -> Identity:
    """Which file is open."""
    return _identity(os.fstat(file.fileno()))


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def open_source(readable: Readable, name: str | None = None) -> LocalSource | RemoteSource:
    """A source over whatever was given; `SourceError` if it cannot be opened.

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
    """A file that nobody named, such as the index beside a segment; `SourceError` unless it is a regular one.

    A pipe of that name would be waited for.
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
        # Nothing to map, as it seems: a pipe, a device, a file of /proc; or it is empty. Keep a copy on disk.
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
    """A mapped copy in a file of ours without a name, which nobody can cut; `faults` are those of what was copied."""
    copy.flush()
    if not copy.tell():
        return LocalSource(name, b"", copy)
    return LocalSource(name, mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ), copy, faults)


def _of_file_object(name: str | None, file: IO[bytes]) -> LocalSource | RemoteSource:
    """A source over an open file, which is left open; one that can be mapped is also left where it was."""
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
    """Whether what is read from a file object are the bytes of a file on disk.

    A descriptor alone does not tell: gzip's file object has that of the compressed file, and a pipe's bytes may have
    been read ahead into the object.
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
        if file.size is None:  # a server that does not say, and so cannot be asked for ranges
            with file:
                return _spooled(url, file)
        return RemoteSource(url, file, int(file.size))
    except FileNotFoundError as error:
        raise SourceError(error.errno, f"{url}: no such file") from error
    except Exception as error:  # a store raises what it likes, such as that it has no credentials
        raise SourceError(f"{url}: {error}") from error


def filesystem_of(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there; `MissingExtra` says what to install for one of its kind."""
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
