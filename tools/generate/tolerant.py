"""`generated/kernels/tolerant.py`: rules with provenance, and the readers that apply them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from thawline.compiler.tolerant import emit_tolerant
from thawline.ksy.documents import Spec


def write_tolerant(specs: Mapping[str, Spec], folder: Path) -> None:
    """Write the module."""
    (folder / "tolerant.py").write_text(emit_tolerant(specs), encoding="utf-8")
