"""Backups of everything except records: header, meta data, secondary indexes and UDF files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tools.samples.aerospike.lines import (
    DATA_TYPES,
    INDEX_TYPES,
    Bin,
    FirstFile,
    Index,
    Namespace,
    Record,
    Udf,
    backup,
)
from tools.samples.golden import Sample

ODD_NAME = b"name space\nand \\ backslash"
CONTEXT = bytes.fromhex(
    "96"  # a list of six: three steps down, each a kind and a value
    "1001"  # list index 1
    "23ccc8"  # map value 200
    "22a3036964"  # map key "id"; 03 is the type of a string
)
EXPRESSION = bytes.fromhex(
    "93 01"  # equal:
    "93 51 02 a3616765"  # integer bin "age"
    "15"  # 21
)


def samples() -> Iterator[Sample]:
    """Yield backups of all other entries than records, and a few that mix them with records."""
    yield _sample_of_the_document()
    yield backup("header-only", "nothing but the first line")
    for version in ("3.0", "3.1", "3.2"):
        record = Record(bins=(Bin("I", b"bin", 1),))
        yield backup(f"version-{version}", f"version {version} of the format", Namespace(), record, version=version)
    yield backup("namespace-first", "meta data as asbackup orders it", Namespace(), FirstFile())
    yield backup("first-file-first", "meta data the other way round", FirstFile(), Namespace())
    yield backup("meta-repeated", "meta data lines that repeat; the last counts", Namespace(b"no"), Namespace(b"yes"))
    yield _odd_names()
    yield _indexes()
    yield _expression_indexes()
    yield _udfs()
    yield _interleaved()


def _sample_of_the_document() -> Sample:
    # The document's sample, byte for byte.
    return backup(
        "document-sample",
        "the sample of the format's own document",
        Namespace(),
        FirstFile(),
        Index(set=b"test-set", name=b"int-index", path=b"int-bin", data_type="N"),
        Index(set=b"test-set", name=b"string-index", path=b"string-bin", data_type="S"),
        Udf(b"test.lua", b"-- just an empty Lua file\n\n"),
        Record(
            digest=bytes.fromhex("abe2ec886b35803f5db890dbcd0497cad6a3b426"),
            set=b"test-set",
            bins=(Bin("I", b"int-bin", 12345), Bin("S", b"string-bin", b"abcde")),
        ),
    )


def _odd_names() -> Sample:
    # Only the three separators are escaped; carriage return, tab and UTF-8 are not.
    return backup(
        "odd-names",
        "names with space, line feed and backslash wherever a name may stand",
        Namespace(ODD_NAME),
        Index(namespace=ODD_NAME, set=b"set of\nmany", name=b"\\", path=b"bin name", data_type="S"),
        Index(namespace=b"tab\tcr\r", set="sätze".encode(), name=b"i", path=b"b", context=CONTEXT),
        Udf(b"my file\\1.lua", b"return 1"),
        Record(namespace=ODD_NAME, set=b"a set\n", bins=(Bin("N", b"nil bin\n"), Bin("I", b"\\ \n", 1))),
    )


def _indexes() -> Sample:
    indexes = [
        Index(
            name=f"{index_type}-{data_type}-{'path' if context is None else 'context'}".encode(),
            path=b"bin",
            index_type=index_type,
            data_type=data_type,
            context=context,
            set=b"set" if data_type in "NG" else b"",
        )
        for index_type, data_type, context in product(INDEX_TYPES, DATA_TYPES, (None, CONTEXT))
    ]
    return backup("indexes", "every type of index over every type of data", Namespace(), FirstFile(), *indexes)


def _expression_indexes() -> Sample:
    # Since version 3.2, and only from backup-go; the bin's name may be empty.
    return backup(
        "expression-index",
        "indexes over an expression",
        Namespace(),
        Index(kind="e", set=b"set", name=b"adults", path=b"", context=EXPRESSION),
        Index(kind="e", name=b"named", path=b"age", index_type="L", data_type="S", context=EXPRESSION),
        Index(kind="i", name=b"plain", path=b"age"),
        version="3.2",
    )


def _udfs() -> Sample:
    return backup(
        "udfs",
        "UDF files: of several lines, empty, without a line feed at the end, and one that looks like a backup",
        Namespace(),
        Udf(b"lines.lua", b"function one(rec)\n  return 1\nend\n"),
        Udf(b"empty.lua", b""),
        Udf(b"no-line-feed.lua", b"return 2"),
        Udf(b"backup.lua", b"Version 3.1\n# namespace fake\n* u L fake.lua 0 \n+ n fake\n"),
        Udf(b"bytes.lua", bytes(range(256))),
    )


def _interleaved() -> Sample:
    # Both decoders accept global data and records in any order.
    return backup(
        "interleaved",
        "indexes and UDF files between records",
        Namespace(),
        Record(bins=(Bin("S", b"bin", b"first\n"),)),
        Index(name=b"late", path=b"bin"),
        Record(bins=(Bin("I", b"bin", 2),)),
        Udf(b"late.lua", b"\n"),
        Index(name=b"last", path=b"bin", context=CONTEXT),
        Record(),
    )
