"""What there is to do about little memory: ask for less of it, say so before libraries break, know it from its errors.

Libraries that are loaded or called without room for it end the process, or raise something else: so a limit that is
too low is refused before they are loaded, and an error that comes when nearly all is used up is taken for that.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from thawline.errors import ThawlineError

LEAST = 512 << 20
"""Bytes of address space with which every command starts; the libraries take 300 MB of it."""
NEARLY = 64 << 20
"""How little is left when small things begin to fail."""
FRUGAL = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",  # Arrow obeys it, too
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Settings of libraries that else take address space for each processor, and ahead of need."""
WHAT_HELPS = (
    "a higher limit (ulimit -v), fewer columns (--columns), or lower bounds for what may be decompressed "
    "(--max-batch-bytes, --max-payload)"
)
NO_MEMORY = f"not enough memory; what helps: {WHAT_HELPS}"
NOT_LOADED = ("failed to map segment", "annot allocate memory", "cannot create shared object")
"""What the loader says of a library for which there is no room."""


class NotEnoughMemory(ThawlineError, MemoryError):
    """The process may have less memory than it needs."""


def limit() -> int | None:
    """Bytes of address space that the process may have; None if that is not limited."""
    try:
        import resource
    except ImportError:  # a system without limits
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def be_frugal() -> None:
    """Have libraries take less memory, where there is a limit; what was set before is kept."""
    if limit() is not None:
        for name, value in FRUGAL.items():
            os.environ.setdefault(name, value)


def check() -> None:
    """Raise `NotEnoughMemory` if the limit is lower than what the libraries need."""
    allowed = limit()
    if allowed is not None and allowed < LEAST:
        raise NotEnoughMemory(
            f"not enough memory: the limit (ulimit -v) is {allowed >> 20} MiB, and {LEAST >> 20} MiB are the least; "
            "raise it, as by ulimit -v unlimited"
        )


def is_short(error: BaseException) -> bool:
    """Whether an error comes from a lack of memory."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    is_unloaded = isinstance(error, ImportError) and any(words in str(error) for words in NOT_LOADED)
    return is_unloaded or _is_used_up()


def _is_used_up() -> bool:
    """Whether the process has come near its limit."""
    allowed = limit()
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return False
    return allowed is not None and int(status.partition("VmPeak:")[2].split()[0]) * 1024 > allowed - NEARLY
