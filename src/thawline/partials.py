"""Temporary files of outputs: each is locked by who writes it, so that what nobody writes any more can be removed.

A lock goes with its process, however that ends. It is seen by every process of the same machine, and the name of a file
says on which one it was made; what comes from another, or from before the last boot, is named and left alone.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import stat
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from thawline.wording import printable, quoted

__all__ = ["abandon", "forget", "lock", "new", "sweep"]

LOG = logging.getLogger("thawline")
BOOT = Path("/proc/sys/kernel/random/boot_id")
NAME = re.compile(r"\.thawline-([0-9a-f]{8})-[0-9a-f]{12}\.partial")
_KNOWN: set[Path] = set()
_SWEPT: set[Path] = set()


def new(target: Path) -> Path:
    """A temporary name beside a target, which is kept in mind until it is forgotten."""
    path = target.with_name(f".thawline-{_machine()}-{os.urandom(6).hex()}.partial")
    _KNOWN.add(path)
    return path


@cache
def _machine() -> str:
    """What stands for this machine since it was started: locks are seen by all that run on it."""
    try:
        boot = BOOT.read_text(encoding="ascii")
    except OSError:
        boot = os.uname().nodename
    return f"{zlib.crc32(boot.encode()):08x}"


def lock(descriptor: int) -> bool:
    """Lock a new file until it is closed; whether it is still there, since it was not locked when it was made."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # somebody is about to remove it
    except OSError:  # a file system without locks, where nothing is removed either
        return True
    return os.fstat(descriptor).st_nlink > 0


def forget(path: Path) -> None:
    """Remove a temporary file, if it has not got another name by now."""
    path.unlink(missing_ok=True)
    _KNOWN.discard(path)


def abandon() -> None:
    """Remove all temporary files of this process, which is about to end."""
    for path in tuple(_KNOWN):
        with suppress(OSError):
            path.unlink()


def sweep(folder: Path) -> None:
    """Remove what runs that were killed have left in a folder, and say so; a process looks once."""
    if folder in _SWEPT:
        return
    _SWEPT.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for name in sorted(entry.name for entry in entries if NAME.fullmatch(entry.name)):
            with suppress(OSError):
                _sweep(folder / name)


def _sweep(path: Path) -> None:
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error where it is being written
        if not os.path.samestat(os.fstat(descriptor), path.lstat()):
            return
        if path.name.startswith(f".thawline-{_machine()}-"):
            path.unlink()
            LOG.warning("removed %s, which a run that was killed has left", printable(str(path)))
        else:
            LOG.warning(
                "%s was left by a run before the last boot, or is written on another machine; if not: rm %s",
                printable(str(path)),
                quoted(str(path)),
            )
    finally:
        os.close(descriptor)
