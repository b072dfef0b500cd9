"""The intermediate form of a kernel: statements over 64-bit integers, with every check explicit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from thawline.engine.tables import Checksum, Column, Failure

ValueType = Literal["int", "bool"]

LEAST, MOST = -(1 << 63), (1 << 63) - 1
FARTHEST = 1 << 62
"""The largest position, so that the sum of two of them fits 64 bits."""
LONGEST = (1 << 31) - 1
"""Arrow counts the bytes of a binary column, and the items of a list, with 32 bits."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A known value."""

    value: int
    type: ValueType = "int"


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable of the kernel, and the numbers it can be."""

    name: str
    type: ValueType = "int"
    low: int = field(default=LEAST, compare=False)
    high: int = field(default=MOST, compare=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator over values: arithmetic, comparison, `and`, `or`, `not`, or `?` for if-then-else."""

    operator: str
    operands: tuple[Value, ...]
    type: ValueType


Value = Constant | Variable | Operation

POSITION = Variable("pos", low=0, high=FARTHEST)
END = Variable("end", low=0, high=FARTHEST)
"""The current position, and the end of the range that rows are read from."""
START = Variable("start", low=0, high=FARTHEST)
"""Where the row or the unit starts."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Where stores go: the kernel's own rows, or the items of a list column."""

    path: tuple[str, ...] = ()

    @property
    def counter(self) -> str:
        """The variable that counts the rows."""
        return "__".join(("rows", *self.path)) if self.path else "row"


@dataclass(frozen=True, slots=True)
class ReadInteger:
    """A fixed-size integer."""

    target: Variable
    size: int
    is_signed: bool
    is_big_endian: bool
    failure: Failure
    end: Value


@dataclass(frozen=True, slots=True)
class ReadBits:
    """The bytes of a bit field; with `goes_on`, after those of the fields that share a byte with it."""

    target: Variable
    size: int
    goes_on: bool
    failure: Failure
    end: Value


@dataclass(frozen=True, slots=True)
class Expect:
    """Bytes that are required here."""

    contents: bytes
    too_short: Failure
    failure: Failure
    end: Value


@dataclass(frozen=True, slots=True)
class Take:
    """`length` bytes, at least `least`; `start` becomes their position."""

    start: Variable
    length: Value
    failure: Failure
    end: Value
    least: int = 0


@dataclass(frozen=True, slots=True)
class TakeUntil:
    """Bytes up to a terminator, which is skipped; with `escapes`, a backslash makes the next byte literal.

    `escapes` becomes 1 if there is such a backslash.
    """

    start: Variable
    length: Variable
    terminator: Value
    escapes: Variable | None
    failure: Failure
    end: Value


@dataclass(frozen=True, slots=True)
class ReadZigzag:
    """A zigzag varint of at most 32 or 64 bits, which starts at `at`."""

    target: Variable
    at: Variable
    bits: int
    failure: Failure
    end: Value


@dataclass(frozen=True, slots=True)
class ReadDecimal:
    """ASCII digits with an optional minus, up to a terminator, which is skipped; they start at `at`."""

    target: Variable
    at: Variable
    terminator: int
    failure: Failure
    end: Value


@dataclass(frozen=True, slots=True)
class Assign:
    """A value given a name."""

    target: Variable
    value: Value


@dataclass(frozen=True, slots=True)
class Check:
    """A rule. If it does not hold, the row fails at byte `at`."""

    condition: Value
    failure: Failure
    at: Value


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Statements that read `offset` bytes after `base`; then reading continues where it was."""

    offset: Value
    saved: Variable
    failure: Failure
    base: Value
    end: Value
    body: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stream:
    """Statements that read within the bytes of `take`; bytes that they leave are skipped."""

    take: Take
    end: Variable
    body: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class When:
    """Statements that run if the condition holds, and those that run otherwise."""

    condition: Value
    body: list[Statement] = field(default_factory=list)
    otherwise: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Loop:
    """Statements that are repeated `count` times; with `rows`, each turn gives an item of that list."""

    count: Value
    turn: Variable
    rows: Rows | None
    body: list[Statement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Store:
    """Store a value in the current row of a column; `part` is the array of the column."""

    rows: Rows
    column: str
    part: str
    value: Value


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy bytes of a fixed size to the current row of a column."""

    rows: Rows
    column: str
    start: Variable
    size: int


@dataclass(frozen=True, slots=True)
class Gather:
    """Append bytes to a column that is gathered while its rows are read."""

    rows: Rows
    column: str
    start: Variable | None
    """None if the row has no value."""
    length: Value
    nullable: bool


Statement = (
    ReadInteger | ReadBits | Expect | Take | TakeUntil | ReadZigzag | ReadDecimal
    | Assign | Check | Elsewhere | Stream | When | Loop | Store | Copy | Gather
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kernel:
    """A table's kernel: what one row reads, checks and stores."""

    table: str
    spec: str
    body: list[Statement]
    columns: tuple[Column, ...]
    checksum: Checksum | None
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The bytes that a unit's checksum covers, and the checksum that it stores."""

    algorithm: Literal["crc32", "crc32c"]
    start: Value
    end: Value
    stored: Variable


@dataclass(frozen=True, slots=True)
class Probe:
    """The search for units of a type: what one reads and checks, what marks it, and what proves it."""

    name: str
    spec: str
    body: list[Statement]
    variables: tuple[str, ...]
    marks: tuple[bytes, ...]
    """The bytes that mark a unit, or what these may be; empty if any position is a candidate."""
    offset: int
    """Bytes of a unit before its mark; negative where the mark starts before the unit."""
    alignment: int = 1
    proof: Proof | None = None
    rising: Variable | None = None
    """What rises from unit to unit; the search has bounds for it."""
    units: tuple[Probe, ...] = ()
    """The probes of which one has to find a unit; such a probe has no body of its own."""


def at_fixed_places(body: list[Statement], first: int = 0) -> Iterator[tuple[int, ReadInteger | ReadBits | Expect]]:
    """Integers and contents that are at the same distance from the start in every unit, with that distance."""
    at = first
    for statement in body:
        match statement:
            case ReadInteger() | ReadBits():
                yield at, statement
                at += statement.size
            case Expect():
                yield at, statement
                at += len(statement.contents)
            case Take(length=Constant(size)):
                at += size
            case Stream():
                yield from at_fixed_places(statement.body, at)
                if not isinstance(statement.take.length, Constant):
                    return
                at += statement.take.length.value
            case Assign() | Check():
                pass
            case _:
                return


def compare(operator: str, left: Value, right: Value) -> Value:
    """A comparison of two values."""
    return Operation(operator, (left, right), "bool")


def minus(left: Value, right: Value) -> Value:
    """The difference of two positions."""
    return Operation("-", (left, right), "int")


def plus(left: Value, right: Value) -> Value:
    """A position plus a distance."""
    return Operation("+", (left, right), "int")


def every(*conditions: Value) -> Value:
    """Whether all conditions hold."""
    return Operation("and", conditions, "bool")


def some(*conditions: Value) -> Value:
    """Whether one of the conditions holds."""
    return Operation("or", conditions, "bool") if conditions else Constant(0, "bool")


def least_size(body: list[Statement]) -> int:
    """The least number of bytes that statements read."""
    return sum(_least(statement) for statement in body)


def _least(statement: Statement) -> int:
    match statement:
        case ReadInteger() | ReadBits():
            return statement.size
        case Expect():
            return len(statement.contents)
        case Take():
            return statement.least
        case Stream():
            return max(statement.take.least, least_size(statement.body))
        case TakeUntil() | ReadZigzag():
            return 1
        case ReadDecimal():
            return 2
    return 0
