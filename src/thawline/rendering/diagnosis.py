"""A report for a person: each finding at its bytes, the extent of damage, what is readable, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path, PurePath

from rich.text import Text

from thawline.cold import ColdFile
from thawline.formats.contract import ContentNamed, Salvaging
from thawline.formats.recognition import likeness
from thawline.model import Finding, Report, Severity, Span
from thawline.rendering.console import PlainConsole
from thawline.rendering.folding import Line
from thawline.rendering.strip import strip
from thawline.rendering.words import counted, exact, grouped, printable, quoted, share
from thawline.tracing import trace
from thawline.verbs.verify import spec_option

ROW = 16
SHOWN_FINDINGS = 50
SHOWN_SPANS = 4
MARGIN = 15
"""Columns before the facts of a verdict."""
LONGEST_UNIT = 1 << 20
"""Bytes of a unit that are read again to name the field at fault."""
STYLES: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "note": "bold blue"}
POSITIONS = {"at", "start", "end", "position", "address"}
SIZES = {"claimed", "left", "size"}
NAMES = ("offset", "offset_before", "epoch", "_id")
"""Suffixes of keys whose numbers are pasted into commands, so their digits are not grouped."""
CHECKSUMS = ("crc", "checksum")
CAUSE = "looks_like"
"""The key of a cause in a finding's detail; it takes precedence over a guess from the place of damage."""
CHECKSUM = "crc_computed"
"""The key that a finding has about a unit that is whole, but for its checksum."""
MISMATCH = "a media or copy error: what its head says fits, and the checksum does not"


@dataclass(frozen=True, slots=True)
class Mark:
    """The bytes that a finding points at, and a label for them."""

    span: Span
    label: str = ""
    is_field: bool = False
    """Whether the label names the field and its fault."""


def diagnosis(cold: ColdFile, report: Report, console: PlainConsole, *, is_verbose: bool = False) -> Iterator[Text]:
    """The lines of a report: its findings, the first fifty unless verbose, and the verdict; a map on a terminal."""
    limit = len(report.findings) if is_verbose else SHOWN_FINDINGS
    hint = ""
    followed = zip(report.findings, chain(islice(report.findings, 1, None), [None]), strict=False)
    for finding, following in islice(followed, limit):
        yield from _finding_lines(cold, report, finding, following)
        if finding.hint and finding.hint != hint:
            hint = finding.hint
            yield Text.assemble(("help", "bold cyan"), f": {printable(hint)}")
        yield Text()
    if len(report.findings) > limit:
        yield Text(f"… and {grouped(len(report.findings) - limit)} more; -v shows all of them")
        yield Text()
    yield from _verdict(cold, report, console)


def _finding_lines(cold: ColdFile, report: Report, finding: Finding, following: Finding | None) -> Iterator[Text]:
    name, span = printable(report.file), finding.span
    style = STYLES[finding.severity]
    yield Line.hanging(7, (finding.code.id, style), f" {finding.message}", _compared(finding.detail))
    place = f" @ {span} ({counted(span.size, 'byte')})" if span.size else f" @ {span.end:#x}" if report.size else ""
    yield Line.hanging(6, f"  --> {name}{place}")
    mark = _mark(cold, finding)
    if span.size:
        yield from _hex_lines(cold, finding, mark)
    for key, value in facts_of(finding.detail, mark):
        yield Line.hanging(5, "   = ", (f"{key}: ", "bold"), value)
    if span.size:
        yield Line.hanging(5, "   = ", ("note: ", "bold"), _what_follows(report, finding, following))


def _compared(detail: Mapping[str, object]) -> str:
    """The stored and the computed value, if a finding has both."""
    for key, stored in detail.items():
        name = key.removesuffix("_stored")
        if name != key and f"{name}_computed" in detail:
            return f": stored {_value(key, stored)}, computed {_value(key, detail[f'{name}_computed'])}"
    return ""


def facts_of(detail: Mapping[str, object], mark: Mark = Mark(Span(0, 0), "")) -> Iterator[tuple[str, str]]:  # noqa: B008
    """The remaining facts of a finding, `lost` first, without those that a marked field shows already.

    A reason without a field's name comes from the format and is kept: it is more specific than the spec's rule.
    """
    omitted = {CAUSE, *({"at", "field"} if mark.is_field else ())}
    if mark.label == detail.get("reason") or (mark.is_field and "field" in detail):
        omitted |= {"at", "field", "reason"}
    for key in sorted(detail, key=lambda key: key != "lost"):
        if not key.endswith(("_stored", "_computed")) and key not in omitted:
            yield key.replace("_", " "), _value(key, detail[key])


def _value(key: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if key.startswith(CHECKSUMS):
            return f"{value:#010x}"
        if key in SIZES:
            return counted(value, "byte")
        if key.endswith(NAMES):
            return str(value)
        return f"{value:#x}" if key in POSITIONS else grouped(value)
    return value.hex() if isinstance(value, bytes) else printable(str(value))


def _what_follows(report: Report, finding: Finding, following: Finding | None) -> str:
    end = finding.span.end
    if end == report.size:
        return "the file ends here"
    if following and following.span.start == end:
        return f"more at {end:#x}, see below"
    return f"intact again from {end:#x}"


def _hex_lines(cold: ColdFile, finding: Finding, mark: Mark) -> Iterator[Text]:
    """A row of bytes, with the fault marked below it."""
    start = finding.span.start if mark.span.start < finding.span.start + ROW else mark.span.start - ROW // 2
    row = bytes(cold.source.view(start, min(start + ROW, cold.size)))
    place = f"{start:#06x}"
    yield Text(" " * len(place) + "|")
    ascii_text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)  # noqa: PLR2004 - printable ASCII
    yield Text.assemble((place, "dim"), f"| {row.hex(' ').ljust(3 * ROW - 1)} |{ascii_text}|")
    first, last = mark.span.start - start, min(mark.span.end - start, len(row))
    carets = " " * (3 * first) + "^" * (3 * (last - first) - 1)
    margin = " " * len(place) + "| "
    # A long label goes on below the carets, or below the bytes where it would be squeezed.
    yield Line.hanging(len(margin), margin, (f"{carets} {mark.label}".rstrip(), STYLES[finding.severity]))


def _mark(cold: ColdFile, finding: Finding) -> Mark:
    """The bytes to point at: the field at fault, the stored checksum, else the whole stretch."""
    at = finding.detail.get("at")
    if isinstance(at, int) and at in finding.span:
        return _field(cold, finding.span.start, at) or Mark(Span(at, at + 1), str(finding.detail.get("reason", "")))
    for key, value in finding.detail.items():
        if key.endswith("_stored") and isinstance(value, int):
            found = _find(cold, finding.span, value)
            if found is not None:
                return Mark(found, key.removesuffix("_stored"))
    return Mark(finding.span)


def _field(cold: ColdFile, start: int, at: int) -> Mark | None:
    """The field at fault, if reading the unit that starts here stops at it."""
    data = bytes(cold.source.view(start, min(start + LONGEST_UNIT, cold.size)))
    field = trace(cold.kind.spec_at(cold.source, start), data).failing
    if field is None or start + field.start != at:
        return None
    return Mark(Span(at, start + max(field.end, field.start + 1)), f"{field.label} {field.reason}", is_field=True)


def _find(cold: ColdFile, span: Span, value: int) -> Span | None:
    """The span of a stored checksum, which formats keep near the start or the end of a unit, in either byte order."""
    if not 0 <= value < 1 << 32:
        return None
    near = 4 * ROW
    for start, end in ((max(span.end - near, span.start), span.end), (span.start, min(span.start + near, span.end))):
        data = bytes(cold.source.view(start, end))
        for order in ("little", "big"):
            place = data.rfind(value.to_bytes(4, order))
            if place >= 0:
                return Span(start + place, start + place + 4)
    return None


@dataclass(frozen=True, slots=True)
class Assessment:
    """How bad the damage of a file is, and what to do about it, in words."""

    how_bad: str
    readable: str
    looks_like: str
    next: tuple[str, ...]


def assessment(cold: ColdFile, report: Report) -> Assessment:
    """What to tell of a damaged file. Where no bytes are damaged, such as of a folder, only what to do."""
    if not report.damaged_bytes:
        first = next(finding for finding in report.findings if finding.severity == "error")
        return Assessment("", "", "", (f"thawline explain {first.code.id}",))
    places = regions(report)
    damaged = f"{grouped(report.damaged_bytes)} of {counted(report.size, 'byte')}"
    is_are = "is" if report.damaged_bytes == 1 else "are"
    return Assessment(
        f"{damaged} ({share(report.damaged_bytes, report.size)}) {is_are} damaged",
        _readable(cold, report, places),
        _cause(cold, report, places),
        tuple(_next_commands(cold, report)),
    )


def _verdict(cold: ColdFile, report: Report, console: PlainConsole) -> Iterator[Text]:
    name = printable(report.file)
    if report.ok:
        remarks = f", {counted(len(report.findings), 'remark')}" if report.findings else ""
        contents = f"{report.format}, {_intact(cold, report)}, {exact(report.size)}; every byte accounted for"
        if Path(report.file).is_dir():
            contents = f"{report.format}, the folder as a whole"
        yield Line.hanging(4, ("ok", "bold green"), f"  {name}: {contents}{remarks}")
        return
    if not report.damaged_bytes:
        errors = counted(report.findings.errors, "error")
        yield Line.hanging(4, ("!", "bold red"), f"   {name}: {report.format}, {errors}")
        return
    places = counted(len(regions(report)), "place")
    yield Line.hanging(4, ("!", "bold red"), f"   {name}: {report.format}, damaged in {places}")
    told = assessment(cold, report)
    yield _fact("how bad", told.how_bad)
    if drawn := strip(report, (console.room or 0) - MARGIN, console.encoding):
        yield _fact("map", "").append_text(drawn)
    yield _fact("readable", told.readable)
    yield _fact("looks like", told.looks_like)
    for title, line in zip(("next", *[""] * 9), told.next, strict=False):
        yield _fact(title, line)


def _fact(title: str, text: str) -> Text:
    return Line.hanging(MARGIN, "    ", (f"{title:<11}", "bold"), text)


def _intact(cold: ColdFile, report: Report) -> str:
    units = counted(report.units, cold.unit_name)
    return units if report.units == report.rows else f"{units} with {counted(report.rows, 'row')}"


def regions(report: Report) -> list[Span]:
    """Damaged stretches; adjacent ones are joined."""
    joined: list[Span] = []
    for span in (finding.span for finding in report.findings if finding.severity == "error" and finding.span.size):
        if joined and joined[-1].end == span.start:
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def _readable(cold: ColdFile, report: Report, damaged: list[Span]) -> str:
    if not report.units:
        return f"no {cold.unit_name}"
    edges = [Span(0, 0), *damaged, Span(report.size, report.size)]
    intact = [Span(left.end, right.start) for left, right in pairwise(edges) if left.end < right.start]
    more = f" and {grouped(len(intact) - SHOWN_SPANS)} more" if len(intact) > SHOWN_SPANS else ""
    return f"{_intact(cold, report)} at {', '.join(map(str, islice(intact, SHOWN_SPANS)))}{more}"


def _cause(cold: ColdFile, report: Report, damaged: list[Span]) -> str:
    """The usual cause of such damage, mostly inferred from its place."""
    known = next((finding.detail[CAUSE] for finding in report.findings if CAUSE in finding.detail), None)
    if known is not None:
        return str(known)
    causes = {finding.code.cause for finding in report.findings if finding.severity == "error"}
    if len(causes) == 1 and "" not in causes:
        return causes.pop()
    if not report.units and (other := likeness(cold.source)):
        return other
    if not report.units and any(key.endswith("_computed") for finding in report.findings for key in finding.detail):
        return MISMATCH
    if not report.units:
        return "another format or version, or a file that lost its beginning"
    if len(damaged) > 1:
        return "media or copy errors: several places, with intact data between them"
    is_at_an_edge = damaged[0].start == 0 or damaged[0].end == report.size
    if is_at_an_edge and any(CHECKSUM in finding.detail for finding in report.findings):
        return MISMATCH  # the unit is whole, so nothing was cut off
    if damaged[0].end == report.size:
        return "an unfinished write or a cut copy: only the end is affected"
    if damaged[0].start == 0:
        return "a lost beginning: everything after it is intact"
    return "a media or copy error, not a crash: the data before and after it is intact"


def _next_commands(cold: ColdFile, report: Report) -> Iterator[str]:
    name, option = quoted(report.file), spec_option(cold)
    errors = ((number, finding) for number, finding in enumerate(report.findings, 1) if finding.severity == "error")
    number, first = next(errors)
    if cold.format.claim(cold.source):  # else it can be read only as part of its folder
        yield f"thawline inspect {name} --finding {number}{option}"
    yield f"thawline explain {first.code.id}"
    hints = (finding.hint for finding in chain([first], (other for _, other in errors)) if finding.hint)
    if hint := min(hints, key=lambda hint: ("salvage" not in hint, "--recover" not in hint), default=""):
        yield printable(hint)
    elif report.units and isinstance(cold.kind, Salvaging | ContentNamed):
        yield f"thawline salvage {name} -o {quoted(_intact_name(report))}{option}"


def _intact_name(report: Report) -> str:
    path = PurePath(report.file)
    return f"{path.stem}.intact{path.suffix}" if path.suffix else f"intact.{report.format}"
