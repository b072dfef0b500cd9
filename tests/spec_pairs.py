"""Small changes of a spec, and what has to be said about each."""

from __future__ import annotations

from dataclasses import dataclass

from thawline.review.model import Verdict

BREAKING, STRICTER, LOOSER = Verdict.BREAKING, Verdict.STRICTER, Verdict.LOOSER
EXTENSION, API, ADDITION = Verdict.EXTENSION, Verdict.API, Verdict.ADDITION
DOCUMENTATION, RECOVERY = Verdict.DOCUMENTATION, Verdict.RECOVERY
IMPORTERS = True
"""Importers of the parsers have to change, too."""

A, B, C = "- {id: a, type: u4}", "- {id: b, type: u2}", "- {id: c, type: u4}"


def seq(*fields: str) -> str:
    return "seq:\n" + "".join(f"  {field}\n" for field in fields)


@dataclass(frozen=IMPORTERS)
class Pair:
    """A change of a spec, and what has to be said about it."""

    name: str
    before: str
    after: str
    kind: str
    verdict: Verdict
    breaks_api: bool = False
    meta: tuple[str, str] = ("endian: le", "endian: le")


def field(keys: str) -> str:
    return seq("- {id: n, type: u4}", f"- {{id: a, {keys}}}")


def enum(members: str, rule: str = "valid: {in-enum: true}, ") -> str:
    return seq(f"- {{id: a, type: u1, {rule}enum: kind}}") + f"enums:\n  kind: {{{members}}}\n"


def instance(keys: str, fields: str = "") -> str:
    return seq(A, *([fields] if fields else [])) + f"instances:\n  x: {{{keys}}}\n"


def nested(inner: str, use: str = "size: 8, type: t") -> str:
    return seq(f"- {{id: a, {use}}}") + f"types:\n  t:\n    seq: [{inner}]\n"


def switch(cases: str) -> str:
    types = "types:\n  x:\n    seq: [{id: p, type: u1}]\n  y:\n    seq: [{id: q, type: u2}]\n"
    return f"seq:\n  - {{id: n, type: u1}}\n  - {{id: a, size: 4, type: {{switch-on: n, cases: {{{cases}}}}}}}\n{types}"


def ruled(rule: str) -> str:
    return field(f"size: n, -refused-by: [{{{rule}}}]")


def tooled(code: str) -> str:
    return f"-tools: {{x: {{{code}, warning: W1}}}}\n{seq(A)}"


LENGTH = "tool: x, longer-than: 9, because: it is too long"
RANGE = "tool: x, outside: [1, 9], because: it is too large"
SPELLING = "tool: x, written: 'a+', because: it is odd"
MARKED = seq("- {id: a, contents: MARK}", "- {id: b, type: u1, valid: 7}")
BOTH = "types:\n  s: {{seq: [{{id: p, type: {}}}]}}\n  t: {{seq: [{{id: p, type: {}}}]}}\n"

PAIRS = [
    # Recovery.
    Pair(
        "what units are found by",
        "-sync: {magic: a}\n" + MARKED,
        "-sync: {magic: a, align: 4}\n" + MARKED,
        "sync",
        RECOVERY,
    ),
    Pair("units found without a rule", MARKED, "-sync: {magic: a, plausible: [b]}\n" + MARKED, "sync", RECOVERY),
    # Rules of tools.
    Pair("a tool that reads less", ruled(LENGTH), ruled(LENGTH.replace("9", "5")), "refusal", STRICTER),
    Pair("a tool that reads more", ruled(LENGTH), ruled(LENGTH.replace("9", "12")), "refusal", LOOSER),
    Pair("a tool that refuses something", field("size: n"), ruled(LENGTH), "refusal", STRICTER),
    Pair("a tool that refuses nothing", ruled(LENGTH), field("size: n"), "refusal", LOOSER),
    Pair("another tool", ruled(LENGTH), ruled(LENGTH.replace("tool: x", "tool: y")), "refusal", API, IMPORTERS),
    Pair("no tool at all", ruled(LENGTH), ruled(LENGTH.replace("tool: x", "tool: [x, y]")), "refusal", STRICTER),
    Pair("a tool that misreads", ruled(LENGTH), ruled(f"{LENGTH}, misread-by: y"), "refusal", STRICTER),
    Pair("a smaller range", ruled(RANGE), ruled(RANGE.replace("9", "5")), "refusal", STRICTER),
    Pair("a larger range", ruled(RANGE), ruled(RANGE.replace("9", "12")), "refusal", LOOSER),
    Pair("another range", ruled(RANGE), ruled(RANGE.replace("1, 9", "0, 5")), "refusal", STRICTER),
    Pair("another spelling", ruled(SPELLING), ruled(SPELLING.replace("a+", "a*")), "refusal", STRICTER),
    Pair("a spelling that is tolerated", field("size: n"), ruled(f"{SPELLING}, tolerated: true"), "refusal", LOOSER),
    Pair("other words", ruled(LENGTH), ruled(LENGTH.replace("it is", "this is")), "refusal", DOCUMENTATION),
    Pair("another noun", field("size: n, -called: size"), field("size: n, -called: room"), "refusal", DOCUMENTATION),
    Pair("another range with a column", field("size: n, -range: [0, 1]"), field("size: n"), "refusal", RECOVERY),
    Pair("another code", tooled("code: A1"), tooled("code: A2"), "tools", API, IMPORTERS),
    # Names.
    Pair("rename of a field", seq(A, B, C), seq(A, "- {id: z, type: u2}", C), "renamed", API, IMPORTERS),
    Pair(
        "rename of a length that is used",
        seq("- {id: len_a, type: u4}", "- {id: x, size: len_a}"),
        seq("- {id: len_b, type: u4}", "- {id: x, size: len_b}"),
        "renamed",
        API,
        IMPORTERS,
    ),
    Pair(
        "rename of an instance",
        instance("value: a + 1"),
        instance("value: a + 1").replace("x:", "y:"),
        "renamed",
        API,
        IMPORTERS,
    ),
    Pair(
        "rename of a type",
        nested("{id: p, type: u4}"),
        nested("{id: p, type: u4}").replace("t:\n    ", "s:\n    ").replace("type: t", "type: s"),
        "renamed",
        API,
        IMPORTERS,
    ),
    Pair(
        "rename of an enum",
        enum("1: one, 2: two"),
        enum("1: one, 2: two").replace("kind", "sort"),
        "renamed",
        API,
        IMPORTERS,
    ),
    Pair(
        "rename of a parameter",
        "params: [{id: p, type: u4}]\n" + field("size: p"),
        "params: [{id: q, type: u4}]\n" + field("size: q"),
        "renamed",
        API,
        IMPORTERS,
    ),
    # Fields.
    Pair("a field inserted in the middle", seq(A, C), seq(A, B, C), "added", BREAKING),
    Pair("a field added at the end", seq(A), seq(A, B), "added", BREAKING),
    Pair("a field added at the end, if", seq(A), seq(A, "- {id: b, type: u2, if: a > 1}"), "added", EXTENSION),
    Pair(
        "a rule that takes no bytes", seq(A), seq(A, "- {id: end, size: 0, valid: {expr: _io.eof}}"), "added", STRICTER
    ),
    Pair(
        "what was left over in a stretch",
        nested("{id: p, type: u4}"),
        nested("{id: p, type: u4}, {id: rest, size-eos: true}"),
        "added",
        EXTENSION,
    ),
    Pair("a field removed", seq(A, B, C), seq(A, C), "removed", BREAKING, IMPORTERS),
    Pair(
        "the last field of a stretch removed",
        nested("{id: p, type: u4}, {id: q, type: u4}"),
        nested("{id: p, type: u4}"),
        "removed",
        LOOSER,
        IMPORTERS,
    ),
    Pair("fields swapped", seq(A, B), seq(B, A), "moved", BREAKING),
    # Types and sizes.
    Pair("a wider number", field("type: u4"), field("type: u8"), "retyped", BREAKING),
    Pair("a signed number", field("type: u4"), field("type: s4"), "retyped", BREAKING),
    Pair("a float", field("type: u4"), field("type: f4"), "retyped", BREAKING),
    Pair("bytes for a number", field("type: u4"), field("size: 4"), "retyped", API, IMPORTERS),
    Pair(
        "bytes that get a structure",
        "seq:\n  - {id: a, size: 8}\ntypes:\n  t:\n    seq: [{id: p, type: u4}]\n",
        nested("{id: p, type: u4}"),
        "retyped",
        STRICTER,
        IMPORTERS,
    ),
    Pair(
        "bytes that lose their structure",
        nested("{id: p, type: u4}"),
        "seq:\n  - {id: a, size: 8}\ntypes:\n  t:\n    seq: [{id: p, type: u4}]\n",
        "retyped",
        LOOSER,
        IMPORTERS,
    ),
    Pair("a constant size", field("size: 4"), field("size: 8"), "resized", BREAKING),
    Pair("a size from constant to expression", field("size: 4"), field("size: n"), "resized", BREAKING),
    Pair("a size from expression to constant", field("size: n"), field("size: 4"), "resized", BREAKING),
    Pair("another expression", field("size: n"), field("size: n + 1"), "resized", BREAKING),
    Pair("the same expression in other words", field("size: n + 0x10"), field("size: (n+16)"), "", DOCUMENTATION),
    Pair("another terminator", field("terminator: 0"), field("terminator: 10"), "terminator", BREAKING),
    Pair(
        "a terminator that may lack",
        field("terminator: 0"),
        field("terminator: 0, eos-error: false"),
        "terminator",
        LOOSER,
    ),
    Pair("other contents", field("contents: AB"), field("contents: AC"), "contents", BREAKING),
    Pair("contents for bytes", field("size: 2"), field("contents: AB"), "retyped", STRICTER),
    Pair("bytes for contents", field("contents: AB"), field("size: 2"), "retyped", LOOSER),
    Pair(
        "another encoding",
        field("size: 2, type: str, encoding: UTF-8"),
        field("size: 2, type: str, encoding: UTF-16LE"),
        "codec",
        BREAKING,
    ),
    Pair("a process", field("size: 2"), field("size: 2, process: xor(3)"), "codec", BREAKING),
    # Order of bytes.
    Pair("an endianness flip", seq(A), seq(A), "endianness", BREAKING, meta=("endian: le", "endian: be")),
    Pair(
        "an endianness flip of many fields",
        seq(A, B, C),
        seq(A, B, C),
        "endianness",
        BREAKING,
        meta=("endian: le", "endian: be"),
    ),
    Pair(
        "an endianness flip that touches nothing",
        seq("- {id: a, type: u1}"),
        seq("- {id: a, type: u1}"),
        "documentation",
        DOCUMENTATION,
        meta=("endian: le", "endian: be"),
    ),
    Pair("the default endianness spelled out", field("type: u4"), field("type: u4le"), "", DOCUMENTATION),
    # Rules.
    Pair("a minimum raised", field("type: u4, valid: {min: 3}"), field("type: u4, valid: {min: 4}"), "valid", STRICTER),
    Pair("a minimum lowered", field("type: u4, valid: {min: 3}"), field("type: u4, valid: {min: 2}"), "valid", LOOSER),
    Pair("a minimum of nothing", field("type: u4"), field("type: u4, valid: {min: 0}"), "valid", DOCUMENTATION),
    Pair("a rule added", field("type: u4"), field("type: u4, valid: 7"), "valid", STRICTER),
    Pair("a rule dropped", field("type: u4, valid: 7"), field("type: u4"), "valid", LOOSER),
    Pair("another value", field("type: u4, valid: 7"), field("type: u4, valid: 8"), "valid", BREAKING),
    Pair("one value more", field("type: u4, valid: 7"), field("type: u4, valid: {any-of: [7, 8]}"), "valid", LOOSER),
    Pair(
        "a condition more",
        field("type: u4, valid: {expr: _ > 2}"),
        field("type: u4, valid: {expr: _ > 2 and _ < 9}"),
        "valid",
        STRICTER,
    ),
    Pair(
        "a condition less",
        field("type: u4, valid: {expr: _ > 2 and _ < 9}"),
        field("type: u4, valid: {expr: _ > 2}"),
        "valid",
        LOOSER,
    ),
    Pair(
        "an alternative more",
        field("type: u4, valid: {expr: _ > 9}"),
        field("type: u4, valid: {expr: _ > 9 or _ == 2}"),
        "valid",
        LOOSER,
    ),
    Pair(
        "rules that cannot be compared",
        field("type: u4, valid: {expr: _ % 4 == 0}"),
        field("type: u4, valid: {expr: _ % 6 == 0}"),
        "valid",
        STRICTER,
    ),
    # Conditions, repetition, cases.
    Pair("a condition added", field("type: u4"), field("type: u4, if: n > 1"), "condition", BREAKING, IMPORTERS),
    Pair("a condition dropped", field("type: u4, if: n > 1"), field("type: u4"), "condition", BREAKING),
    Pair(
        "a condition widened",
        field("type: u4, if: n == 1"),
        field("type: u4, if: n == 1 or n == 2"),
        "condition",
        EXTENSION,
    ),
    Pair(
        "a list", field("type: u4"), field("type: u4, repeat: expr, repeat-expr: n"), "repetition", BREAKING, IMPORTERS
    ),
    Pair(
        "another count",
        field("type: u4, repeat: expr, repeat-expr: n"),
        field("type: u4, repeat: expr, repeat-expr: n * 2"),
        "repetition",
        BREAKING,
    ),
    Pair("a case added", switch("1: x"), switch("1: x, 2: y"), "cases", EXTENSION),
    Pair("a case added beside a default", switch("1: x, _: y"), switch("1: x, 2: x, _: y"), "cases", BREAKING),
    Pair("a case removed", switch("1: x, 2: y"), switch("1: x"), "cases", BREAKING, IMPORTERS),
    Pair("a case of another type", switch("1: x, 2: y"), switch("1: y, 2: y"), "cases", BREAKING, IMPORTERS),
    # Instances.
    Pair("an instance added", seq(A), instance("value: a + 1"), "added", ADDITION),
    Pair("an instance removed", instance("value: a + 1"), seq(A), "removed", API, IMPORTERS),
    Pair("another value of an instance", instance("value: a + 1"), instance("value: a + 2"), "value", API, IMPORTERS),
    Pair(
        "another value that a size depends on",
        instance("value: a + 1", "- {id: d, size: x}"),
        instance("value: a + 2", "- {id: d, size: x}"),
        "value",
        BREAKING,
    ),
    Pair("another position", instance("pos: 1, type: u1"), instance("pos: 2, type: u1"), "position", BREAKING),
    # Enums.
    Pair("an enum value added", enum("1: one"), enum("1: one, 2: two"), "enum value", EXTENSION),
    Pair("an enum value removed", enum("1: one, 2: two"), enum("1: one"), "enum value", STRICTER, IMPORTERS),
    Pair(
        "an enum value removed that nothing checks",
        enum("1: one, 2: two", ""),
        enum("1: one", ""),
        "enum value",
        API,
        IMPORTERS,
    ),
    Pair("an enum value renamed", enum("1: one, 2: two"), enum("1: one, 2: deux"), "enum value", API, IMPORTERS),
    Pair(
        "a field that gets an enum",
        field("type: u1") + "enums: {kind: {1: one}}\n",
        field("type: u1, enum: kind") + "enums: {kind: {1: one}}\n",
        "enum",
        API,
        IMPORTERS,
    ),
    # Checksums, hints, words.
    Pair(
        "what a checksum covers",
        seq("- {id: crc, type: u4}") + "instances: {crc_input: {pos: 4, size: 8}}\n",
        seq("- {id: crc, type: u4}") + "instances: {crc_input: {pos: 0, size: 8}}\n",
        "checksum coverage",
        BREAKING,
    ),
    Pair(
        "how a checksum is computed",
        seq("- {id: crc, type: u4}") + "instances: {crc_input: {pos: 4, size: 8, -columnar: {checksum: crc32}}}\n",
        seq("- {id: crc, type: u4}") + "instances: {crc_input: {pos: 4, size: 8, -columnar: {checksum: crc32c}}}\n",
        "checksum coverage",
        BREAKING,
    ),
    Pair("a parameter added", seq(A), "params: [{id: p, type: u4}]\n" + seq(A), "added", API, IMPORTERS),
    Pair("a parameter removed", "params: [{id: p, type: u4}]\n" + seq(A), seq(A), "removed", API, IMPORTERS),
    Pair("a column dropped", seq(A), seq("- {id: a, type: u4, -columnar: {column: false}}"), "hint", API, IMPORTERS),
    Pair("a doc", field("type: u4"), field("type: u4, doc: New words"), "documentation", DOCUMENTATION),
    Pair(
        "a name in the format's document",
        field("type: u4"),
        field("type: u4, -orig-id: CamelCase"),
        "documentation",
        DOCUMENTATION,
    ),
    Pair("a title", seq(A), seq(A), "documentation", DOCUMENTATION, meta=("endian: le", "endian: le, title: New")),
    Pair("a type added", seq(A), seq(A) + "types: {t: {seq: [{id: p, type: u4}]}}\n", "added", ADDITION),
    Pair("a type removed", seq(A) + "types: {t: {seq: [{id: p, type: u4}]}}\n", seq(A), "removed", API, IMPORTERS),
    Pair(
        "a parameter of another type",
        "params: [{id: p, type: u4}]\n" + field("size: p"),
        "params: [{id: p, type: u8}]\n" + field("size: p"),
        "retyped",
        API,
        IMPORTERS,
    ),
    Pair(
        "more about a member of an enum",
        enum("1: one"),
        enum("1: {id: one, doc: The first}"),
        "documentation",
        DOCUMENTATION,
    ),
    Pair(
        "a bound raised inside a rule",
        field("type: u4, valid: {expr: _ >= 20 and _ % 4 == 0}"),
        field("type: u4, valid: {expr: _ % 4 == 0 and _ > 23}"),
        "valid",
        STRICTER,
    ),
    Pair(
        "bounds that exclude each other",
        field("type: u4, valid: {expr: _ >= 20 and _ % 4 == 0}"),
        field("type: u4, valid: {expr: _ < 20 and _ % 4 == 0}"),
        "valid",
        BREAKING,
    ),
    Pair(
        "another type with the same layout",
        "seq: [{id: a, type: s}]\n" + BOTH.format("u4", "u4"),
        "seq: [{id: a, type: t}]\n" + BOTH.format("u4", "u4"),
        "retyped",
        API,
        IMPORTERS,
    ),
    Pair(
        "another type of the same size",
        "seq: [{id: a, type: s}]\n" + BOTH.format("u4", "f4"),
        "seq: [{id: a, type: t}]\n" + BOTH.format("u4", "f4"),
        "retyped",
        BREAKING,
        IMPORTERS,
    ),
    Pair(
        "a table that is dropped",
        nested("{id: p, type: u4}").replace("  t:\n", "  t:\n    -columnar: {rows: ts}\n"),
        nested("{id: p, type: u4}"),
        "hint",
        API,
        IMPORTERS,
    ),
]
