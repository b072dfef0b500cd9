"""What libFuzzer calls: an input handed to one of the ways into the native module, every so often read as a file.

The first byte of an input says which way, the second one how, and the rest is what is read: `tools.fuzz.entries`.
`tools.fuzz.native` runs it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import traceback
import zlib
from typing import Any

from thawline.generated.kernels.tables import TABLES

from thawline.cold import ColdFile, open_cold
from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.errors import SourceError
from tools.fuzz.entries import entries
from tools.fuzz.repairs import REPAIRS, unchanged
from tools.fuzz.samples import samples
from tools.fuzz.scans import NATIVE, How

AS_FILE = 8192
"""One in this many inputs, chosen by its bytes, is also read as a file, which takes a thousand times as long."""
HEAD = 2
"""Bytes before what is read."""


def main() -> None:
    """Fuzz the format that is the first argument, with the arguments of libFuzzer after it."""
    name = sys.argv.pop(1)
    sys.argv[0] = os.environ.get("THAWLINE_FUZZER", sys.argv[0])
    sys.unraisablehook = _stop
    read_as_file(name, memoryview(samples(name)[0].data))  # imports what is imported late
    gc.collect()
    gc.freeze()
    gc.disable()  # an input leaves no cycles; what a file leaves is collected below
    ways = entries(name)

    def execute(view: memoryview) -> None:
        # libFuzzer's block ends where the input does, so a read past that is seen.
        if len(view) < HEAD:
            return
        ways[view[0] % len(ways)](view[HEAD:], How(view[1]))
        if zlib.crc32(view) % AS_FILE == 0:
            read_as_file(name, view[HEAD:])
            gc.collect()

    driver = ctypes.cast(ctypes.CDLL(None).LLVMFuzzerRunDriver, ctypes.c_void_p).value
    sys.exit(NATIVE.fuzz_run(driver, execute, [os.fsencode(argument) for argument in sys.argv]))


def touch(name: str, data: memoryview) -> None:
    """Hand an input to the way that it names; what it raises is a mistake."""
    if len(data) < HEAD:
        return
    ways = entries(name)
    ways[data[0] % len(ways)](data[HEAD:], How(data[1]))


def read_as_file(name: str, view: memoryview) -> None:
    """Read bytes as every table, and as a file as they are and with their checksums made right."""
    data = bytes(view)
    for table in (table for table in TABLES if table.startswith(name)):
        for item in columns.scan(table, data):
            if isinstance(item, Chunk):
                item.batch.validate(full=True)
    _read(name, data)
    _read(name, REPAIRS[name](data, unchanged))


def _read(name: str, data: bytes) -> None:
    with open_cold(data, name) as cold:
        cold.verify()
        for table in cold.format.tables:
            try:
                for batch in ColdFile(cold.source, cold.format, table).batches():
                    batch.validate(full=True)
            except SourceError:
                continue  # this kind of file has no such table


def _stop(unraised: Any) -> None:
    """End the process where an error cannot be passed on: by a kernel that read out of bounds, or to libFuzzer."""
    traceback.print_exception(unraised.exc_value)
    sys.stderr.flush()
    os.abort()


if __name__ == "__main__":
    main()
