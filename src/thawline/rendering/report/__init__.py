"""A report as one page of HTML that needs nothing else: it loads nothing, and its own script only finds and filters."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources

from thawline import __version__
from thawline.markup import Markup, element, joined, raw_text
from thawline.rendering.exhibits import Exhibit
from thawline.rendering.report import tables
from thawline.rendering.report.codes import code_groups
from thawline.rendering.report.damage import damaged_files
from thawline.rendering.report.names import Kept, shown_name, within
from thawline.rendering.report.timeline import POSITIONS, TIMES, Lane, lanes, positions, times
from thawline.rendering.report.treemap import folder_picture
from thawline.rendering.report.verdict import sentences
from thawline.rendering.words import counted, grouped, human
from thawline.verbs.report import Survey

__all__ = ["About", "page"]

MOST = {"damage": 2_600_000, "codes": 2_000_000, "files": 2_800_000, "timeline": 400_000, "unread": 400_000}
"""Bytes that the parts of a page may have, so that it stays below 10 MB whatever the files are called."""
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class About:
    """What a page says about itself."""

    names: tuple[str, ...]
    """What was looked at, as the command was told."""
    made: str
    """When, in UTC."""
    notes: tuple[str, ...] = ()
    """What is to be said beside the verdict."""


def page(survey: Survey, exhibits: Mapping[int, Exhibit], about: About) -> str:
    """The page of a report."""
    style, script = _asset("style.css"), _asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"thawline report: {sentences(survey)[0]}"),
        raw_text("style", style),
    )
    parts = list(_parts(survey, exhibits))
    main = element("main", *(_section(part) for part in parts))
    body = element("body", _header(survey, about), _contents(parts), main, _footer(about), raw_text("script", script))
    html = element("html", head, body, lang="en")
    return f"<!DOCTYPE html>\n{html}\n"


@cache
def _asset(name: str) -> str:
    return resources(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which a content security policy allows exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _header(survey: Survey, about: About) -> Markup:
    named = ", ".join(shown_name(name) for name in about.names[:MOST_NAMED])
    more = f" and {grouped(len(about.names) - MOST_NAMED)} more" if len(about.names) > MOST_NAMED else ""
    return element(
        "header",
        element("p", "thawline report", class_="kicker"),
        element("h1", sentences(survey)[0], class_="ok" if survey.ok else "bad"),
        *(element("p", text, class_="also") for text in (*sentences(survey)[1:], *about.notes)),
        element("p", f"{named}{more}", class_="looked"),
        _numbers(survey),
    )


def _numbers(survey: Survey) -> Markup:
    counts = survey.counts()
    size = sum(account.size for account in survey.accounts)
    damaged = sum(account.head["damaged_bytes"] for account in survey.accounts)
    facts = {
        "files read": grouped(len(survey.files)),
        "damaged": grouped(counts["damaged"]),
        "bytes": human(size),
        "bytes damaged": human(damaged),
        "findings": grouped(sum(account.findings for account in survey.accounts)),
        "not looked at": grouped(counts["not looked at"]),
    }
    cells = (cell for key, text in facts.items() for cell in (element("dt", key), element("dd", text)))
    return element("dl", *cells, class_="numbers")


def _footer(about: About) -> Markup:
    text = f"thawline {__version__}, {about.made}. The files were only read. This page loads nothing and sends nothing."
    return element("footer", element("p", text))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: its anchor, its title, and what is in it."""

    name: str
    title: str
    children: tuple[Markup, ...]


def _contents(parts: Iterable[Part]) -> Markup:
    """Links to the parts."""
    return element("nav", *(element("a", part.title, href=f"#{part.name}") for part in parts), aria_label="Contents")


def _section(part: Part) -> Markup:
    return element("section", element("h2", part.title), *part.children, id=part.name, class_="part")


def _parts(survey: Survey, exhibits: Mapping[int, Exhibit]) -> Iterator[Part]:
    """The parts of which there is something to show."""
    bad = sum(not account.ok for account in survey.accounts)
    if bad:
        kept = within(MOST["damage"], damaged_files(survey, exhibits), bad)
        yield Part("damage", "Damage", (*kept.parts, _left(kept, "damaged file")))
    if survey.groups:
        kept = within(MOST["codes"], code_groups(survey), len(survey.groups))
        yield Part("codes", "Findings by code", (*kept.parts, _left(kept, "code")))
    picture = folder_picture(survey)
    if picture.text:
        yield Part("folders", "Folders", (element("div", picture, class_="wide"),))
    found = lanes(survey)
    yield from _timeline(found)
    yield from _tabled("formats", "Sizes", tables.FORMATS, _all(tables.formats(survey)), "format", "by format")
    yield from _tabled("codecs", "Codecs", tables.CODECS, _all(tables.codecs(survey)), "codec", "as heads of units say")
    kept = within(MOST["files"], tables.files(survey), len(survey.accounts))
    yield from _tabled("files", "Files", tables.FILES, kept, "file", "damaged ones first")
    kept = within(MOST["unread"], tables.unread(survey), len(survey.unread))
    yield from _tabled("unread", "Not looked at", tables.UNREAD, kept, "file", "and why")


def _timeline(found: Sequence[Lane]) -> Iterator[Part]:
    """From when to when, and from where to where, the data goes."""
    timed = sum(lane.times() is not None for lane in found)
    placed = sum(lane.places() is not None for lane in found)
    drawn = [
        joined(tables.table(heads, some.parts, caption), _left(some, "folder"))
        for heads, some, caption in (
            (TIMES, within(MOST["timeline"], times(found), timed), "times in UTC"),
            (POSITIONS, within(MOST["timeline"], positions(found), placed), "positions; a gap is in no intact unit"),
        )
        if some.parts
    ]
    if drawn:
        yield Part("timeline", "Timeline", tuple(drawn))


def _all(rows: Iterable[Markup]) -> Kept:
    return Kept(list(rows), 0)


def _tabled(
    name: str, title: str, heads: Iterable[tuple[str, str]], kept: Kept, noun: str, caption: str
) -> Iterator[Part]:
    """A part that is a table; nothing where it has no rows."""
    if kept.parts or kept.left:
        yield Part(name, title, (tables.table(heads, kept.parts, caption), _left(kept, noun)))


def _left(kept: Kept, noun: str) -> Markup:
    """How many more there are, where a page would become too large."""
    if not kept.left:
        return joined()
    return element("p", f"{counted(kept.left, f'more {noun}')} would make this page too large", class_="more")
