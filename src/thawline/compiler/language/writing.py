"""Lines of code with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Writer:
    """A text under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, *lines: str) -> None:
        """Append lines to the open block."""
        self.lines += ["    " * self.depth + line if line else "" for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A block under its first line."""
        self.add(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self.depth -= 1

    @contextmanager
    def function(self, head: str, *, fails: str = "@cython.exceptval(-1)", is_native: bool = True) -> Iterator[None]:
        """A function, of C unless Python calls it."""
        if is_native:
            self.add("@cython.cfunc")
            if fails:
                self.add(fails)
        with self.block(f"def {head}:"):
            yield
        self.add("")

    @property
    def text(self) -> str:
        """Everything that was added."""
        return "\n".join(self.lines) + "\n"
