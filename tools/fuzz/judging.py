"""The promises that hold for every file, whatever is in it, and which of them one breaks."""

from __future__ import annotations

import re
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from thawline.cold import ColdFile, open_cold
from thawline.errors import FormatError, SourceError, ThawlineError
from thawline.formats.contract import ContentNamed
from thawline.model import Report
from thawline.verbs.salvage import Salvaged, salvage

LONGEST = 2.0
"""Seconds of CPU that all promises together may take for a small file."""
HANGS, STUCK = 10.0, 120.0
"""Seconds of CPU, and by the clock, after which it is stopped."""
SAME_RULES: dict[str, dict[str, Any]] = {"aerospike": {"strict": False}}
"""Options under which a format verifies by the rules that it reads by."""


class Broken(Exception):
    """A promise that does not hold, in words."""


class Hangs(BaseException):
    """Raised into what takes too long; nothing that is judged catches it."""


def broken(format_name: str, data: bytes, scratch: Path) -> str:
    """Which promise a file breaks, in a line; empty if none. What is written goes into a folder for the while."""
    start = time.process_time()
    try:
        with stopped():
            _judge(format_name, data, scratch)
    except Hangs as error:
        return f"hangs: more than {HANGS:g} s of CPU{_place(error)}"
    except Broken as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - that there is none is what is tested
        return f"{type(error).__name__}: {str(error)[:200]!r}{_place(error)}"
    taken = time.process_time() - start
    return f"slow: {taken:.1f} s of CPU for {len(data)} bytes" if taken > LONGEST else ""


def kind_of(what: str) -> str:
    """What is broken, without numbers and quotations: the same for the same mistake, most of the time."""
    return re.sub(r"'.*'|\".*\"|(?<!:)\b[0-9.]+\b", "…", what)


@contextmanager
def stopped(cpu: float | None = None, wall: float | None = None) -> Iterator[None]:
    """Raise `Hangs` into what computes for too long, or waits for too long."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hangs

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, cpu or HANGS), signal.SIGALRM: (signal.ITIMER_REAL, wall or STUCK)}
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _place(error: BaseException) -> str:
    """The innermost place in thawline that an error passed."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "thawline" in frame.filename]
    return f" at {Path(places[-1].filename).name}:{places[-1].lineno} in {places[-1].name}" if places else ""


def _judge(format_name: str, data: bytes, scratch: Path) -> None:
    with suppress(ThawlineError), open_cold(data):
        pass  # to be recognised or not is all that is asked
    with open_cold(data, format_name, **SAME_RULES.get(format_name, {})) as cold:
        report = cold.verify()  # raises TilingError unless the spans tile the file
        cold.verify(heads_only=True)
        _check_rows(cold, report)
    with open_cold(data, format_name) as cold:
        strict = cold.verify()
        _check_salvage(cold, strict, scratch)


def _check_rows(cold: ColdFile, report: Report) -> None:
    rows: list[pa.RecordBatch] = []
    for table in cold.format.tables:
        batches = _valid(ColdFile(cold.source, cold.format, table), is_there=table == cold.table)
        rows = batches if table == cold.table else rows
    count = sum(batch.num_rows for batch in rows)
    if count != report.rows:
        raise Broken(f"verify counts {report.rows} rows, cat gives {count}")
    is_damaged = _raises(ColdFile(cold.source, cold.format, cold.table, on_error="raise"))
    if is_damaged == report.ok:
        raise Broken(f"verify says {'ok' if report.ok else 'damaged'}, reading with on_error=raise says otherwise")
    _check_tail(cold, pa.Table.from_batches(rows, cold.schema))


def _valid(cold: ColdFile, *, is_there: bool) -> list[pa.RecordBatch]:
    """The rows of a table, all of them valid; a kind of file that has no such table raises `SourceError`."""
    found: list[pa.RecordBatch] = []
    try:
        for batch in cold.batches():
            batch.validate(full=True)
            found.append(batch)
    except SourceError:
        if is_there:
            raise
    return found


def _raises(cold: ColdFile) -> bool:
    try:
        for _ in cold.batches():
            pass
    except FormatError:
        return True
    return False


def _check_tail(cold: ColdFile, table: pa.Table) -> None:
    """The last rows are those that a whole reading ends with."""
    for rows in (1, 3):
        found = pa.Table.from_batches(cold.tail(rows), cold.schema)
        if not _same(found, table.slice(max(table.num_rows - rows, 0))):
            raise Broken(f"the last {rows} rows of tail are not those of cat")


def _same(one: pa.Table, other: pa.Table) -> bool:
    # Not `equals`: NaN differs from itself.
    return one.num_rows == other.num_rows and repr(_values(one)) == repr(_values(other))


def _values(table: pa.Table) -> list[list[object]]:
    """The values of each column; times as numbers, since Python has none after the year 9999."""
    plain = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.columns)
    return [column.to_pylist() for column in plain]


WAYS: tuple[dict[str, Any], ...] = ({}, {"recover": True}, {"include_suspects": True})


def _check_salvage(cold: ColdFile, report: Report, scratch: Path) -> None:
    for options in WAYS:
        # A pack of Borg is named by what it holds; an output of another format has the name that the user gives it.
        target = scratch if isinstance(cold.kind, ContentNamed) else scratch / "salvaged"
        try:
            done = salvage(cold, target, overwrite=True, **options)
        except ThawlineError:
            if options:
                continue  # a format without such a way says so
            raise
        try:
            _check_salvaged(cold, report, done, options)
        finally:
            done.target.unlink()


def _check_salvaged(cold: ColdFile, report: Report, done: Salvaged, options: dict[str, bool]) -> None:
    how = "".join(f" --{name.replace('_', '-')}" for name in options)
    if not report.ok and not (done.lost or done.recovered or done.suspects or done.repaired):
        raise Broken(f"verify says damaged, salvage{how} says that nothing is lost")
    # What is suspect may be what only some tools of a format take.
    rules: dict[str, Any] = SAME_RULES.get(cold.format.name, {}) if options.get("include_suspects") else {}
    with open_cold(done.target, cold.format.name, **rules) as new:
        again = new.verify()
    if not again.ok:
        codes = sorted({finding.code.id for finding in again.findings if finding.severity == "error"})
        raise Broken(f"what salvage{how} wrote has {', '.join(codes)}")
