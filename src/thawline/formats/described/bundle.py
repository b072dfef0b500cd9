"""A spec with its imports and compiled kernels, as bytes that another process can have: a task on Spark."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from thawline.compiler import kernel_cache
from thawline.compiler.kernel_cache import NoCache


@dataclass(frozen=True, slots=True)
class Bundle:
    """Where a spec, its imports and its kernels are."""

    file: Path
    specs: tuple[Path, ...]
    """The spec itself, and its imports that are no specs of thawline."""
    kernels: tuple[Path, ...]

    def packed(self) -> Packed:
        """Their bytes."""
        top = Path(os.path.commonpath([path.resolve().parent for path in self.specs]))
        texts = tuple((str(path.resolve().relative_to(top)), path.read_bytes()) for path in self.specs)
        kernels = tuple((path.name, path.read_bytes()) for path in self.kernels)
        return Packed(str(self.file.resolve().relative_to(top)), texts, kernels)


@dataclass(frozen=True, slots=True)
class Packed:
    """A spec, its imports and its kernels as bytes."""

    main: str
    texts: tuple[tuple[str, bytes], ...]
    kernels: tuple[tuple[str, bytes], ...]

    @contextmanager
    def unpacked(self) -> Iterator[Path]:
        """The spec as a file beside its imports, with its kernels in the cache of this machine."""
        for name, content in self.kernels:
            _keep(name, content)
        with tempfile.TemporaryDirectory(prefix="thawline-") as folder:
            for name, text in self.texts:
                place = Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(text)
            yield Path(folder, self.main)


def _keep(name: str, content: bytes) -> None:
    """Keep a kernel; on a machine without a safe cache, in a folder of this process."""
    try:
        kernel_cache.keep(name, content)
    except NoCache:
        os.environ["THAWLINE_CACHE"] = tempfile.mkdtemp(prefix="thawline-kernels-")
        kernel_cache.keep(name, content)
