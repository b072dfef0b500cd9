"""RBF: cells of a stretch of frames."""

from __future__ import annotations

# Numbers of a stretch of frames that follow one another (`join_back`).
STRETCH_START, STRETCH_END, STRETCH_FRAMES, STRETCH_CELLS = 0, 1, 2, 3
