"""Numbers with their nouns, and untrusted text made safe to print, for findings and reports."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import PurePath

SURROGATE = re.compile("[\ud800-\udfff]")
SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Unicode counts as printable but that have no visible shape."""


def grouped(number: int) -> str:
    """A number with its digits in groups of three.

    >>> grouped(1234567)
    '1 234 567'
    """
    return f"{number:,}".replace(",", " ")


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the singular or plural.

    >>> counted(1, "batch"), counted(12000, "frame"), counted(2, "batch"), counted(3, "entry")
    ('1 batch', '12 000 frames', '2 batches', '3 entries')
    """
    return f"{grouped(number)} {noun if number == 1 else plural(noun)}"


def numbered(noun: str, first: int, last: int) -> str:
    """A range of numbered things; the numbers are identifiers, so their digits are not grouped.

    >>> numbered("offset", 3692, 3692), numbered("offset", 3692, 13700)
    ('offset 3692', 'offsets 3692 to 13700')
    """
    return f"{noun} {first}" if first == last else f"{plural(noun)} {first} to {last}"


def plural(noun: str) -> str:
    """The plural of a noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def printable(text: str) -> str:
    r"""Text that cannot move the cursor, change colours or hide the text around it: unprintable characters are escaped.

    These are Unicode's controls (C0, C1), format characters (direction marks, joiners, zero-width spaces), separators
    except the space, private and unassigned characters, surrogates, and characters without a shape, which make
    different names look alike. A byte of a file name that is not UTF-8 shows as a surrogate, as in JSON.

    >>> print(printable("a\x1b[2Jb"), printable("invoice\u202efdp.log"), printable("a\udcff"))
    a\x1b[2Jb invoice\u202efdp.log a\udcff
    """
    if text.isprintable() and (text.isascii() or not SHAPELESS.search(text)):
        return text
    return "".join(letter if is_shown(letter) else _escaped(letter) for letter in text)


def is_shown(letter: str) -> bool:
    """Whether a terminal shows a character, and does nothing else."""
    return letter.isprintable() and not SHAPELESS.match(letter)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def is_utf8(text: str) -> bool:
    r"""Whether text can be encoded as UTF-8; not every file name can.

    >>> is_utf8("naïve.log"), is_utf8("na\udcefve.log")
    (True, False)
    """
    return not SURROGATE.search(text)


def utf8(text: str) -> str:
    r"""Text that can be encoded as UTF-8: surrogates are escaped, the rest is unchanged.

    >>> print(utf8("na\udcefve.log"))
    na\udcefve.log
    """
    return SURROGATE.sub(lambda match: _escaped(match.group()), text)


def raw(name: str) -> bytes:
    r"""The bytes of a name; for a file name, the bytes in the file system.

    >>> raw("na\udcefve.log")
    b'na\xefve.log'
    """
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")  # not a file name


def salvage_hint(name: str) -> str:
    """The command that salvages a file into one beside the reader, of another name and the same extension.

    >>> salvage_hint("/mnt/a.log")
    'thawline salvage /mnt/a.log -o intact-a.log'
    """
    return f"thawline salvage {quoted(name)} -o {quoted(f'intact-{PurePath(name).name}')}"


def quoted(name: str) -> str:
    r"""A file name quoted for a shell, in printable characters only; FILE for a stream, which is to be saved first.

    Unprintable bytes are written as octal escapes, which bash, zsh, ksh and busybox read alike.

    >>> quoted("a b.log"), quoted("<stdin>"), quoted("-x.log")
    ("'a b.log'", 'FILE', './-x.log')
    >>> print(quoted("it's\x1b[31m\udcff.log"))
    $'it\'s\033[31m\377.log'
    """
    if name == "<stdin>":
        return "FILE"  # a stream cannot be read a second time
    place = f"./{name}" if name.startswith("-") else name
    if printable(place) == place:
        return shlex.quote(place)
    return "$'" + "".join(map(_in_quotes, place)) + "'"


def _in_quotes(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    return letter if is_shown(letter) else "".join(f"\\{byte:03o}" for byte in raw(letter))
