"""Kernels of specs that are compiled at run time, kept as shared objects, so that a C compiler runs once for a spec.

A kernel is named by the digest of its source, which has the text of the spec and of its imports in it, by thawline's
version and by the kind of machine. What lies in the cache is code that this process runs: the folder
must belong to its user, and no other user may write there or rename a folder on the way to it. A kernel appears there
complete or not at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from thawline import __version__
from thawline.errors import ThawlineError

NAME = "kernel"
SUFFIX = f".{sys.platform}-{platform.machine()}.so"
"""It names the kind of machine."""
PRIVATE = 0o700
FOREIGN = stat.S_IWGRP | stat.S_IWOTH
LARGEST = 64 << 20
"""A larger file is no kernel."""
COMPILERS = ("cc", "gcc", "clang")

Compile = Callable[[str, Path, str], Path]
"""Makes a shared object of a source in a folder, with a name."""


class NoCache(ThawlineError):
    """The cache cannot be used: it is not this user's alone, or cannot be written."""


class NoCompiler(ThawlineError):
    """Kernels cannot be compiled here."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A kernel in the cache."""

    path: Path
    size: int
    made: float
    """When it was compiled, in seconds since 1970."""


def folder(what: str = "kernels") -> Path:
    """Where kernels or other code is kept: below `$THAWLINE_CACHE`, else where the system keeps caches."""
    if own := os.environ.get("THAWLINE_CACHE"):
        return Path(os.path.abspath(own), what)  # noqa: PTH100 - links are looked at one by one
    above = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - there may be no home
    return Path(os.path.abspath(above), "thawline", what)  # noqa: PTH100 - as above


def name_of(source: str) -> str:
    """The name of the kernel of a source."""
    versions = f"{__version__}\0{SUFFIX}\0"
    return hashlib.sha256((versions + source).encode()).hexdigest()[:40] + SUFFIX


def kernel(source: str, compiled: Compile, on_compile: Callable[[], None]) -> Path:
    """The shared object of a source, compiled if need be; `NoCache` or `NoCompiler` where that cannot be.

    `on_compile` is called before the compiler, which takes seconds.
    """
    place = opened() / name_of(source)
    if _is_kernel(place):
        return place
    if reason := missing():
        raise NoCompiler(reason)
    with _alone(place):
        if not _is_kernel(place):  # another process may have made it meanwhile
            on_compile()
            _make(place, source, compiled)
    return place


def keep(name: str, content: bytes) -> Path:
    """The shared object with this name and these bytes, which another machine has compiled, as a file here."""
    place = opened() / name
    if not _is_kernel(place):
        with _work(place.parent) as work:
            made = work / NAME
            made.write_bytes(content)
            made.chmod(PRIVATE)
            made.replace(place)
    return place


def missing() -> str:
    """What is missing to compile kernels; empty if nothing is."""
    if not any(map(which, (os.environ.get("CC", "").partition(" ")[0] or "cc", *COMPILERS))):
        return "there is no C compiler"
    return ""


def kept() -> list[Kept]:
    """The kernels in the cache, by name."""
    if not folder().is_dir():
        return []
    places = sorted(opened().glob(f"*{SUFFIX}"))
    found = [(place, place.lstat()) for place in places if _is_kernel(place)]
    return [Kept(place, status.st_size, status.st_mtime) for place, status in found]


def clear() -> list[Kept]:
    """Remove all kernels; returns those that were there. Processes that run one keep it until they end."""
    gone = kept()
    for item in gone:
        item.path.unlink(missing_ok=True)
        item.path.with_suffix(".lock").unlink(missing_ok=True)
    return gone


def opened(what: str = "kernels") -> Path:
    """The folder, made if need be, and checked; `NoCache` where that cannot be."""
    place = folder(what)
    try:
        place.mkdir(PRIVATE, parents=True, exist_ok=True)
        for above in (place, *place.parents):
            _check(above, is_own=above == place)
    except OSError as error:
        raise NoCache(f"{place}: {error.strerror or error}") from error
    return place


def _check(place: Path, *, is_own: bool) -> None:
    """Refuse a folder that somebody else could have filled, or could exchange for another."""
    status = place.lstat()
    if stat.S_ISLNK(status.st_mode):
        _refuse_link(place, status, is_own=is_own)
        status = place.stat()
    owners = {os.geteuid()} if is_own else {os.geteuid(), 0}
    if status.st_uid not in owners:
        raise NoCache(f"{place} belongs to another user")
    is_sticky = bool(status.st_mode & stat.S_ISVTX) and not is_own
    if status.st_mode & FOREIGN and not is_sticky:
        raise NoCache(f"{place} can be written by other users; `chmod go-w` it")


def _refuse_link(place: Path, status: os.stat_result, *, is_own: bool) -> None:
    if is_own or status.st_uid not in {os.geteuid(), 0}:
        raise NoCache(f"{place} is a link; name the folder itself")
    for above in (Path(os.path.realpath(place)), *Path(os.path.realpath(place)).parents):
        _check(above, is_own=False)


def _is_kernel(place: Path) -> bool:
    """Whether a kernel is there, and written by this user."""
    try:
        status = place.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & FOREIGN:
        raise NoCache(f"{place} is not this user's own file")
    return 0 < status.st_size <= LARGEST


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Wait until no other process makes the same kernel."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(place.with_suffix(".lock"), flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def _work(place: Path) -> Iterator[Path]:
    """A folder of its own beside the kernels."""
    try:
        with tempfile.TemporaryDirectory(prefix=".making-", dir=place, ignore_cleanup_errors=True) as work:
            yield Path(work)
    except OSError as error:
        raise NoCache(f"{place}: {error.strerror or error}") from error


def _make(place: Path, source: str, compiled: Compile) -> None:
    with _work(place.parent) as work:
        made = compiled(source, work, NAME)
        made.chmod(PRIVATE)
        made.replace(place)
