"""The progress of a long read on stderr, for a person or as JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import IO, Literal

from thawline.rendering.words import counted, grouped, human, printable
from thawline.source import Fault, Source

Mode = Literal["auto", "none", "json"]

DELAY = 1.0
"""Seconds before anything is shown: a quick read needs no progress."""
INTERVALS = {"auto": 0.1, "json": 1.0}
GAP = "  "
SHORTEST_NAME, LONGEST_NAME = 8, 40
"""The width of a file name in a line; a narrower name is left out."""


class Progress:
    """A progress line that is overwritten on a terminal, or a JSON object per second."""

    def __init__(self, mode: Mode, stream: IO[str] | None = None) -> None:
        self.stream = stream or sys.stderr
        is_terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.mode: Mode = "none" if mode == "auto" and not is_terminal else mode
        self.is_shown = self.is_joint = False
        self._lock = Lock()
        self._start("", 0)

    def join(self, files: Sequence[str]) -> None:
        """Show the progress of several files at once, which are read side by side, as that of one."""
        sizes = [_size_of(file) for file in files] if self.mode != "none" else []
        self._start(counted(len(files), "file"), sum(sizes))
        self.is_joint = True

    def start(self, file: str, size: int) -> None:
        """Start the next file, unless the progress is that of all."""
        if not self.is_joint:
            self._start(file, size)

    def _start(self, file: str, size: int) -> None:
        self.clear()
        self.file, self.size, self.position, self.findings = file, size, 0, 0
        self.started = time.monotonic()
        self.due = self.started + DELAY

    def reach(self, position: int) -> None:
        """Update the position up to which the file has been read."""
        self.position = max(self.position, position)
        self._show()

    def advance(self, size: int) -> None:
        """Add bytes that one of several files has been read further."""
        with self._lock:
            self.position += size
        self._show()

    def meet(self, errors: int) -> None:
        """Set the damage found in the file so far."""
        with self._lock:
            self.findings = self.findings + 1 if self.is_joint else errors

    def _show(self) -> None:
        if self.mode == "none" or time.monotonic() < self.due or not self._lock.acquire(blocking=False):
            return
        try:
            self._draw()
        finally:
            self._lock.release()

    def _draw(self) -> None:
        self.due = time.monotonic() + INTERVALS[self.mode]
        self.stream.write(self._json() if self.mode == "json" else redrawn(self.stream, self.file, self._line()))
        self.stream.flush()
        self.is_shown = self.mode == "auto"

    def clear(self) -> None:
        """Erase the line, so that something else can be written."""
        if self.is_shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self.is_shown = False
            self.due = time.monotonic() + INTERVALS["auto"]  # what is written now stands before the next line

    def _json(self) -> str:
        seconds = round(time.monotonic() - self.started, 3)
        facts = {"file": self.file, "position": self.position, "size": self.size, "seconds": seconds}
        return json.dumps({"message_type": "progress", **facts, "findings": self.findings}) + "\n"

    def _line(self) -> str:
        rate = self.position / (time.monotonic() - self.started)
        left = f", {grouped(round((self.size - self.position) / rate))} s left" if rate and self.size else ""
        findings = f", {grouped(self.findings)} found" if self.findings else ""
        done = f"{human(self.position)} of {human(self.size)}"
        percent = 100 * self.position // max(self.size, 1)
        return f"{percent} %  {done}, {human(int(rate))}/s{left}{findings}"


def _size_of(file: str) -> int:
    """The size of a local file, as far as it is known."""
    try:
        return Path(file).stat().st_size
    except (OSError, ValueError):
        return 0


def redrawn(stream: IO[str], name: str, line: str) -> str:
    """The text that replaces the progress line: a file's name and its progress, cut to the terminal's width.

    It is one column narrower: a full line would move the cursor to the next line, and could not be overwritten.
    """
    from rich.cells import cell_len

    from thawline.rendering.console import WIDTH, room_of
    from thawline.rendering.folding import cut, shortened

    room = (room_of(stream) or WIDTH) - 1
    name_room = min(LONGEST_NAME, room - cell_len(line) - len(GAP))
    if name and name_room >= SHORTEST_NAME:
        line = shortened(printable(name), name_room) + GAP + line
    return f"\r\x1b[K{cut(line, room)}"


class WatchedSource:
    """A source that reports progress: a scan releases the bytes that it has read."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self.source, self.progress = source, progress
        self.name, self.size, self.is_local = source.name, source.size, source.is_local
        self._reached = 0
        progress.start(self.name, self.size)

    def view(self, start: int, end: int) -> memoryview:
        """The bytes `[start, end)`."""
        if not self.is_local:
            self._reach(end)
        return self.source.view(start, end)

    def release(self, end: int) -> None:
        """Release the bytes before `end`."""
        self._reach(end)
        self.source.release(end)

    def _reach(self, end: int) -> None:
        if not self.progress.is_joint:
            self.progress.reach(end)
        elif end > self._reached:
            size, self._reached = end - self._reached, end
            self.progress.advance(size)

    def on_disk(self) -> Source:
        """The same file on local disk, where views of any size are cheap."""
        local = self.source.on_disk()
        return self if local is self.source else WatchedSource(local, self.progress)

    def faults(self) -> Sequence[Fault]:
        """The read errors so far."""
        return self.source.faults()

    def close(self) -> None:
        """Close the file."""
        self._reach(self.size if self.progress.is_joint else 0)
        self.progress.clear()
        self.source.close()
