"""Commands about damage: verify, inspect, salvage."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import (
    EXIT_ZERO,
    FILE,
    FILES,
    FORMAT,
    JOBS,
    OFFERED,
    OVERWRITE,
    READING,
    TALKING,
    WHERE,
    position,
    session,
    takes,
)

if TYPE_CHECKING:
    from thawline.cli.session import Session, WatchedFile
    from thawline.cold import ColdFile
    from thawline.formats import Format
    from thawline.model import Report
    from thawline.verbs.salvage import Salvaged

INPUT_FORMAT = [READING[0], READING[2]]
DAMAGED = 1


@click.command()
@takes(
    FILES,
    click.option("--heads-only", is_flag=True, help="Read only the heads of units, where the format has them."),
    READING,
    OFFERED,
    FORMAT,
    JOBS,
    TALKING,
    EXIT_ZERO,
)
@session
def verify(run: Session, *, heads_only: bool) -> int:
    """Account for every byte of files, and say what is wrong with them.

    On a terminal: each finding at its bytes, what is lost, how bad it is and what to do next. In a pipe: one JSON
    object a file, whose keys are a promise (see the README). csv and arrow give one row a finding.

    Exit code 0: nothing is wrong. 1: damage was found. Nothing is ever written to the files. `check` and `validate`
    are the same command.
    """
    from thawline.rendering.findings import FINDING_NAMES, unread_object, unread_record

    show = _show_diagnosis if run.kind == "table" else _show_report
    sink = run.records(FINDING_NAMES)
    verdicts: dict[str, bool] = {}

    def judge(cold: ColdFile, report: Report) -> None:
        verdicts[report.file] = report.ok
        show(run, cold, report, sink)

    run.each_studied(lambda cold: cold.verify(heads_only=heads_only), judge, judge)
    if run.kind == "table":
        _show_total(run, verdicts)
    else:
        run.add_unread(sink, unread_record if run.kind in {"csv", "arrow"} else unread_object)
        sink.close()
    return run.exit_code


def _show_total(run: Session, verdicts: dict[str, bool]) -> None:
    """Print a total if the command has more than one file."""
    from thawline.rendering.words import counted, grouped

    folders = [verdicts.pop(group.folder.path) for group in run.groups if group.folder.path in verdicts]
    total = len(verdicts) + len(run.unread)
    if total + len(folders) < 2 or run.options.quiet:  # noqa: PLR2004 - one needs no total
        return
    ok = sum(verdicts.values())
    counts = {"ok": ok, "damaged": len(verdicts) - ok, "not looked at": len(run.unread)}
    states = ", ".join(f"{grouped(count)} {state}" for state, count in counts.items() if count)
    whole = "" if all(folders) else f"; {counted(folders.count(False), 'folder')} damaged as a whole"
    run.console.print(f"\n{counted(total, 'file')}: {states}{whole}")


def _show_diagnosis(run: Session, cold: ColdFile, report: Report, _sink: Any) -> None:
    from thawline.rendering.diagnosis import diagnosis

    if report.ok and run.options.quiet:
        return
    run.progress.clear()
    for line in diagnosis(cold, report, run.console, is_verbose=run.options.verbose):
        run.console.print(line)


def _show_report(run: Session, _cold: ColdFile, report: Report, sink: Any) -> None:
    from thawline.rendering.findings import finding_records

    if run.kind not in {"csv", "arrow"}:
        sink.add_with(report.head(), "findings", report.findings.to_dicts())
        return
    for record in finding_records(report):
        sink.add(record)


@click.command()
@takes(
    FILE,
    click.option("--at", type=position, metavar="POSITION", help="The unit that holds this byte, such as 0x326."),
    click.option("--unit", type=click.IntRange(min=0), metavar="N", help="The unit of this number; 0 is the first."),
    click.option("--finding", type=click.IntRange(min=1), metavar="N", help="The bytes of finding N of verify."),
    click.option("--spec-names", is_flag=True, help="Call fields what the format's own document calls them."),
    INPUT_FORMAT,
    OFFERED,
    TALKING,
)
@session
def inspect(run: Session, at: int | None, unit: int | None, finding: int | None, *, spec_names: bool) -> int:
    """Show the bytes of one unit with the name and value of every field.

    A damaged unit is shown as far as it can be read, with the field that fails marked. Without an option it is the
    first damage, or the first unit of a file that has none. The records that a unit holds follow, decompressed if need
    be: the first of them, and the one that cannot be read.
    """
    from thawline.rendering.inspection import inspection_lines
    from thawline.verbs.inspect import inspect as inspected

    if sum(choice is not None for choice in (at, unit, finding)) > 1:
        raise click.UsageError("--at, --unit and --finding exclude one another")
    with run.open_only() as cold:
        try:
            inspection = inspected(cold, at=at, unit=unit, finding=finding, spec_names=spec_names)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        for line in inspection_lines(inspection, run.console.room):
            run.console.print(line)
    return run.code


@click.command()
@takes(
    FILE,
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        metavar="OUT",
        help="The file to write; it must not exist. A Borg pack names itself: OUT is a folder, by default this one.",
    ),
    click.option(
        "--truncate-at",
        type=position,
        metavar="POSITION",
        help="Copy everything before this byte instead, as it is; it must be a place where the format can be cut.",
    ),
    WHERE,
    click.option("--recover", is_flag=True, help="Add units that readers must reject but that are proven to be whole."),
    click.option("--include-suspects", is_flag=True, help="Add units that may belong to the payload of a broken one."),
    click.option("--index", "with_index", is_flag=True, help="Also write the index files that belong beside OUT."),
    OVERWRITE,
    INPUT_FORMAT,
    OFFERED,
    click.option("--json", "as_json", is_flag=True, help="Say what was done as one JSON object on stdout."),
    JOBS,
    TALKING,
    EXIT_ZERO,
)
@session
def salvage(
    run: Session,
    output: str | None,
    *,
    truncate_at: int | None,
    recover: bool,
    include_suspects: bool,
    with_index: bool,
    overwrite: bool,
    as_json: bool,
) -> int:
    """Copy everything that is intact in FILE into a new file of the same format.

    FILE is not touched, and OUT appears when it is complete. The exit code is 1 where something was lost, or was
    recovered from damage. With --where, units stay that hold a wanted row, or no row at all; they are copied whole.
    """
    from thawline.rendering.words import exact, quoted
    from thawline.values import json_line
    from thawline.verbs.salvage import salvage as copy
    from thawline.verbs.salvage import truncate
    from thawline.verbs.verify import spec_option

    with run.open_only() as cold:
        target = _target(cold, output)
        if truncate_at is not None:
            if run.filter:
                raise click.UsageError("--truncate-at copies everything before it; leave --where out")
            cut = truncate(cold, target, truncate_at, overwrite=overwrite)
            written = cut.bytes_written
            run.remark(f"wrote {exact(cut.bytes_written)} to {quoted(str(target))}, left out {exact(cut.bytes_cut)}")
        else:
            chosen: dict[str, Any] = {"where": run.filter, "recover": recover, "include_suspects": include_suspects}
            done = copy(cold, target, overwrite=overwrite, **chosen)
            target, written = done.target, done.bytes_written
            run.meet(cold)
            run.code = max(run.code, DAMAGED if done.lost or done.recovered else 0)
            _report_salvaged(run, cold, done)
            if done.recovered and not recover:
                code = done.recovered[0].recovered
                run.remark(f"how far to trust what was recovered: thawline explain {code}")
            if as_json:
                run.stdout.write(json_line(_salvaged_object(cold, done)))
    if with_index:
        _index(run, cold.format, target, overwrite=overwrite)
    if written:  # no format claims an empty file
        run.remark(f"now run: thawline verify {quoted(str(target))}{spec_option(cold)}")
    return run.exit_code


def _target(cold: ColdFile, output: str | None) -> Path:
    """The output path; by default the current folder if the format names files by their content."""
    from thawline.formats.contract import ContentNamed

    if output is None and not isinstance(cold.kind, ContentNamed):
        raise click.UsageError("Missing option '-o' / '--output'.")
    return Path(output or ".")


def _index(run: Session, format_: Format, target: Path, *, overwrite: bool) -> None:
    from thawline.cold import ColdFile
    from thawline.rendering.words import quoted
    from thawline.source import open_source
    from thawline.verbs.salvage import write_indexes

    with ColdFile(open_source(target), format_) as written:
        for path in write_indexes(written, target, overwrite=overwrite):
            run.remark(f"wrote {quoted(str(path))}")


def _report_salvaged(run: Session, cold: WatchedFile, done: Salvaged) -> None:
    from thawline.rendering.words import counted, exact, quoted

    unit = cold.unit_name
    run.remark(f"wrote {counted(done.units, unit)}, {exact(done.bytes_written)}, to {quoted(str(done.target))}")
    for finding in islice(done.lost, None if run.options.verbose else 10):
        lost = finding.detail.get("lost", counted(finding.span.size, "byte"))
        run.remark(f"lost at {finding.span}: {lost} ({finding.code.id} {finding.message})")
    if len(done.lost) > 10 and not run.options.verbose:  # noqa: PLR2004 - as above
        run.remark(f"… and {counted(len(done.lost) - 10, 'more place')}; -v names all of them")
    if done.unwanted:
        run.remark(f"left out {counted(done.unwanted, unit)} of which no row meets the conditions")
    if run.filter and not done.rows:
        run.say_none(0)
    for repaired in done.repaired:
        run.remark(f"repaired, and proven: {repaired}")
    messages = {code.id: code.message for code in cold.format.codes}
    for recovered in done.recovered:
        code = recovered.recovered
        rows = f" with {counted(recovered.rows, 'row')}" if recovered.rows != recovered.units else ""
        why = f"{code} {messages[code]}"
        run.remark(f"recovered at {recovered.span}: {counted(recovered.units, unit)}{rows} ({why})")
    if done.suspects:
        run.leave_out()
        run.remark(
            f"left out {counted(done.suspects, unit)} that may be part of a broken one, or changed, or not for every "
            "tool; --include-suspects adds them"
        )
    for line in done.advice:
        run.remark(line)


def _salvaged_object(cold: WatchedFile, done: Salvaged) -> dict[str, Any]:
    return {
        "file": cold.name,
        "output": str(done.target),
        "units": done.units,
        "rows": done.rows,
        "bytes_written": done.bytes_written,
        "recovered": sum(run.units for run in done.recovered),
        "suspects": done.suspects,
        "unwanted": done.unwanted,
        "repaired": list(done.repaired),
        "lost": [finding.to_dict() for finding in done.lost],
    }
