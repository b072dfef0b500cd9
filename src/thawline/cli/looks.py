"""Commands that describe a file: identify, info, stats, and `glance`, which a bare file name runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from thawline.cli.options import (
    DAMAGE,
    EXIT_ZERO,
    FILES,
    FORMAT,
    JOBS,
    OFFERED,
    READING,
    ROWS,
    TALKING,
    session,
    takes,
)

MOST_CARDS = 3
"""Files of a kind that are described one by one, where a folder has many; -v describes all of them."""

if TYPE_CHECKING:
    from thawline.cli.session import Session, WatchedFile


@click.command()
@takes(FILES, READING, FORMAT, TALKING)
@session
def identify(run: Session) -> int:
    """Say which format files are of, and how sure that is.

    Only a few bytes of each file are read. A file that no format recognises gives exit code 3.
    """
    from thawline.verbs.identify import identify as facts

    sink = run.records()
    run.each_file(lambda cold: sink.add(facts(cold)))
    if run.kind != "table":
        run.add_unread(sink)
    sink.close()
    return run.exit_code


@click.command()
@takes(FILES, READING, OFFERED, FORMAT, TALKING, EXIT_ZERO)
@session
def info(run: Session) -> int:
    """Say what files are and how much is in them.

    Where a format has heads that tell what is in a file, only those are read, and the bytes between them are not
    checked; else the whole file is read. -v adds the columns of its tables. `thawline FILE` shows at once what is known
    without either. On a terminal, many files of a kind are told together, and -v tells of each.
    """
    from thawline.rendering.words import counted
    from thawline.verbs.info import Totals
    from thawline.verbs.info import info as facts
    from thawline.verbs.verify import spec_option

    if run.kind != "table":
        sink = run.records()
        run.each_file(lambda cold: sink.add(facts(cold)))
        run.add_unread(sink)
        sink.close()
        return run.exit_code
    totals = Totals()

    def show(cold: WatchedFile) -> None:
        record = facts(cold, totals)
        if totals.of(cold).files <= MOST_CARDS or run.options.verbose or record["findings"]:
            run.console.print(_info_text(record, spec_option(cold), verbose=run.options.verbose))

    run.each_file(show)
    for total in totals:
        if total.files > 1:
            record = {**total.facts(), "file": counted(total.files, "file")}
            run.console.print(_info_text(record, "", verbose=False))
    return run.exit_code


def _info_text(facts: dict[str, Any], option: str, *, verbose: bool) -> str:
    """What people ask first; where they ask for more, also why it is this format, and the columns.

    Commands have the option that names the spec.
    """
    from thawline.rendering.words import answered, counted, exact, printable, quoted

    findings = counted(facts["findings"], "finding")
    clean = "heads fit; not verified" if facts["checked"] == "heads" else "intact"
    command = f": thawline verify {quoted(facts['file'])}{option}" if facts.get("why") else ""
    state = clean if not facts["findings"] else f"{findings}{command}"
    lines = {
        "format": f"{facts['format']} {facts['version'] or ''}".rstrip() + f", {facts['title']}",
        "holds": f"{counted(facts['units'], facts['unit'])}, {counted(facts['rows'], 'row')}, {exact(facts['size'])}",
        **{name: answered(value) for name, value in facts["overview"].items()},
        "state": state,
    }
    if verbose:
        lines["because"] = facts["why"] + (f" ({facts['confidence']})" if facts["confidence"] else "")
        lines |= {f"table {table}": ", ".join(columns) for table, columns in facts["tables"].items()}
    width = max(map(len, lines))
    return "\n".join([printable(facts["file"]), *(f"  {key:<{width}}  {line}" for key, line in lines.items())])


@click.command()
@takes(FILES, ROWS[0], ROWS[2:], DAMAGE, READING, OFFERED, FORMAT, JOBS, TALKING, EXIT_ZERO)
@session
def stats(run: Session) -> int:
    """Say what is in each column: nulls, range, sizes, frequent values.

    One pass over each file, in bounded memory: where a column has more than 1000 different values, `distinct` is
    null and none of them is called frequent.
    """
    from thawline.cli.rows import say_skipped
    from thawline.rendering.statistics import for_table
    from thawline.verbs.stats import stats as columns

    sink = run.records()

    rows = 0

    def add(cold: WatchedFile, records: list[dict[str, Any]]) -> None:
        nonlocal rows
        rows += records[0]["rows"] if records else 0
        for record in records:
            shown = for_table(record) if run.kind in {"table", "vertical"} else record
            sink.add({"file": cold.name, **shown} if run.has_many else shown)
        say_skipped(run, cold)

    run.each_studied(lambda cold: list(columns(cold, run.filter)), add)
    sink.close()
    run.say_none(rows)
    return run.exit_code


@click.command(hidden=True)
@takes(FILES, READING, TALKING)
@session
def glance(run: Session) -> int:
    """Say what files are, at once, and what can be done with them. This is what `thawline FILE` does."""
    from thawline.verbs.info import glance as facts
    from thawline.verbs.verify import needed_option

    counts: Counter[str] = Counter()

    def show(cold: WatchedFile) -> None:
        found = facts(cold)
        counts[found["title"]] += 1
        if counts[found["title"]] <= MOST_CARDS or run.options.verbose:
            run.console.print(_glance_text(found, cold.schema.names, needed_option(cold)))

    code = run.each_file(show)
    if counts.total() > 1:
        run.console.print(_glance_total(counts, run.options.files))
    return code


def _glance_total(counts: Counter[str], names: Sequence[str]) -> str:
    """How many files of each kind there are, and what to do with all of them."""
    from thawline.rendering.words import counted, grouped, quoted

    given = " ".join(map(quoted, names))
    kinds = ", ".join(f"{title} {grouped(count)}" for title, count in counts.items())
    lines = [
        f"{counted(counts.total(), 'file')}: {kinds}",
        f"  next      thawline verify {given}",
        f"            thawline info {given}",
        f"            thawline report {given} -o report.html",
    ]
    return "\n".join(lines)


def _glance_text(facts: dict[str, Any], columns: list[str], option: str) -> str:
    """What a file is, and what to do next; the next commands repeat `option`."""
    from pathlib import PurePath

    from thawline.rendering.folding import cut
    from thawline.rendering.rows import shown
    from thawline.rendering.words import exact, printable, quoted

    name = quoted(facts["file"])
    last = facts["last"] or {}
    filled = {key: value for key, value in last.items() if value is not None and value not in ("", [])}
    row = ", ".join(f"{key} {cut(shown(value), 40)}" for key, value in filled.items())
    stem = PurePath(facts["file"]).stem if name != "-" else "rows"
    version = f", version {facts['version']}" if facts["version"] else ""
    sure = f" ({facts['confidence']})" if facts["confidence"] else ""
    lines = [
        f"{printable(facts['file'])}: {facts['title']}{version}, {exact(facts['size'])}",
        f"  {facts['why']}{sure}; not verified yet",
        f"  columns   {', '.join(columns)}",
        *([f"  last row  {row}"] if last else []),
        f"  next      thawline verify {name}{option}",
        f"            thawline tail -n 5 {name}{option}",
        f"            thawline convert {name} -o {quoted(stem + '.parquet')}{option}",
    ]
    return "\n".join(lines)
