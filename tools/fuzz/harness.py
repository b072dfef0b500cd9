"""What libFuzzer calls: an input read as every table of a format, every so often as a file.

`tools.fuzz.native` runs it.
"""

from __future__ import annotations

import importlib
import os
import sys
from functools import cache
from typing import Any

from thawline.generated.kernels.tables import TABLES

from thawline import columns
from thawline.chunks import Chunk
from thawline.cold import ColdFile, open_cold
from thawline.errors import SourceError
from tools.fuzz.repairs import REPAIRS, unchanged

AS_FILE = 64
"""One of so many inputs is also read as a file, which takes ten times as long; so it is decided by its bytes."""


def main() -> None:
    """Fuzz the format that is the first argument, with the arguments of libFuzzer behind it."""
    name = sys.argv.pop(1)
    sys.unraisablehook = _stop
    atheris: Any = importlib.import_module("atheris")
    atheris.Setup(sys.argv, lambda data: read(name, data))
    atheris.Fuzz()


def read(name: str, data: bytes) -> None:
    """Read an input in all ways; what it raises is a mistake."""
    for table in tables(name):
        for item in columns.scan(table, data):
            if isinstance(item, Chunk):
                item.batch.validate(full=True)
    if data and data[-1] % AS_FILE == 0:
        _as_file(name, data)
        _as_file(name, REPAIRS[name](data, unchanged))


@cache
def tables(name: str) -> tuple[str, ...]:
    """The tables of a format."""
    return tuple(table for table in TABLES if table.startswith(name))


def _stop(unraised: Any) -> None:
    """End the process where a kernel cannot pass on that it read out of bounds."""
    sys.stderr.write(f"{unraised.exc_value!r}\n")
    sys.stderr.flush()
    os.abort()


def _as_file(name: str, data: bytes) -> None:
    with open_cold(data, name) as cold:
        cold.verify()
        for table in cold.format.tables:
            try:
                for batch in ColdFile(cold.source, cold.format, table).batches():
                    batch.validate(full=True)
            except SourceError:
                continue  # this kind of file has no such table


if __name__ == "__main__":
    main()
