"""How we behave in Spark's Python workers, the processes that run tasks."""

from __future__ import annotations

import gc
import sys
import traceback
from functools import lru_cache
from types import SimpleNamespace

DAEMON = "pyspark.daemon"


def hush() -> None:
    """Let a worker end in silence where Spark has closed its end: behind a limit, and behind a task that failed.

    The process that workers are forked from prints a traceback then, and there is no setting that says otherwise.
    """
    main = sys.modules["__main__"]
    if getattr(getattr(main, "__spec__", None), "name", "") == DAEMON:
        vars(main)["traceback"] = SimpleNamespace(print_exc=_print_exc, format_exc=traceback.format_exc)


def _print_exc() -> None:
    if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
        traceback.print_exc()


@lru_cache(maxsize=1)
def freeze() -> None:
    """Spark's workers collect garbage behind each task; what the first one imported is not looked at again."""
    gc.collect()
    gc.freeze()
