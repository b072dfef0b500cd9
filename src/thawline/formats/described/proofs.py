"""Checksums that a spec declares, computed over whole columns.

    instances:
      checksum_input:
        -overlay: true
        -columnar:
          checksum: crc32c
          mask: 0xa282ead8
        pos: 0
        size-eos: true

says that the field `checksum` beside it is the checksum of these bytes; `stored: _parent.checksum` names another one.
`-overlay` marks bytes that are fields, too: they are no column.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.checksums import blake3
from thawline.crc16 import CRC16, crc16
from thawline.errors import MissingExtra
from thawline.formats.described.paths import ITEM, Path, values
from thawline.ksy.attributes import COVERED, Attribute, Section, attributes_of
from thawline.ksy.documents import Spec, SpecError, TypeDef, types_of
from thawline.ksy.names import find_type

Xxhash = Literal["xxh32", "xxh64", "xxh3_64"]
XXHASHES: tuple[Xxhash, ...] = ("xxh32", "xxh64", "xxh3_64")
DIGESTS = frozenset({"sha256", "blake3"})
"""Stored as bytes; the others are numbers."""
RANGES = ("crc32", "crc32c")
"""Computed by native code for a column at once."""
WORD, ROTATED = 32, 15
LOW = (1 << WORD) - 1
SECTIONS: tuple[Section, ...] = ("seq", "instances")
KEYS = {"checksum", "mask", "stored"}
MOST_PLACES = 10_000
"""Structures in which what is marked may stand."""
SIZED = {"size", "size-eos", "terminator"}
FROM_FILE = (
    "this position counts from the start of the file, not of the unit; move the instance into a structure "
    "that has a `size`, where positions count from its start"
)


def _xxhash(name: Xxhash) -> Callable[[bytes], int]:
    def compute(data: bytes) -> int:
        try:
            import xxhash  # noqa: PLC0415 - it is optional
        except ImportError:
            raise MissingExtra(f"{name} needs the package xxhash: `pip install 'thawline[spec]'`") from None
        return int(getattr(xxhash, f"{name}_intdigest")(data))

    return compute


ALGORITHMS: Mapping[str, Callable[[bytes], int | bytes]] = {
    "adler32": zlib.adler32,
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "blake3": blake3,
    **{f"crc16-{name}": partial(crc16, name=name) for name in CRC16},
    **{name: _xxhash(name) for name in XXHASHES},
}
"""How each of the other checksums is computed, of one value."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A checksum of a unit, or of each item of a list in it."""

    stored: Path
    covered: Path
    algorithm: str
    mask: int | None
    """What is added after a rotation, as LevelDB, Snappy and TensorFlow store CRCs."""
    place: str
    """The instance that declares it, such as `/types/body/instances/checksum_input`."""

    def wrong(self, rows: pa.StructArray) -> pa.Int64Array:
        """The indices of the rows that have a wrong checksum, in order; an item counts for its row."""
        covered, owners = values(rows, self.covered)
        stored, _ = values(rows, self.stored)
        if pa.types.is_integer(stored.type):
            stored = _unsigned(stored)
        computed = self._computed(pc.cast(covered, pa.large_binary()), stored.type)
        differs = pc.fill_null(pc.not_equal(stored, computed), fill_value=False)
        return pc.unique(owners.filter(differs))

    def _computed(self, covered: pa.LargeBinaryArray, type_: pa.DataType) -> pa.Array:
        if self.algorithm in RANGES:
            return self._masked(_ranges(self.algorithm, covered))
        compute = ALGORITHMS[self.algorithm]
        made = [None if value is None else compute(value) for value in covered.to_pylist()]
        if type_ == pa.int64():
            made = [None if number is None else _signed(number) for number in made]
        return pa.array(made, type_)

    def _masked(self, crcs: pa.Int64Array) -> pa.Int64Array:
        if self.mask is None:
            return crcs
        right = pc.shift_right(crcs, ROTATED)
        left = pc.bit_wise_and(pc.shift_left(crcs, WORD - ROTATED), LOW)
        return pc.bit_wise_and(pc.add(pc.bit_wise_or(right, left), self.mask), LOW)


def _unsigned(stored: pa.Array) -> pa.Int64Array:
    """The bits of numbers; those of 64 bits as Arrow's int64 has them."""
    numbers = pc.cast(stored, pa.int64(), safe=False)
    bits = stored.type.bit_width
    return numbers if bits > WORD else pc.bit_wise_and(numbers, (1 << bits) - 1)


def _signed(number: int | bytes) -> int | bytes:
    """A number of 64 bits as Arrow's int64 has it."""
    is_high = isinstance(number, int) and number >> 63
    return number - (1 << 64) if is_high and isinstance(number, int) else number


def _ranges(algorithm: str, covered: pa.LargeBinaryArray) -> pa.Int64Array:
    """The CRC of each value, by one native call."""
    rows = len(covered)
    _, offsets, data = covered.buffers()
    places = memoryview(offsets).cast("q")[covered.offset : covered.offset + rows + 1]
    computed = array("q", bytes(8 * rows))
    compute = getattr(native.functions, f"{algorithm}_ranges")
    compute(memoryview(data or b"").cast("B"), places[:rows], places[1:], rows, memoryview(computed))
    return pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(computed)])


def proofs_of(root: TypeDef, specs: Mapping[str, Spec]) -> tuple[Proof, ...]:
    """The checksums of a unit of this type, in the order of the spec; `SpecError` at one that makes no sense."""
    return tuple(_proofs(root, specs, (), (root.title,)))


def hidden_of(root: TypeDef, specs: Mapping[str, Spec]) -> frozenset[Path]:
    """The columns that are no columns for users: instances marked `-overlay`."""
    return frozenset(
        (*path, attribute.name)
        for type_, path in _types(root, specs, (), (root.title,))
        for attribute in attributes_of(type_, "instances")
        if attribute.data.get("-overlay")
    )


def check_positions(root: TypeDef, specs: Mapping[str, Spec], *, is_root: bool) -> None:
    """Refuse positions that would count from the start of the file where those of a unit are meant.

    A unit shares the stream of the file. What lies in a field with a size has a stream of its own.
    """
    waiting, seen = [(root, False)], {(root.title, False)}
    while waiting:
        type_, is_own = waiting.pop()
        for attribute in () if is_own else attributes_of(type_, "instances"):
            is_meant = is_root or _is_proof(attribute)
            if is_meant and isinstance(attribute.data.get("pos"), int) and "io" not in attribute.data:
                raise attribute.owner.spec.error((*attribute.keys, "pos"), FROM_FILE)
        for attribute, inner in _inner(type_, specs):
            has_stream = is_own or bool(attribute.data.keys() & SIZED)
            if (inner.title, has_stream) not in seen:
                seen.add((inner.title, has_stream))
                waiting.append((inner, has_stream))


def _proofs(root: TypeDef, specs: Mapping[str, Spec], path: Path, chain: tuple[str, ...]) -> Iterator[Proof]:
    for type_, above in _types(root, specs, path, chain):
        for attribute in attributes_of(type_, "instances"):
            if _is_proof(attribute):
                yield _proof(attribute, above, attribute.data["-columnar"])


def unproven_places(proofs: tuple[Proof, ...], spec: Spec) -> Iterator[str]:
    """Where the spec declares a checksum that is checked nowhere: no unit has it, or only by a switch."""
    known = {proof.place for proof in proofs}
    for type_ in types_of(spec):
        for attribute in attributes_of(type_, "instances"):
            if _is_proof(attribute) and _place(attribute) not in known:
                yield spec.place(attribute.keys)


def _types(
    type_: TypeDef, specs: Mapping[str, Spec], path: Path, chain: tuple[str, ...], wanted: frozenset[str] | None = None
) -> Iterator[tuple[TypeDef, Path]]:
    """A type and those of its fields that lead to what is marked, with the path of the columns to each.

    Structures that stand in one another in very many ways are refused: a hostile spec has exponentially many.
    """
    wanted = _leading_to_marks(type_, specs) if wanted is None else wanted
    yield type_, path
    for attribute, inner in _inner(type_, specs):
        if inner.title in wanted and inner.title not in chain:
            below = (*path, attribute.name, *((ITEM,) if "repeat" in attribute.data else ()))
            found = _types(inner, specs, below, (*chain, inner.title), wanted)
            for count, item in enumerate(found):
                if count > MOST_PLACES:
                    raise _error(attribute, "what is marked stands in too many places")
                yield item


def _inner(type_: TypeDef, specs: Mapping[str, Spec]) -> Iterator[tuple[Attribute, TypeDef]]:
    """The fields of a type that are structures, with their types."""
    for section in SECTIONS:
        for attribute in attributes_of(type_, section):
            name = attribute.data.get("type")
            inner = find_type(name.partition("(")[0], type_, specs) if isinstance(name, str) else None
            if inner:
                yield attribute, inner


def _leading_to_marks(root: TypeDef, specs: Mapping[str, Spec]) -> frozenset[str]:
    """The types that have a checksum or an overlay, or a field that leads to one."""
    outer: dict[str, set[str]] = {root.title: set()}
    waiting, found = [root], list[str]()
    while waiting:
        type_ = waiting.pop()
        if any(_is_proof(it) or it.data.get("-overlay") for it in attributes_of(type_, "instances")):
            found.append(type_.title)
        for _, inner in _inner(type_, specs):
            if inner.title not in outer:
                waiting.append(inner)
            outer.setdefault(inner.title, set()).add(type_.title)
    seen = set(found)
    while found:
        more = outer[found.pop()] - seen
        seen |= more
        found += more
    return frozenset(seen)


def _is_proof(attribute: Attribute) -> bool:
    hints = attribute.data.get("-columnar")
    return isinstance(hints, dict) and "checksum" in hints


def _place(attribute: Attribute) -> str:
    return "".join(f"/{key}" for key in attribute.keys)


def _proof(attribute: Attribute, above: Path, hints: Mapping[str, Any]) -> Proof:
    name, mask = str(hints["checksum"]), hints.get("mask")
    if unknown := sorted(hints.keys() - KEYS):
        raise _error(attribute, f"{unknown[0]!r} says nothing about a checksum; {', '.join(sorted(KEYS))} do")
    if name not in (*RANGES, *ALGORITHMS):
        raise _error(attribute, f"there is no checksum {name!r}; there are {', '.join((*RANGES, *ALGORITHMS))}")
    if mask is not None and (type(mask) is not int or name not in RANGES or not 0 <= mask <= LOW):
        raise _error(attribute, "a mask is a number of 32 bits, for crc32 and crc32c")
    stored = str(hints.get("stored") or attribute.name.removesuffix(COVERED))
    return Proof(_stored(attribute, above, stored), (*above, attribute.name), name, mask, _place(attribute))


def _stored(attribute: Attribute, above: Path, stored: str) -> Path:
    """The column of the field that a checksum is stored in: a field beside it, or of the structure around it."""
    while stored.startswith("_parent."):
        if not above or above[-1] == ITEM:
            raise _error(attribute, "a checksum is stored beside what it covers, or in the structure around that")
        above, stored = above[:-1], stored.removeprefix("_parent.")
    if not above and stored == attribute.name:
        raise _error(attribute, f"name it for the field that it proves: <field>{COVERED}, or say `stored: <field>`")
    return (*above, *stored.split("."))


def _error(attribute: Attribute, message: str) -> SpecError:
    return attribute.owner.spec.error((*attribute.keys, "-columnar"), message)
