"""How far a long read has come, on stderr, for a person or as JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import IO, Literal

from rich.cells import cell_len

from thawline.rendering.console import WIDTH, room_of
from thawline.rendering.folding import cut, shortened
from thawline.rendering.words import grouped, human, printable
from thawline.source import Fault, Source

Mode = Literal["auto", "none", "json"]

DELAY = 1.0
"""Seconds before anything is shown: what is quick needs no progress."""
INTERVALS = {"auto": 0.1, "json": 1.0}
GAP = "  "
SHORTEST_NAME, LONGEST_NAME = 8, 40
"""Columns that the name of a file has in a line, if there is room for it at all."""


class Progress:
    """One line that is written over on a terminal, or a JSON object a second."""

    def __init__(self, mode: Mode, stream: IO[str] | None = None) -> None:
        self.stream = stream or sys.stderr
        is_terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.mode: Mode = "none" if mode == "auto" and not is_terminal else mode
        self.is_shown = False
        self.start("", 0)

    def start(self, file: str, size: int) -> None:
        """Begin with the next file."""
        self.clear()
        self.file, self.size, self.position, self.findings = file, size, 0, 0
        self.started = time.monotonic()
        self.due = self.started + DELAY

    def reach(self, position: int) -> None:
        """Say how far the file has been read."""
        self.position = max(self.position, position)
        if self.mode == "none" or time.monotonic() < self.due:
            return
        self.due = time.monotonic() + INTERVALS[self.mode]
        self.stream.write(self._json() if self.mode == "json" else redrawn(self.stream, self.file, self._line()))
        self.stream.flush()
        self.is_shown = self.mode == "auto"

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self.is_shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self.is_shown = False

    def _json(self) -> str:
        seconds = round(time.monotonic() - self.started, 3)
        facts = {"file": self.file, "position": self.position, "size": self.size, "seconds": seconds}
        return json.dumps({"message_type": "progress", **facts, "findings": self.findings}) + "\n"

    def _line(self) -> str:
        rate = self.position / (time.monotonic() - self.started)
        left = f", {grouped(round((self.size - self.position) / rate))} s left" if rate and self.size else ""
        found = f", {grouped(self.findings)} found" if self.findings else ""
        done = f"{human(self.position)} of {human(self.size)}"
        percent = 100 * self.position // max(self.size, 1)
        return f"{percent} %  {done}, {human(int(rate))}/s{left}{found}"


def redrawn(stream: IO[str], name: str, line: str) -> str:
    """What takes the place of the line before it: a file's name and how far it is, as much as fits the terminal now.

    A line that is as wide as the terminal would move the cursor to the next one, and could not be written over.
    """
    room = (room_of(stream) or WIDTH) - 1
    name_room = min(LONGEST_NAME, room - cell_len(line) - len(GAP))
    if name and name_room >= SHORTEST_NAME:
        line = shortened(printable(name), name_room) + GAP + line
    return f"\r\x1b[K{cut(line, room)}"


class WatchedSource:
    """A source that tells how far it has been read: a scan lets go of what it has behind it."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self.source, self.progress = source, progress
        self.name, self.size, self.is_local = source.name, source.size, source.is_local
        progress.start(self.name, self.size)

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`."""
        if not self.is_local:
            self.progress.reach(end)
        return self.source.view(start, end)

    def release(self, end: int) -> None:
        """Let go of the bytes before `end`."""
        self.progress.reach(end)
        self.source.release(end)

    def on_disk(self) -> Source:
        """The same file where views of any size cost nothing."""
        found = self.source.on_disk()
        return self if found is self.source else WatchedSource(found, self.progress)

    def faults(self) -> Sequence[Fault]:
        """What could not be read so far."""
        return self.source.faults()

    def close(self) -> None:
        """Let go of the file."""
        self.progress.clear()
        self.source.close()
