"""Files, and folders of files, that appear under their name when they are complete, or not at all.

An output is written beside its target under a temporary name, and renamed once its last byte is on the disk. An error
or Ctrl-C removes it; the next run removes what a killed run left. An existing target is replaced only if the caller
requests it, and never if it is an input: a file that this process has open for reading, or that the command protects,
under whatever name.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from thawline import partials
from thawline.errors import SourceError
from thawline.source import Identity, identity_of, open_files

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["Output", "part_name", "protect", "replacing", "replacing_folder"]

SEND = 32 << 20
"""Bytes of an output that go to the disk at once, while what follows is made."""

_PROTECTED: ContextVar[tuple[_Inputs, ...]] = ContextVar("protected", default=())


@dataclass(frozen=True)
class _Inputs:
    """Files that must not be written to."""

    names: tuple[str, ...]

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """Device and inode of each, so that links to them are recognised."""
        return frozenset(identity for name in self.names if (identity := identity_of(name)))


def protect(names: Iterable[str]) -> None:
    """Protect inputs in this context: from now on nothing is written to them, not even through a link."""
    _PROTECTED.set((*_PROTECTED.get(), _Inputs(tuple(names))))


def _refuse_input(target: Path) -> None:
    """Raise `SourceError` if the target is an input, by device and inode: inputs are never written to."""
    identity = identity_of(str(target))
    if identity and (identity in open_files() or any(identity in inputs.identities for inputs in _PROTECTED.get())):
        raise SourceError(f"{target}: is an input, which is never written to; choose another name")


@contextmanager
def replacing(target: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which gets the name `target` when the block ends without an error.

    Raises `SourceError` if the target exists and `overwrite` is false, if its folder does not exist, or if a write
    fails. A target that another process creates meanwhile is not overwritten either.
    """
    _refuse_input(target)
    _refuse(target, overwrite=overwrite)
    # Writing to a link writes to its target; replacing the link itself would leave the old file unchanged.
    target = Path(os.path.realpath(target))
    partials.sweep(target.parent)
    partial = partials.new(target)
    try:
        with _create(partial, target) as raw, io.BufferedWriter(raw, 1 << 20) as file:
            yield file
            file.flush()
            raw.sync()
        _refuse_input(target)  # again: inputs may have been opened since
        (_replace if overwrite else _link)(partial, target)
        _sync_folder(target.parent)
    finally:
        partials.forget(partial)


@contextmanager
def replacing_folder(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to write files into, which gets the name `target` when the block ends without an error.

    Raises `SourceError` if the target exists, unless it is an empty folder, or `overwrite` is true and it holds nothing
    but parts of an earlier output.
    """
    _refuse_folder(target, overwrite=overwrite)
    target = Path(os.path.realpath(target))
    partials.sweep(target.parent)
    partial = partials.new(target, partials.FOLDER)
    try:
        descriptor = _make_folder(partial, target)
        try:
            yield partial
            for folder, _, names in os.walk(partial):
                for name in names:
                    _refuse_input(target / Path(folder, name).relative_to(partial))
                _sync_folder(Path(folder))
            _refuse_folder(target, overwrite=overwrite)
            _exchange(partial, target)
        except SourceError:
            raise
        except OSError as error:
            raise _failed(target, error) from error
        finally:
            os.close(descriptor)
        _sync_folder(target.parent)
    finally:
        partials.forget(partial)


def _make_folder(partial: Path, target: Path) -> int:
    """A new folder, open and locked."""
    try:
        partial.mkdir()
        descriptor = os.open(partial, os.O_RDONLY)
    except FileNotFoundError as error:
        raise SourceError(error.errno, f"{target}: there is no folder {target.parent}") from error
    except OSError as error:
        raise _failed(target, error) from error
    partials.lock(descriptor)
    return descriptor


def _refuse_folder(target: Path, *, overwrite: bool) -> None:
    try:
        found = [Path(folder, name) for folder, _, names in os.walk(target) for name in names]
        if not target.exists() and not target.is_symlink():
            return
    except OSError as error:
        raise _failed(target, error) from error
    if not target.is_dir():
        raise SourceError(f"{target}: is a file; parts go into a folder")
    strange = next((path for path in found if not partials.PART.fullmatch(path.name)), None)
    if strange:
        raise SourceError(f"{strange}: is no part of an earlier output, so the folder is not replaced")
    if found and not overwrite:
        raise _exists(target)
    for path in found:
        _refuse_input(path)


def _exchange(partial: Path, target: Path) -> None:
    """Give a folder its name; one that has that name is removed afterwards."""
    if not target.exists():
        _replace(partial, target)
        return
    old = partial.with_suffix(".old")  # it stays if the process is killed here
    _replace(target, old)
    try:
        _replace(partial, target)
    except BaseException:
        _replace(old, target)
        raise
    shutil.rmtree(old)


class Output:
    """The same for a file that several calls write to: its name appears with `publish`, and never after `discard`."""

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        self.path = path
        self._replacing = replacing(path, overwrite=overwrite)
        self.file: BinaryIO = self._replacing.__enter__()

    def publish(self) -> None:
        """Complete the file and give it its name."""
        self._replacing.__exit__(None, None, None)

    def discard(self) -> None:
        """Remove what was written."""
        error = _Discarded()
        with suppress(_Discarded, SourceError):  # closing may write what a full disk did not take
            self._replacing.__exit__(type(error), error, None)


def part_name(number: int) -> str:
    """The name of a file in a folder of parts."""
    return f"part-{number:05}.parquet"


class _Discarded(BaseException):
    """Raised into a file that is discarded, so that it removes itself."""


class _NewFile(io.FileIO):
    """A new file whose errors name the target, not the temporary name."""

    def __init__(self, path: Path, target: Path) -> None:
        super().__init__(path, "xb")
        self._target = target
        self._sent = 0

    def write(self, data: Buffer, /) -> int:
        try:
            size = super().write(data)
            if self.tell() - self._sent >= SEND:
                self._send()
        except OSError as error:
            raise _failed(self._target, error) from error
        return size

    def _send(self) -> None:
        """Let the disk begin with what was written, or `sync` would have to wait for all of it."""
        start, self._sent = self._sent, self.tell()
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # only advice
                os.posix_fadvise(self.fileno(), start, self._sent - start, os.POSIX_FADV_DONTNEED)

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        try:
            os.fsync(self.fileno())
        except OSError as error:
            raise _failed(self._target, error) from error


def _refuse(target: Path, *, overwrite: bool) -> None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        if target.is_symlink() and not overwrite:
            raise SourceError(f"{target}: is a link to a file that does not exist; not overwritten") from None
        return
    except OSError as error:
        raise _failed(target, error) from error
    if not stat.S_ISREG(mode):
        raise SourceError(f"{target}: is a folder" if stat.S_ISDIR(mode) else f"{target}: is not a regular file")
    if not overwrite:
        raise _exists(target)


def _create(partial: Path, target: Path) -> _NewFile:
    """A new, locked file; created again if another process swept it away before it was locked."""
    while True:
        try:
            raw = _NewFile(partial, target)
        except FileNotFoundError as error:
            raise SourceError(error.errno, f"{target}: there is no folder {target.parent}") from error
        except OSError as error:
            raise _failed(target, error) from error
        if partials.lock(raw.fileno()):
            return raw
        raw.close()
        partial.unlink(missing_ok=True)


def _link(partial: Path, target: Path) -> None:
    """Give a file its name unless that name exists: link() fails atomically if it does, rename() replaces it."""
    try:
        os.link(partial, target)
    except FileExistsError as error:
        raise _exists(target) from error
    except OSError:
        _claim(partial, target)  # a file system without hard links


def _claim(partial: Path, target: Path) -> None:
    """The same through an empty file of that name: creating it exclusively reserves the name."""
    try:
        target.open("xb").close()
    except FileExistsError as error:
        raise _exists(target) from error
    except OSError as error:
        raise _failed(target, error) from error
    try:
        _replace(partial, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _replace(partial: Path, target: Path) -> None:
    try:
        partial.replace(target)
    except OSError as error:
        raise _failed(target, error) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the file system offers that."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _exists(target: Path) -> SourceError:
    return SourceError(f"{target}: is there already and is not overwritten; --overwrite (overwrite=True) replaces it")


def _failed(target: Path, error: OSError) -> SourceError:
    return SourceError(error.errno, f"{target}: cannot be written: {error.strerror}")
