"""Sizes and shares as text for people, and the words that findings share."""

from __future__ import annotations

from thawline.wording import counted, grouped, is_utf8, plural, printable, quoted, raw, utf8

__all__ = ["counted", "exact", "grouped", "human", "is_utf8", "plural", "printable", "quoted", "raw", "share", "utf8"]

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def human(size: int) -> str:
    """A size, rounded.

    >>> human(17), human(1628), human(5 << 30)
    ('17 bytes', '1.6 KiB', '5.0 GiB')
    """
    amount = float(size)
    for unit in UNITS:
        if amount < 1024 or unit == UNITS[-1]:  # noqa: PLR2004 - IEC units are powers of it
            break
        amount /= 1024
    return counted(size, "byte") if unit == UNITS[0] else f"{amount:.1f} {unit}"


def exact(size: int) -> str:
    """A size in bytes, followed by the rounded size from 1 KiB on.

    >>> exact(17), exact(1628)
    ('17 bytes', '1 628 bytes (1.6 KiB)')
    """
    return counted(size, "byte") + (f" ({human(size)})" if size >= 1024 else "")  # noqa: PLR2004


def share(part: int, whole: int) -> str:
    """A part as a percentage, never rounded to 0 or 100.

    >>> share(1, 3), share(1, 10**9), share(10**9 - 1, 10**9)
    ('33.3 %', 'under 0.1 %', 'over 99.9 %')
    """
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 0.1:  # noqa: PLR2004
        return "under 0.1 %"
    return "over 99.9 %" if part < whole and percent > 99.9 else f"{percent:.1f} %"  # noqa: PLR2004


def answered(answer: object) -> str:
    """An answer of `info`: a range, values with how often they occur, gaps, or a number.

    >>> answered({"from": 0, "to": 1000}), answered({"lz4": 2, "none": 1200}), answered(7)
    ('0 to 1000', 'lz4 2, none 1 200', '7')
    >>> answered({"places": 0, "missing": 0}), answered({"places": 2, "missing": 30})
    ('none', '30 missing in 2 places')
    """
    if not isinstance(answer, dict):
        return grouped(answer) if isinstance(answer, int) else printable(str(answer))
    if answer.keys() == {"from", "to"}:
        least, most = ("none" if end is None else printable(str(end)) for end in (answer["from"], answer["to"]))
        return least if least == most else f"{least} to {most}"
    if answer.keys() == {"places", "missing"}:
        missing = f"{grouped(answer['missing'])} missing in {counted(answer['places'], 'place')}"
        return missing if answer["places"] else "none"
    return ", ".join(f"{printable(name)} {grouped(count)}" for name, count in answer.items())
