"""RBF logs with bytes changed, and which of their rows are marked."""

from __future__ import annotations

import thawline


def suspects_of(data: bytes) -> list[tuple[bytes, bool]]:
    """Payload of each row, and whether it is marked."""
    with thawline.open(data, "rbf") as cold:
        rows = [row for batch in cold.batches(["payload", "nested_suspect"]) for row in batch.to_pylist()]
    return [(row["payload"], row["nested_suspect"]) for row in rows]


def patched(data: bytes, at: int, patch: bytes) -> bytes:
    return data[:at] + patch + data[at + len(patch) :]


def flipped(data: bytes, at: int) -> bytes:
    return patched(data, at, bytes([data[at] ^ 0x10]))


def u4(number: int) -> bytes:
    return number.to_bytes(4, "little")
