"""Golden files of Kafka: log segments of magic 0, 1 and 2, and the files beside them.

`wire` describes the bytes, `codings` what stands around compressed ones, `entries` joins
bytes and account; `batches`, `control`, `messages` and `sidecars` hold the samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.samples.golden import Sample
from tools.samples.kafka import batches, control, messages, sidecars


def samples() -> Iterator[Sample]:
    """Yield every golden file of Kafka."""
    for module in (batches, control, messages, sidecars):
        yield from module.samples()
