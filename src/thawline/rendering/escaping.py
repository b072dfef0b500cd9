"""A terminal that is shown text which is meant for programs."""

from __future__ import annotations

from typing import BinaryIO

from thawline.rendering.words import printable


class Escaping:
    r"""Writes text to a terminal without what a terminal would obey. Lines stay lines.

    >>> import io
    >>> out = io.BytesIO()
    >>> Escaping(out).write(b"a\x1b[2J,b\n")
    >>> out.getvalue()
    b'a\\x1b[2J,b\n'
    """

    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal

    def write(self, data: bytes) -> None:
        """Write whole lines."""
        text = bytes(data).decode("utf-8", "surrogateescape")
        self._terminal.write("\n".join(map(printable, text.split("\n"))).encode("utf-8", "replace"))

    def flush(self) -> None:
        """Send what was written."""
        self._terminal.flush()
