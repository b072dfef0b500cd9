"""What is mutated: the golden files, but for those that are long."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from thawline.formats import FORMATS
from tools.fuzz.making import Sample

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
LONGEST = 8 << 10
FILES = {
    "kafka": (".log", ".checkpoint"),
    "rbak": (".rbak", ".zst", ".lz4"),
    "rbf": (".rbf",),
    "borg": (".pack", ".index"),
    "aerospike": (".asb",),
}
"""Suffixes of files of their own; others are beside them or parts of them."""


@cache
def samples(*formats: str) -> tuple[Sample, ...]:
    """Golden files of some formats, or of all."""
    paths = ((name, path) for name in formats or FORMATS for path in sorted((GOLDEN / name).iterdir()))
    kept = ((name, path) for name, path in paths if path.suffix in FILES[name] and path.stat().st_size <= LONGEST)
    return tuple(Sample(name, path.name, path.read_bytes()) for name, path in kept)
