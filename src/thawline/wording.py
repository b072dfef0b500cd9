"""Numbers with their nouns and text of unknown origin, the way a person reads them in findings and in reports."""

from __future__ import annotations

import shlex


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


def numbered(noun: str, first: int, last: int) -> str:
    """Things that have numbers, which are names and so are written as they are.

    >>> numbered("offset", 3692, 3692), numbered("offset", 3692, 13700)
    ('offset 3692', 'offsets 3692 to 13700')
    """
    return f"{noun} {first}" if first == last else f"{plural(noun)} {first} to {last}"


def plural(noun: str) -> str:
    """Several of a noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


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
