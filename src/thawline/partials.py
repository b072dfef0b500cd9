"""Temporary files and folders of outputs: each is locked by its writer, so that abandoned ones can be removed.

A lock ends with its process, however that ends. Every process on the same machine sees it, and the name of a file
identifies the machine and its boot. A file from another machine, or from before the last boot, is reported and kept.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import stat
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from thawline.wording import printable, quoted

__all__ = ["abandon", "forget", "lock", "new", "sweep"]

LOG = logging.getLogger("thawline")
BOOT = Path("/proc/sys/kernel/random/boot_id")
NAME = re.compile(r"\.thawline-([0-9a-f]{8})-[0-9a-f]{12}\.(partial|parts)")
FOLDER = ".parts"
"""The suffix of folders, which hold nothing but parts, and folders of them."""
PART = re.compile(r"part-\d{5,}\.parquet", re.ASCII)
"""The name of a file in a folder of parts."""
_KNOWN: set[Path] = set()
_SWEPT: set[Path] = set()


def new(target: Path, suffix: str = ".partial") -> Path:
    """A temporary name beside a target, registered until `forget`."""
    path = target.with_name(f".thawline-{_machine()}-{os.urandom(6).hex()}{suffix}")
    _KNOWN.add(path)
    return path


@cache
def _machine() -> str:
    """Identifies this boot of this machine: all of its processes see each other's locks."""
    try:
        boot = BOOT.read_text(encoding="ascii")
    except OSError:
        boot = os.uname().nodename
    return f"{zlib.crc32(boot.encode()):08x}"


def lock(descriptor: int) -> bool:
    """Lock a new file until it is closed; false if another process removed it before it was locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # another process is about to remove it
    except OSError:  # a file system without locks; nothing is swept there
        return True
    return os.fstat(descriptor).st_nlink > 0


def forget(path: Path) -> None:
    """Remove a temporary file or folder unless it has been renamed, and unregister it."""
    with suppress(FileNotFoundError):
        _remove(path)
    _KNOWN.discard(path)


def _remove(path: Path) -> None:
    if stat.S_ISDIR(path.lstat().st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()


def abandon() -> None:
    """Remove all temporary files of this process before it ends."""
    for path in tuple(_KNOWN):
        with suppress(OSError):
            _remove(path)


def sweep(folder: Path) -> None:
    """Remove what killed runs left in a folder, and log it; once per folder and process."""
    if folder in _SWEPT:
        return
    _SWEPT.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for name in sorted(entry.name for entry in entries if NAME.fullmatch(entry.name)):
            with suppress(OSError):
                _sweep(folder / name)


def _holds_parts(path: Path) -> bool:
    """Whether a path is a folder that holds nothing but parts."""
    files = [name for _, _, names in os.walk(path) for name in names]
    return stat.S_ISDIR(path.lstat().st_mode) and all(PART.fullmatch(name) for name in files)


def _sweep(path: Path) -> None:
    status = path.lstat()
    is_folder = path.suffix == FOLDER
    is_ours = _holds_parts(path) if is_folder else stat.S_ISREG(status.st_mode)
    if not is_ours or status.st_uid != os.geteuid():
        return
    descriptor = os.open(path, (os.O_RDONLY if is_folder else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while it is being written
        if not os.path.samestat(os.fstat(descriptor), path.lstat()):
            return
        if path.name.startswith(f".thawline-{_machine()}-"):
            _remove(path)
            LOG.warning("removed %s, which a run that was killed has left", printable(str(path)))
        else:
            LOG.warning(
                "%s was left by a run before the last boot, or is written on another machine; if not: rm %s",
                printable(str(path)),
                quoted(str(path)),
            )
    finally:
        os.close(descriptor)
