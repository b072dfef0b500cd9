"""The bytes of an Aerospike backup, line by line, with the names of the format document.

The document calls the format text-based, but values have a length and may contain any byte, also line feeds.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from construct import (
    Array,
    BitsInteger,
    Bitwise,
    Bytes,
    Const,
    Construct,
    ExprAdapter,
    FocusedSeq,
    GreedyBytes,
    IfThenElse,
    Int8ub,
    Int64ul,
    Mapping,
    NullTerminated,
    Optional,
    Pass,
    Prefixed,
    PrefixedArray,
    Struct,
    Switch,
    this,
)

SP = b" "
LF = b"\n"


class Escape(Construct):  # type: ignore[misc]
    """A token with a backslash before each space, line feed and backslash, and `terminator` after it."""

    def __init__(self, terminator: bytes) -> None:
        super().__init__()
        self.terminator = terminator

    def _parse(self, stream: BytesIO, context: Any, path: str) -> bytes:  # noqa: ARG002 - construct calls it so
        return b"".join(self._unescaped(stream))

    def _unescaped(self, stream: BytesIO) -> Iterator[bytes]:
        while (byte := stream.read(1)) not in {self.terminator, b""}:
            yield stream.read(1) if byte == b"\\" else byte

    def _build(self, obj: bytes, stream: BytesIO, context: Any, path: str) -> bytes:  # noqa: ARG002 - as above
        stream.write(escaped(obj) + self.terminator)
        return obj


def escaped(token: bytes) -> bytes:
    """Return the token as the tools write it, without its terminator."""
    for special in (b"\\", SP, LF):
        token = token.replace(special, b"\\" + special)
    return token


def _text(terminator: bytes) -> Construct:
    return NullTerminated(GreedyBytes, term=terminator)


def _decimal(terminator: bytes) -> Construct:
    return ExprAdapter(_text(terminator), lambda text, _: int(text), lambda number, _: b"%d" % number)


def _base64(of: Construct) -> Construct:
    return ExprAdapter(of, lambda text, _: b64decode(text), lambda data, _: b64encode(data))


WORD = Escape(SP)
LINE = Escape(LF)
DECIMAL_LINE = _decimal(LF)
SIZED = FocusedSeq("data", "data" / Prefixed(_decimal(SP), GreedyBytes), Const(LF))
BYTES = IfThenElse(this.compact, SIZED, _base64(SIZED))
BOOL_VALUE = Mapping(_text(LF), {True: b"T", False: b"F"})
COMPACT_MARK = ExprAdapter(_text(SP), lambda text, _: text == b"!", lambda compact, _: b"!" if compact else b"")
CONTEXT = ExprAdapter(
    _text(LF),
    lambda text, _: b64decode(text[1:]) if text else None,
    lambda context, _: b"" if context is None else SP + b64encode(context),
)

HEADER = Struct(Const(b"Version "), "version" / Bytes(3), Const(LF))

META_NAMESPACE = Struct(Const(b"# namespace "), "namespace" / LINE)
META_FIRST_FILE = Struct(Const(b"# first-file"), Const(LF))

INDEX = Struct(
    Const(b"* "),
    "kind" / Bytes(1),
    Const(SP),
    "namespace" / WORD,
    "set" / WORD,
    "name" / WORD,
    "index-type" / Bytes(1),
    Const(b" 1 "),
    "path" / WORD,
    "data-type" / Bytes(1),
    "context" / CONTEXT,
)
UDF = Struct(Const(b"* u "), "type" / Const(b"L"), Const(SP), "name" / WORD, "content" / SIZED)

# The document has no X (base-64 text) and no G (GeoJSON); both tools read them.
KEY = Struct(
    Const(b"+ k "),
    "type" / Bytes(1),
    "compact" / COMPACT_MARK,
    "value" / Switch(this.type, {b"I": DECIMAL_LINE, b"D": _text(LF), b"S": SIZED, b"X": _base64(SIZED), b"B": BYTES}),
)
BIN = Struct(
    Const(b"- "),
    "type" / Bytes(1),
    "compact" / COMPACT_MARK,
    "bin-name" / IfThenElse(this.type == b"N", LINE, WORD),
    "value"
    / Switch(
        this.type,
        {
            b"N": Pass,
            b"Z": BOOL_VALUE,
            b"I": DECIMAL_LINE,
            b"D": _text(LF),
            b"S": SIZED,
            b"G": SIZED,
            b"X": _base64(SIZED),
        },
        default=BYTES,
    ),
)
RECORD = Struct(
    "key" / Optional(KEY),
    Const(b"+ n "),
    "namespace" / LINE,
    Const(b"+ d "),
    "digest" / _base64(_text(LF)),
    "set" / Optional(FocusedSeq("set", Const(b"+ s "), "set" / LINE)),
    Const(b"+ g "),
    "gen-count" / DECIMAL_LINE,
    Const(b"+ t "),
    "expiration" / DECIMAL_LINE,
    Const(b"+ b "),
    "bins" / PrefixedArray(DECIMAL_LINE, BIN),
)

# particle_hll.c of aerospike-server: what a Y bin holds. The cache is in the server's byte order.
HLL = Struct(
    "flags" / Const(0, Int8ub),
    "n_index_bits" / Int8ub,
    "n_minhash_bits" / Int8ub,
    "cache" / Int64ul,
    "registers" / Bitwise(Array(lambda hll: 1 << hll.n_index_bits, BitsInteger(lambda hll: 6 + hll.n_minhash_bits))),
)
