"""The options of all formats: one catalogue, from which the command line and Spark derive theirs.

An option is an entry here and a field of the same name in the format's dataclass; the field has the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Literal

from thawline.errors import ThawlineError
from thawline.times import moment

Kind = Literal["flag", "switch", "time", "size", "span", "choice", "text", "names", "tags"]
SIZES = {"": 1, "k": 10, "m": 20, "g": 30}
FOUR_LETTERS = 4
LARGEST = (1 << 63) - 1
"""The largest number that columns, positions and counts hold."""
LONGEST_NUMBER = 32
"""Longer texts are no numbers: 64 bits take at most 20 characters."""


class BadOption(ThawlineError, ValueError):
    """An option that the format does not have, or a value that it does not take."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name, the formats that have it, and the type of its value."""

    name: str
    formats: tuple[str, ...]
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    """The values of a choice; for a switch, the one word that switches it off."""

    def value(self, setting: object, zone: tzinfo = UTC) -> object:
        """A setting as the format takes it; text is parsed, such as times, sizes and ranges.

        >>> Option("since", ("kafka", "rbak"), "time", "").value("2026-11-16T12:00:00Z")
        1794830400000
        >>> Option("offsets", ("kafka",), "span", "").value("5..")
        (5, None)
        """
        try:
            return self._parsed(setting, zone) if isinstance(setting, str) else _bounded_all(setting)
        except ValueError as error:
            raise BadOption(f"{self.name} is {setting!r}: {error}") from None

    def _parsed(self, text: str, zone: tzinfo) -> object:
        match self.kind:
            case "flag" | "switch":
                return _flag(text)
            case "time":
                return _milliseconds(text, zone)
            case "size":
                return _bytes(text)
            case "span":
                return _span(text)
            case "names":
                return _names(text)
            case "tags":
                return tuple(_tag(name) for name in _names(text))
            case "choice" if text not in self.choices:
                raise ValueError(f"it is one of {', '.join(self.choices)}")
        return text


def _int64(text: str) -> int:
    """A 64-bit number: Arrow compares columns with nothing larger."""
    # int() takes quadratic time in the length of its text.
    return _bounded(int(text) if len(text) <= LONGEST_NUMBER else LARGEST + 1)


def _bounded(number: int) -> int:
    if not -LARGEST - 1 <= number <= LARGEST:
        raise ValueError(f"it lies beyond 64 bits; {LARGEST} is the largest number")
    return number


def _bounded_all(setting: object) -> object:
    """A setting from Python, after a check that its numbers fit 64 bits."""
    for part in setting if isinstance(setting, tuple) else (setting,):
        if isinstance(part, int):
            _bounded(part)
    return setting


def _flag(text: str) -> bool:
    if text.lower() not in {"true", "false", "yes", "no"}:
        raise ValueError("it is true or false")
    return text.lower() in {"true", "yes"}


def _milliseconds(text: str, zone: tzinfo) -> int:
    """Milliseconds since 1970, from their number or from a time, which is in the zone unless it has its own."""
    if re.fullmatch(r"-?\d+", text, re.ASCII):
        return _int64(text)
    whole = moment(text, zone) - datetime(1970, 1, 1, tzinfo=UTC)
    return (whole.days * 86_400 + whole.seconds) * 1000 + whole.microseconds // 1000


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.lower())
    if not match:
        raise ValueError("it is a number of bytes, such as 268435456 or 256MiB")
    return _bounded(_int64(match[1]) << (SIZES[match[2]] if match[2] else 0))


def _span(text: str) -> tuple[int | None, int | None]:
    """Both ends of `a..b`; either may be omitted, and a single number is both."""
    match = re.fullmatch(r"(-?\d*)(?:(\.\.)(-?\d*))?", text)
    if not match or not (match[1] or match[3]):
        raise ValueError("it is a range such as 100..200, 100.. or ..200")
    first = _int64(match[1]) if match[1] else None
    last = first if not match[2] else _int64(match[3]) if match[3] else None
    return first, last


def _names(text: str) -> tuple[str, ...]:
    r"""Names separated by commas; a backslash escapes a comma in a name.

    >>> _names(r"orders,a\,b")
    ('orders', 'a,b')
    """
    return tuple(re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"(?:[^,\\]|\\.)+", text))


def _tag(text: str) -> int:
    """A tag as a number, from a number or from the four letters that it spells.

    >>> _tag("0x100"), _tag("AUDT")
    (256, 1413764417)
    """
    try:
        number = int(text, 0)
    except ValueError:
        letters = text.encode()
        number = int.from_bytes(letters, "little") if len(letters) == FOUR_LETTERS else -1
    if number not in range(1 << 8 * FOUR_LETTERS):
        raise ValueError("a tag is a number of 32 bits such as 256 or 0x100, or four letters")
    return number


OPTIONS: tuple[Option, ...] = (
    Option(
        "since",
        ("kafka", "rbak"),
        "time",
        "Only rows from this time on, such as 2026-11-16T12:00:00Z, yesterday or 1h, an hour ago.",
    ),
    Option("until", ("kafka", "rbak"), "time", "Only rows up to this time."),
    Option("offsets", ("kafka",), "span", "Only records with these offsets, such as 100..200 or 100.."),
    Option(
        "isolation",
        ("kafka",),
        "choice",
        "read_committed leaves out aborted transactions, and all from the first open one on.",
        ("read_uncommitted", "read_committed"),
    ),
    Option("control", ("kafka",), "flag", "Also give control records, such as the markers of transactions."),
    Option("max_batch_bytes", ("kafka",), "size", "The most that a batch may decompress to; 32 MiB by default."),
    Option("queue", ("rbak",), "names", "Only messages of these queues, such as orders or orders,invoices."),
    Option("vhost", ("rbak",), "names", "Only messages of these virtual hosts."),
    Option("namespace", ("aerospike",), "names", "Only entries of these namespaces."),
    Option("set", ("aerospike",), "names", "Only entries of these sets."),
    Option("tag", ("rbf",), "tags", "Only frames with these tags, such as 256, 0x100 or AUDT."),
    Option("repository_version", ("borg",), "choice", "Which repository a lone pack is from.", ("4", "5")),
    Option(
        "prune",
        ("rbak", "aerospike"),
        "choice",
        "How far headers and manifests are trusted: hint only where nothing contradicts them, off reads all.",
        ("hint", "strict", "off"),
    ),
    Option("unverified", ("rbak",), "flag", "Also give rows that no checksum vouches for, as far as damage allows."),
    Option("max_payload", ("rbak",), "size", "The most that a segment may decompress to; 1 GiB by default."),
    Option("bins", ("aerospike",), "choice", "A list in each record, or columns of their own.", ("list", "columns")),
    Option(
        "strict",
        ("aerospike",),
        "switch",
        "Count an entry as intact only if asrestore and backup-go both read it, or if one of them does.",
        ("lenient",),
    ),
)


def names(format_name: str) -> set[str]:
    """The names of the options that a format has."""
    return {option.name for option in OPTIONS if format_name in option.formats}


def check(format_name: str, settings: Mapping[str, object]) -> dict[str, object]:
    """The settings as a format takes them; `BadOption` suggests the nearest option, or the formats that have it."""
    known = {option.name: option for option in OPTIONS}
    checked = {}
    for name, value in settings.items():
        option = known.get(name)
        if option is None or format_name not in option.formats:
            raise BadOption(_unknown(format_name, name, option))
        checked[name] = option.value(value)
    return checked


def _unknown(format_name: str, name: str, option: Option | None) -> str:
    if option is not None:
        return f"{format_name} has no option {name}; it is for {' and '.join(option.formats)}"
    offered = [option.name for option in OPTIONS if format_name in option.formats]
    near = get_close_matches(name, offered, 1)
    if near:
        return f"there is no option {name}; did you mean {near[0]}?"
    return f"there is no option {name}; {format_name} has {', '.join(offered) or 'none'}"
