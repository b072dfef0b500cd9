"""Lines of C with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thawline.compiler.language.writing import Writer


class CWriter(Writer):
    """A text under construction, with braces around blocks."""

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A block under its first line."""
        self.add(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")
