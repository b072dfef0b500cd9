"""Rules with provenance: what one tool of a format's owner refuses and another reads, as a spec's `-refused-by` has it.

`make generate` writes them to `generated/kernels/tolerant.py`, with readers that apply them. Which tool refuses an
entry, the code of the finding and its words follow from the rule.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar, Protocol

from thawline.wording import counted

LONGEST_SHOWN = 32
"""Bytes of a text that a message shows: enough to recognise it."""
ESCAPE = re.compile(rb"\\(.)", re.DOTALL)

Value = bytes | int


class Condition(Protocol):
    """When a rule objects: to how a value is written, or to the value itself."""

    lasts: ClassVar[bool]
    """Whether it objects to the value itself, however that is written."""

    def holds(self, written: bytes, value: Value) -> bool:
        """Whether the rule objects to a value, given also as it is written."""
        ...


@dataclass(frozen=True, slots=True)
class LongerThan:
    """A value of more bytes."""

    limit: int
    lasts: ClassVar[bool] = True

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether the value has more bytes."""
        return isinstance(value, bytes) and len(value) > self.limit


@dataclass(frozen=True, slots=True)
class WrittenLongerThan:
    """More bytes as written, with escapes. Whether that lasts depends on how the value is written anew."""

    limit: int
    lasts: ClassVar[bool] = False

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether more bytes are written."""
        return len(written) > self.limit


@dataclass(frozen=True, slots=True)
class Holding:
    """A value with a byte in it."""

    byte: int
    lasts: ClassVar[bool] = True

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether the byte is in the value."""
        return isinstance(value, bytes) and self.byte in value


@dataclass(frozen=True, slots=True)
class Outside:
    """A number less than the least, or greater than the most."""

    least: int
    most: int
    lasts: ClassVar[bool] = True

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether the number is outside."""
        return isinstance(value, int) and not self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class OfSize:
    """A value that decodes to a given number of bytes."""

    size: int
    lasts: ClassVar[bool] = False

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether it decodes to this number of bytes."""
        return isinstance(value, bytes) and len(value) == self.size


@dataclass(frozen=True, slots=True)
class Written:
    """Text that is spelled like this, or, negated, otherwise. With escapes, the tool sees it without backslashes."""

    pattern: re.Pattern[bytes]
    has_escapes: bool = False
    is_negated: bool = False
    lasts: ClassVar[bool] = False

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether all of the text, as the tool sees it, matches or does not."""
        seen = unescaped(written) if self.has_escapes else written
        return (self.pattern.fullmatch(seen) is None) is self.is_negated


@dataclass(frozen=True, slots=True)
class OverflowingDouble:
    """A finite number that is infinite as a double."""

    lasts: ClassVar[bool] = False

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Whether the text is such a number."""
        try:
            return math.isinf(number_of(written)) and b"n" not in written.lower()
        except OverflowError:
            return True
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class InVersion:
    """A unit in a file of some versions."""

    versions: tuple[str, ...]
    lasts: ClassVar[bool] = True

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Always: the reader has asked."""
        return True


@dataclass(frozen=True, slots=True)
class InCase:
    """A spelling that the reader recognises by the fields before."""

    lasts: ClassVar[bool] = False

    def holds(self, written: bytes, value: Value) -> bool:  # noqa: ARG002 - as of all conditions
        """Always: the reader has asked."""
        return True


@dataclass(frozen=True, slots=True)
class Rule:
    """What some tools refuse or misread. If all tools of the format do, it is damage."""

    tools: tuple[str, ...]
    condition: Condition
    because: str
    """Words for the finding, with places for `what`, `bytes`, `written`, `shown`, `text`, `value` and `limit`."""
    is_damage: bool = False
    """Whether no tool reads the value as it was written."""
    is_tolerated: bool = False
    """Whether the value counts as intact all the same."""

    def objects(self, written: bytes, value: Value) -> bool:
        """Whether it objects to a value."""
        return self.condition.holds(written, value)

    def reason(self, what: str, written: bytes, value: Value) -> str:
        """The words for a value that is called `what`."""
        size = counted(len(value), "byte") if isinstance(value, bytes) else ""
        limit = getattr(self.condition, "limit", "")
        long, text = counted(len(written), "byte"), written.decode("ascii", "replace")
        return self.because.format(
            what=what, bytes=size, written=long, shown=shown(written), text=text, value=value, limit=limit
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that reads a format, and the codes of findings about what only this tool refuses."""

    name: str
    code: str
    warning: str
    """The code that takes its place in a lenient reading."""
    heirs: str = ""
    """Tools that are built on it."""


def unescaped(raw: bytes) -> bytes:
    """Bytes without escapes. Most have none, and that test is quicker."""
    return ESCAPE.sub(rb"\1", raw) if b"\\" in raw else raw


def number_of(text: bytes) -> float:
    """The double that a text of C or Go means; `ValueError` or `OverflowError` if it means none.

    >>> number_of(b"0x1p3"), number_of(b"1_0.5")
    (8.0, 10.5)
    """
    plain = text.replace(b"_", b"").decode("ascii")
    return float.fromhex(plain) if "x" in plain.lower() else float(plain)


def shown(raw: bytes) -> str:
    r"""Bytes for a message, shortened if they are long.

    >>> shown(b"a\n")
    "'a\\n'"
    """
    return repr(raw[:LONGEST_SHOWN])[1:] + ("..." if len(raw) > LONGEST_SHOWN else "")
