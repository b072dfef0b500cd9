"""How often the native module was executed by the fuzzer, added up over runs for as long as it is the same code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

INITED = re.compile(r"^#(\d+)\s+INITED", re.MULTILINE)
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s+(\d+)", re.MULTILINE)
NUMBERED = re.compile(r"^#(\d+)\s", re.MULTILINE)
COVERED = re.compile(r"\bcov: (\d+)")


@dataclass(frozen=True, slots=True)
class Told:
    """What libFuzzer says of a run, while it runs and at its end."""

    executions: int
    """Without those of inputs that it was started with: they were counted when they were found."""
    edges: int

    @classmethod
    def of(cls, text: str) -> Self:
        """What the lines of a run say, however far it came."""
        counts = [int(number) for number in EXECUTED.findall(text) or NUMBERED.findall(text)]
        known = [int(number) for number in INITED.findall(text)]
        return cls(max(counts, default=0) - known[0] if known else 0, max(map(int, COVERED.findall(text)), default=0))


class Tally:
    """A file with a line for each format and version of the native code: executions, seconds, edges."""

    def __init__(self, path: Path, code: str) -> None:
        self.path, self.code = path, code

    def executions(self, name: str) -> int:
        """How often this code was executed by inputs of a format."""
        return self._lines().get((name, self.code), (0, 0, 0))[0]

    def add(self, name: str, told: Told, seconds: float) -> None:
        """Add a run."""
        lines = self._lines()
        executions, before, edges = lines.get((name, self.code), (0, 0, 0))
        lines[name, self.code] = executions + told.executions, before + round(seconds), max(edges, told.edges)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{' '.join(key)} {' '.join(map(str, numbers))}\n" for key, numbers in sorted(lines.items()))
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.path)

    def text(self, name: str) -> str:
        """A format's line, for people."""
        executions, seconds, edges = self._lines().get((name, self.code), (0, 0, 0))
        rate = executions / seconds if seconds else 0
        return f"{name}: {executions:,} executions in {seconds:,} s ({rate:,.0f} a second), {edges:,} edges"

    def _lines(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        if not self.path.exists():
            return {}
        found = (line.split() for line in self.path.read_text(encoding="utf-8").splitlines())
        return {(name, code): (int(one), int(two), int(three)) for name, code, one, two, three in found}
