"""Numbers, sizes, places and text of unknown origin, the way a person reads them."""

from __future__ import annotations

import shlex

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def grouped(number: int) -> str:
    """A number with its digits in groups of three.

    >>> grouped(1234567)
    '1 234 567'
    """
    return f"{number:,}".replace(",", " ")


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it needs one.

    >>> counted(1, "batch"), counted(12000, "frame"), counted(2, "batch"), counted(3, "entry")
    ('1 batch', '12 000 frames', '2 batches', '3 entries')
    """
    return f"{grouped(number)} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Several of a noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


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
    """A size in bytes, with a rounded one behind it where that helps.

    >>> exact(17), exact(1628)
    ('17 bytes', '1 628 bytes (1.6 KiB)')
    """
    return counted(size, "byte") + (f" ({human(size)})" if size >= 1024 else "")  # noqa: PLR2004


def share(part: int, whole: int) -> str:
    """A part as a percentage, never rounded to nothing or to all.

    >>> share(1, 3), share(1, 10**9), share(10**9 - 1, 10**9)
    ('33.3 %', 'under 0.1 %', 'over 99.9 %')
    """
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 0.1:  # noqa: PLR2004
        return "under 0.1 %"
    return "over 99.9 %" if part < whole and percent > 99.9 else f"{percent:.1f} %"  # noqa: PLR2004


def printable(text: str) -> str:
    r"""Text that cannot move the cursor, change colours or hide its neighbours: what is not printable is escaped.

    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def quoted(name: str) -> str:
    """A file name as a shell wants to read it.

    >>> quoted("a b.log"), quoted("<stdin>")
    ("'a b.log'", '-')
    """
    return "-" if name == "<stdin>" else printable(shlex.quote(name))
