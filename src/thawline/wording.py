"""Numbers with their nouns and text of unknown origin, the way a person reads them in findings and in reports."""

from __future__ import annotations

import os
import re
import shlex

SURROGATE = re.compile("[\ud800-\udfff]")
SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that Unicode counts as printable and that show nothing."""


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

    That is all of Unicode's controls (C0, C1), formats (marks that turn the direction of writing, joiners and spaces
    of no width), separators but the space, private and unassigned characters, surrogates, and letters without a
    shape, by which two names would look alike. A byte of a file name that is no UTF-8 is a surrogate, as in JSON.

    >>> print(printable("a\x1b[2Jb"), printable("invoice\u202efdp.log"), printable("a\udcff"))
    a\x1b[2Jb invoice\u202efdp.log a\udcff
    """
    if text.isprintable() and (text.isascii() or not SHAPELESS.search(text)):
        return text
    return "".join(letter if is_shown(letter) else _escaped(letter) for letter in text)


def is_shown(letter: str) -> bool:
    """Whether a terminal shows a letter, and nothing but it."""
    return letter.isprintable() and not SHAPELESS.match(letter)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def is_utf8(text: str) -> bool:
    r"""Whether text can be written as UTF-8; the name of a file need not.

    >>> is_utf8("naïve.log"), is_utf8("na\udcefve.log")
    (True, False)
    """
    return not SURROGATE.search(text)


def utf8(text: str) -> str:
    r"""Text that can be written as UTF-8: surrogates are escaped, all else is as it was.

    >>> print(utf8("na\udcefve.log"))
    na\udcefve.log
    """
    return SURROGATE.sub(lambda found: _escaped(found.group()), text)


def raw(name: str) -> bytes:
    r"""The bytes of a name: those that the file system has, where it is one of a file.

    >>> raw("na\udcefve.log")
    b'na\xefve.log'
    """
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")  # no name of a file


def quoted(name: str) -> str:
    r"""A file name as a shell wants to read it: what it stands for is that name, and it shows nothing else.

    Bytes that cannot be shown are written in octal digits, which bash, zsh, ksh and busybox read alike.

    >>> quoted("a b.log"), quoted("<stdin>"), quoted("-x.log")
    ("'a b.log'", '-', './-x.log')
    >>> print(quoted("it's\x1b[31m\udcff.log"))
    $'it\'s\033[31m\377.log'
    """
    if name == "<stdin>":
        return "-"
    place = f"./{name}" if name.startswith("-") else name
    if printable(place) == place:
        return shlex.quote(place)
    return "$'" + "".join(map(_in_quotes, place)) + "'"


def _in_quotes(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    return letter if is_shown(letter) else "".join(f"\\{byte:03o}" for byte in raw(letter))
