"""Lakes: Delta tables of rows, `findings` and `files`, that every engine reads while they grow."""

from __future__ import annotations

from thawline.lake.place import LakeError, Place

__all__ = ["LakeError", "Place"]
