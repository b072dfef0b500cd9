"""Golden files of Aerospike backups.

`wire` describes the bytes, `lines` pairs bytes with accounts; `sections` and `records` have the samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.samples.aerospike import records, sections
from tools.samples.golden import Sample


def samples() -> Iterator[Sample]:
    """Yield every golden file of Aerospike."""
    yield from sections.samples()
    yield from records.samples()
