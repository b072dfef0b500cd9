"""Golden files of Kafka: log segments of magic 0, 1 and 2, and their sidecars.

`wire` describes the bytes, `codings` the compression, `entries` pairs bytes with accounts; `batches`, `control`,
`messages` and `sidecars` have the samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.samples.golden import Sample
from tools.samples.kafka import batches, control, messages, sidecars


def samples() -> Iterator[Sample]:
    """Yield every golden file of Kafka."""
    for module in (batches, control, messages, sidecars):
        yield from module.samples()
