"""Real files read with both versions, and the readings compared field by field.

Fields are matched by their position, so a field that was only renamed is shown as renamed.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from thawline.ksy.versions import Version
from thawline.review.matching import Matches
from thawline.review.model import Behaviour, Reading
from thawline.review.recut import Recut, union
from thawline.review.toolchain import Made
from thawline.review.units import LeftOut, Unit, corpus_units, golden_units
from thawline.wording import counted

SECONDS = 10
"""Seconds of CPU time that reading one unit may take."""
PATIENCE = 6
"""A worker is ended after this many times as long without an answer: by itself it stops only between two steps."""
START, END, VALUE, LABEL, NAME = range(5)
"""Indexes of a field as the worker gives it."""
Field = list[Any]
NOTHING = Recut(frozenset(), frozenset())


def run(
    old: Version,
    matches: Matches,
    made: tuple[Made, Made],
    wanted: frozenset[str],
    recuts: Iterable[Recut],
    corpus: Iterable[Path],
    seconds: int,
) -> Behaviour:
    """Read with both versions what the requested specs of the old version read."""
    if reason := made[0].no_parsers or made[1].no_parsers:
        return Behaviour(skipped=reason)
    units = [*golden_units(wanted), *(unit for folder in corpus for unit in corpus_units(folder, old, wanted))]
    recut = union(recuts)
    names = {pair.old.id: pair.new.id for pair in matches.specs if pair.old and pair.new}
    with Worker(made[0].folder, seconds) as before, Worker(made[1].folder, seconds) as after:
        return _compared(units, names, before, after, recut)


def _compared(
    units: list[Unit | LeftOut], names: Mapping[str, str], before: Worker, after: Worker, recut: Recut
) -> Behaviour:
    readings: list[Reading] = []
    renames: Counter[tuple[str, str]] = Counter()
    read = [unit for unit in units if isinstance(unit, Unit)]
    left_out = [(item.file, item.reason) for item in units if isinstance(item, LeftOut)]
    fields = 0
    refused = 0
    for unit in read:
        one, other = before.ask(unit, unit.spec), after.ask(unit, names.get(unit.spec, unit.spec))
        if one.get("is_lost") and other.get("is_lost"):
            left_out.append((unit.file, f"{one['error']}, with both versions"))
            continue
        fields += len(one["fields"])
        refused += bool(one["error"] and other["error"])
        comparison = Comparison(unit, one, other, recut)
        if found := comparison.reading():
            readings.append(found)
        else:
            renames.update(comparison.renames())
        if one.get("is_cut") or other.get("is_cut"):
            left_out.append((unit.file, "has more fields than are compared"))
    counted = tuple((*pair, number) for pair, number in sorted(renames.items()))
    files = len({unit.file for unit in read})
    return Behaviour("", files, len(read), fields, _together(readings), counted, tuple(left_out), refused)


def _together(readings: list[Reading]) -> tuple[Reading, ...]:
    """The first reading of each file, with the number of readings like it."""
    firsts: dict[tuple[str, str], Reading] = {}
    for reading in readings:
        key = (reading.file, reading.outcome)
        seen = firsts.get(key)
        firsts[key] = replace(seen, count=seen.count + 1) if seen else reading
    return tuple(firsts.values())


@dataclass(frozen=True, slots=True)
class Comparison:
    """A unit as both versions read it."""

    unit: Unit
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    recut: Recut
    """Fields that share bytes with others in the other version."""

    def reading(self) -> Reading | None:
        """How the unit is read differently; None if only names differ."""
        refusals = self.old["error"], self.new["error"]
        if bool(refusals[0]) != bool(refusals[1]):
            return self.refusal()
        if found := self.first_difference():
            return self.made("differs", _named(*found), _shown(found[0]), _shown(found[1]))
        if refusals[0] != refusals[1] and not self.is_renamed():
            return self.made("differs", "where it is refused", *refusals)
        return self.other_instance()

    def made(self, outcome: str, field: str, before: str, after: str) -> Reading:
        """A reading of this unit."""
        where = f"{self.unit.spec} at {self.unit.start:#x}" + (", decompressed" if self.unit.is_inside else "")
        return Reading(self.unit.file, where, outcome, field, before, after)

    def first_difference(self) -> tuple[Field | None, Field | None] | None:
        """The first field that differs."""
        return next(differences(_sized(self.old["fields"]), _sized(self.new["fields"]), self.recut), None)

    def refusal(self) -> Reading:
        """A unit that only one version reads, with the first field that differs before the other stops."""
        outcome = "refused" if self.new["error"] else "accepted"
        sides = [f"refused: {answer['error']}" if answer["error"] else "read" for answer in (self.old, self.new)]
        found = self.first_difference()
        if found is None or found[0] is None or found[1] is None:
            stopped = self.new if self.new["error"] else self.old
            return self.made(outcome, stopped.get("last", ""), *sides)
        before, after = (f"{_shown(field)}; {side}" for field, side in zip(found, sides, strict=True))
        return self.made(outcome, _named(*found), before, after)

    def other_instance(self) -> Reading | None:
        """An instance of both versions that has another value."""
        for key, (label, value) in self.old["instances"].items():
            if key in self.new["instances"] and self.new["instances"][key][1] != value:
                return self.made("calculated", label, _text(value), _text(self.new["instances"][key][1]))
        return None

    def is_renamed(self) -> bool:
        """Whether the refusals differ only in the path of the field."""
        before, after = (str(answer["error"]).partition(" (")[0] for answer in (self.old, self.new))
        return before == after

    def renames(self) -> Iterator[tuple[str, str]]:
        """Fields that are the same bytes under another name."""
        for one, other in zip(_sized(self.old["fields"]), _sized(self.new["fields"]), strict=False):
            if one[NAME] != other[NAME] and one[NAME].rpartition(".")[2] != other[NAME].rpartition(".")[2]:
                yield one[NAME], other[NAME]


def _sized(fields: list[Field]) -> list[Field]:
    """Fields that have bytes; others only check something."""
    return [field for field in fields if field[END] > field[START] or not isinstance(field[VALUE], dict)]


def differences(
    old: list[Field], new: list[Field], recut: Recut = NOTHING
) -> Iterator[tuple[Field | None, Field | None]]:
    """Fields that are not the same bytes with the same value.

    Bytes that one version reads as a whole and the other as fields are not a difference, nor are bytes that both cut
    into different fields.
    """
    first = second = 0
    while first < len(old) or second < len(new):
        one = old[first] if first < len(old) else None
        other = new[second] if second < len(new) else None
        if one and other and one[:LABEL] == other[:LABEL]:
            first, second = first + 1, second + 1
        elif one and other and (ends := _recut(old, first, new, second, recut)):
            first, second = ends
        elif one and other and (end := _within(one, new, second)):
            first, second = first + 1, end
        elif one and other and (end := _within(other, old, first)):
            first, second = end, second + 1
        else:
            yield one, other
            return


def _recut(old: list[Field], first: int, new: list[Field], second: int, recut: Recut) -> tuple[int, int] | None:
    """Indexes after the fields from here on that are the same bytes, cut differently."""
    start = old[first][START], new[second][START]
    ends = _passed(old, first, recut.old), _passed(new, second, recut.new)
    if ends[0] == first or ends[1] == second or start[0] != start[1]:
        return None
    return ends if old[ends[0] - 1][END] == new[ends[1] - 1][END] else None


def _passed(fields: list[Field], index: int, names: frozenset[str]) -> int:
    while index < len(fields) and fields[index][NAME] in names:
        index += 1
    return index


def _within(outer: Field, fields: list[Field], index: int) -> int:
    """The index after the fields that together are the bytes of another; 0 if they are not."""
    at, depth = outer[START], outer[LABEL].count(".")
    while isinstance(outer[VALUE], dict) and index < len(fields) and fields[index][START] == at < outer[END]:
        if fields[index][LABEL].count(".") <= depth:
            return 0
        at, index = fields[index][END], index + 1
    return index if at == outer[END] else 0


def _named(old: Field | None, new: Field | None) -> str:
    field = new or old
    assert field is not None  # noqa: S101 - at least one exists
    label = field[LABEL] if not old or not new or old[LABEL] == new[LABEL] else f"{old[LABEL]} / {new[LABEL]}"
    return f"{label} at {field[START]:#x}"


def _shown(field: Field | None) -> str:
    if field is None:
        return "nothing"
    name, size = field[LABEL].rpartition(".")[2], field[END] - field[START]
    return f"{name} = {_text(field[VALUE])} ({counted(size, 'byte')} at {field[START]:#x})"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"0x{value['bytes']}" if value["bytes"] else "empty"
    if isinstance(value, list):
        return f"{len(value)} values"
    return repr(value) if isinstance(value, str) else str(value)


class Worker:
    """A process that reads units with one version. It is replaced if it does not answer."""

    def __init__(self, folder: Path, seconds: int) -> None:
        self.folder, self.seconds = folder, seconds
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self) -> None:
        # -P: files in the current folder must not be imported by the worker.
        command = [sys.executable, "-P", "-m", "thawline.review.worker", str(self.folder), str(self.seconds)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
        assert process.stdout is not None  # noqa: S101 - a pipe
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def ask(self, unit: Unit, spec: str) -> Mapping[str, Any]:
        """The fields and instances of a unit, and the error that stopped the reading."""
        job = {"spec": spec, "data": unit.data.hex(), "params": unit.params}
        try:
            assert self.process.stdin is not None  # noqa: S101 - a pipe
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=self.seconds * PATIENCE)
        except queue.Empty:
            return self._replaced(f"takes more than {self.seconds * PATIENCE} s to read")
        except BrokenPipeError:
            line = ""
        if not line:
            return self._replaced("takes more memory than there is for it, or breaks the parser")
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def _replaced(self, reason: str) -> Mapping[str, Any]:
        self._end()
        self._start()
        return {"error": reason, "fields": [], "instances": {}, "is_lost": True}
