"""Low memory: smaller library defaults, an early check of the limit, and recognition of its errors.

Libraries that run out of memory while they load or run end the process, or raise unrelated errors. So a limit that is
too low is refused before they are loaded, and any error near the limit counts as a lack of memory.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from thawline.errors import ThawlineError

LEAST = 512 << 20
"""Bytes of address space that every command needs to start; the libraries take 300 MB of it."""
NEARLY = 64 << 20
"""Bytes below the limit at which small allocations begin to fail."""
FRUGAL = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",  # Arrow also obeys it
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Settings for libraries that by default reserve address space per processor and in advance."""
GENEROUS = {"MIMALLOC_PURGE_DELAY": "500"}
"""By default, Arrow gives memory back that has been free for 10 ms. Threads that read ahead use it again later, and the
system clears it each time: that took a tenth of the CPU time of `convert` with two jobs."""
WHAT_HELPS = (
    "a higher limit (ulimit -v), fewer columns (--columns), or lower bounds for what may be decompressed "
    "(--max-batch-bytes, --max-payload)"
)
NO_MEMORY = f"not enough memory; what helps: {WHAT_HELPS}"
NOT_LOADED = ("failed to map segment", "annot allocate memory", "cannot create shared object")
"""Messages of the loader about a library that does not fit into memory."""


class NotEnoughMemory(ThawlineError, MemoryError):
    """The memory limit of the process is lower than what it needs."""


def limit() -> int | None:
    """The limit of the process's address space in bytes; None if unlimited."""
    try:
        import resource
    except ImportError:  # not a Unix system
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def be_frugal() -> None:
    """Make libraries use less memory if a limit is set, and else keep it for longer; existing settings are kept."""
    for name, value in (GENEROUS if limit() is None else FRUGAL).items():
        os.environ.setdefault(name, value)


def check() -> None:
    """Raise `NotEnoughMemory` if the limit is lower than what the libraries need."""
    allowed = limit()
    if allowed is not None and allowed < LEAST:
        raise NotEnoughMemory(
            f"not enough memory: the limit (ulimit -v) is {allowed >> 20} MiB, and {LEAST >> 20} MiB are needed; "
            "raise it, as by ulimit -v unlimited"
        )


def is_short(error: BaseException) -> bool:
    """Whether an error comes from a lack of memory."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    is_unloaded = isinstance(error, ImportError) and any(words in str(error) for words in NOT_LOADED)
    return is_unloaded or _is_used_up()


def _is_used_up() -> bool:
    """Whether the process has nearly reached its limit."""
    allowed = limit()
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return False
    return allowed is not None and int(status.partition("VmPeak:")[2].split()[0]) * 1024 > allowed - NEARLY
