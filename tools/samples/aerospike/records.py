"""Backups of records: every type of key and bin, every spelling of a number, and values that look like lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tools.samples.aerospike import wire
from tools.samples.aerospike.lines import (
    BYTES_TYPES,
    Bin,
    Header,
    Index,
    Key,
    Namespace,
    Record,
    backup,
    respelled,
)
from tools.samples.golden import Sample

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

LOOKS_LIKE_A_RECORD = b"\n+ k S 4 fake\n+ n test\n+ d AAAAAAAAAAAAAAAAAAAAAAAAAAA=\n+ g 1\n+ t 0\n+ b 1\n- I fake 1\n"
POINT = b'{"type": "Point", "coordinates": [-122.1,\n 37.4]}'
NOT_UTF_8 = b"\x00\xff\xfe\n\\ "

# A digest is the RIPEMD-160 of set, type (1 integer, 2 double, 3 text, 4 bytes) and key, with numbers in big endian.
# They are constants because many builds of OpenSSL omit that hash.
KEYED_RECORDS = (
    Record(key=Key("I", 1, "a443f05d05d962202b59abb402afae1737dbf66a")),
    Record(set=b"demo", key=Key("I", -1, "e9d49a24c3debdc5a6d551d3e7087999a263bb97")),
    Record(set=b"demo", key=Key("I", INT64_MAX, "6964c1df0d52acf332aef2bfdd54ba366285d051")),
    Record(set=b"demo", key=Key("I", INT64_MIN, "ed1e7c46ae5e7ece2d07934101b63291bf9a3606")),
    Record(set=b"demo", key=Key("D", b"1.5", "10c03b48ac9b3ad8020721c4ef63d5e84485edce")),
    Record(set=b"demo", key=Key("S", b"key1", "ec91192d4b7f8ce35d5d78d34bca65cbaaaac960")),
    Record(key=Key("S", b"", "b2afadd73b9922f395573a52e7032b7597ff8c3e")),
    Record(set=b"a set\n", key=Key("S", b"\n+ n test\n", "7148c5d578c0caf5e98850b402367516f2693c3d")),
    Record(set=b"demo", key=Key("X", b"text\n", "b5fe0859e8d0e506c6f054e400a0633eff3063ec")),
    Record(set=b"demo", key=Key("B", NOT_UTF_8, "994d86f4ad3dfff006a7b6830f238f99aff87226")),
    Record(set=b"demo", key=Key("B", NOT_UTF_8, "994d86f4ad3dfff006a7b6830f238f99aff87226", compact=True)),
    Record(set=b"demo", key=Key("B", b"", "ba6e293c8560135577bdfacf15ad7d2b5fc3694f", compact=True)),
    Record(),
    Record(set=b"demo"),
)

# The server's variant of msgpack: text and bytes have their particle type (03, 04) as the first byte, and an extension
# as the first element or key has the flags of an ordered list or map.
LIST = bytes.fromhex(
    "98"  # eight elements
    "01 ff"  # 1, -1
    "c0 c3"  # nil, true
    "cb 3ff8000000000000"  # 1.5
    "a4 03 616263"  # "abc"
    "a4 04 00ff0a"  # bytes
    "91 0a"  # [10]
)
ORDERED_LIST = bytes.fromhex("93 c70001 01 cd0100")  # [1, 256]
EMPTY_LIST = bytes.fromhex("90")
MAP = bytes.fromhex(
    "83"  # three entries
    "a2 03 61 01"  # "a": 1
    "02 92 0a 20"  # 2: [10, 32]
    "a2 04 ff c2"  # bytes: false
)
ORDERED_MAP = bytes.fromhex("83 c70001 c0 a20361 01 a20362 80")  # {"a": 1, "b": {}}
EMPTY_MAP = bytes.fromhex("80")
RANKS = [0, 1, 0, 0, 0, 6, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0]  # the server estimates 3
HLL = bytes(wire.HLL.build({"n_index_bits": 4, "n_minhash_bits": 0, "cache": 3, "registers": RANKS}))
HLL_WITH_MINHASH = bytes(
    wire.HLL.build({"n_index_bits": 4, "n_minhash_bits": 4, "cache": 0, "registers": [rank << 4 for rank in RANKS]})
)
BYTES_VALUES = {"Y": HLL, "M": MAP, "L": LIST}

DOUBLES_OF_C = (
    b"nan",
    b"-nan",
    b"inf",
    b"-inf",
    b"0",
    b"-0",
    b"1.5",
    b"1e-300",
    b"0.10000000000000001",
    b"3.1415926535897931",
    b"1.7976931348623157e+308",
    b"4.9406564584124654e-324",
)
DOUBLES_OF_GO = (b"NaN", b"+Inf", b"-Inf", b"0.1", b"5e-324", b"1e+21", b"123456789012345680")


def samples() -> Iterator[Sample]:
    """Yield backups with records of every form."""
    yield backup("keys", "every type of key, and records without one or without a set", Namespace(), *_keyed())
    yield _bins()
    yield _compact_bins()
    yield _collections()
    yield _numbers()
    yield _hostile_values()
    yield _limits()
    yield _bin_names()
    yield _many_bins()
    yield _lenient_forms()


def _keyed() -> Iterator[Record]:
    for number, record in enumerate(KEYED_RECORDS):
        yield replace(record, bins=(Bin("I", b"number", number),))


def _bins() -> Sample:
    # X is read by both tools and written by neither.
    scalars = (
        Bin("N", b"nil"),
        Bin("Z", b"true", value=True),
        Bin("Z", b"false", value=False),
        Bin("I", b"integer", -42),
        Bin("D", b"double", b"2.5"),
        Bin("S", b"string", "größe".encode()),
        Bin("X", b"base64 string", b"text"),
        Bin("G", b"geojson", POINT),
    )
    sized = tuple(Bin(type_, name.encode(), _value(type_)) for type_, name in BYTES_TYPES.items())
    return backup("bins", "every type of bin", Namespace(), Record(set=b"demo", bins=scalars + sized))


def _compact_bins() -> Sample:
    # The output of `asbackup --compact`: unencoded bytes, including line feeds.
    bins = (Bin(type_, name.encode(), _value(type_), compact=True) for type_, name in BYTES_TYPES.items())
    empty = Bin("B", b"empty", b"", compact=True)
    return backup("compact-bins", "every type of bytes without base-64", Namespace(), Record(bins=(*bins, empty)))


def _value(type_: str) -> bytes:
    return BYTES_VALUES.get(type_, NOT_UTF_8)


def _collections() -> Sample:
    values = {
        "L": (LIST, ORDERED_LIST, EMPTY_LIST),
        "M": (MAP, ORDERED_MAP, EMPTY_MAP),
        "Y": (HLL, HLL_WITH_MINHASH),
    }
    bins = (Bin(type_, b"%s%d" % (type_.encode(), n), v) for type_, of in values.items() for n, v in enumerate(of))
    return backup("collections", "lists, maps and HyperLogLogs", Namespace(), Record(bins=tuple(bins)))


def _numbers() -> Sample:
    # C writes `%.17g`, Go the shortest digits; a NaN with its sign bit set is `-nan` in C.
    integers = (0, 1, -1, INT64_MAX, INT64_MIN)
    return backup(
        "numbers",
        "integers at their limits and every spelling of a double",
        Namespace(),
        Record(bins=tuple(Bin("I", b"i%d" % n, integer) for n, integer in enumerate(integers))),
        Record(bins=tuple(Bin("D", b"c%d" % n, text) for n, text in enumerate(DOUBLES_OF_C))),
        Record(bins=tuple(Bin("D", b"go%d" % n, text) for n, text in enumerate(DOUBLES_OF_GO))),
    )


def _hostile_values() -> Sample:
    # A reader that splits this file into lines finds false records.
    return backup(
        "hostile-values",
        "values that hold line feeds, NUL, and text that looks like a record",
        Namespace(),
        Record(
            bins=(
                Bin("S", b"string", LOOKS_LIKE_A_RECORD),
                Bin("B", b"bytes", LOOKS_LIKE_A_RECORD, compact=True),
                Bin("G", b"geojson", LOOKS_LIKE_A_RECORD),
                Bin("X", b"base64", LOOKS_LIKE_A_RECORD),
                Bin("S", b"empty", b""),
                Bin("S", b"line feed", b"\n"),
                Bin("S", b"not utf-8", NOT_UTF_8),
            )
        ),
        Record(bins=(Bin("S", b"bin", b"the record after"),)),
    )


def _limits() -> Sample:
    return backup(
        "limits",
        "generation and expiration at their limits, and no bins at all",
        Namespace(),
        Record(generation=0, expiration=0),
        Record(generation=65535, expiration=4294967295),
        Record(generation=1, expiration=1, bins=(Bin("N", b"bin"),)),
    )


def _bin_names() -> Sample:
    names = (b"fifteen-bytes-x", b"a b", b"\n", b"\\", b"\\n", "größe".encode(), b"\t\r", b"+", b"- I")
    bins = tuple(Bin("I", name, number) for number, name in enumerate(names))
    return backup("bin-names", "names of bins, as long as may be and escaped", Namespace(), Record(bins=bins))


def _many_bins() -> Sample:
    bins = tuple(Bin("I", b"bin%03d" % number, number) for number in range(300))
    return backup("many-bins", "a record of 300 bins", Namespace(), Record(bins=bins), Record(bins=bins[:1]))


def _lenient_forms() -> Sample:
    # Both decoders accept a backslash before any byte, leading zeros, and separators where they do not separate.
    numbers = Record(generation=7, bins=(Bin("I", b"bin", -5), Bin("S", b"bin", b"value")))
    marked = (Bin("I", b"i", 5, compact=True), Bin("N", b"n", compact=True), Bin("X", b"x", b"a", compact=True))
    return respelled(
        "lenient-forms",
        "what both tools read and neither writes",
        (Header(), {}),
        (Namespace(b"quiet"), {b" quiet": b" \\q\\u\\i\\e\\t"}),
        (Index(name=b"a\nb", path=b"bin", context=b""), {b"\\\n": b"\n"}),
        (Record(namespace=b"two words", set=b""), {b"two\\ words": b"two words"}),
        (numbers, {b"+ g 7": b"+ g 007", b" -5": b" -005", b" 5 value": b" 0005 value", b"+ b 2": b"+ b 02"}),
        (Record(bins=marked), {}),
    )
