"""Adjustments to Spark's Python workers, the processes that run tasks."""

from __future__ import annotations

import gc
import sys
import traceback
from functools import lru_cache
from types import SimpleNamespace

from thawline import native
from thawline.errors import ThawlineError

DAEMON = "pyspark.daemon"
LACKING = "No module named 'thawline"
"""How a worker's Python says that it has no thawline, or an older one without what a task needs."""
SHIPPED = "install thawline there as it is here, or let --ship bring it along"


class BadWorker(ThawlineError):
    """A worker whose thawline is not the driver's."""


def refuse_slow(*, is_compiled: bool) -> None:
    """Raise `BadWorker` where the driver has the native module and this process has not.

    It would read a hundred times slower, without a visible reason.
    """
    if is_compiled and not native.is_compiled:
        raise BadWorker(f"the thawline of Spark's workers lacks its native module; {SHIPPED}")


def hush() -> None:
    """Suppress the traceback of a worker whose socket Spark has closed: after a limit, or after a failed task.

    The daemon that forks the workers prints it, and has no setting to prevent that.
    """
    main = sys.modules["__main__"]
    if getattr(getattr(main, "__spec__", None), "name", "") == DAEMON:
        vars(main)["traceback"] = SimpleNamespace(print_exc=_print_exc, format_exc=traceback.format_exc)


def _print_exc() -> None:
    if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
        traceback.print_exc()


@lru_cache(maxsize=1)
def freeze() -> None:
    """Exclude imported modules from garbage collection, which Spark's workers run after each task."""
    gc.collect()
    gc.freeze()
