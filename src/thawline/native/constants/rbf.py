"""RBF: positions in frames, from both ends (rbf_frame), and cells of a stretch of frames."""

from __future__ import annotations

FENCE = 0x31464252
"""`RBF1`, little-endian."""
FENCE_SIZE = 4
ALIGNMENT = 4
LEAST_FRAME = 20
"""Bytes of a frame without payload."""
HEAD_SIZE = 4
"""Of the length at the head of a frame, which the checksum does not cover."""
CRC_SIZE = 4
TAIL_AT = 8
"""The length at the tail of a frame, back from its end."""

# Numbers of a stretch of frames that follow one another (`join_back`).
STRETCH_START, STRETCH_END, STRETCH_FRAMES, STRETCH_CELLS = 0, 1, 2, 3
