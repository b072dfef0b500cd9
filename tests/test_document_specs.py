"""Document specs: what they refuse, what is made of them, and what a change of one does."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from engines import calling
from test_cli import thawline

from thawline.compiler.readers import HEADER, emit_reader
from thawline.engine.chunks import Chunk
from thawline.engine.decoding import Decoded, columns_of, decode
from thawline.engine.documents import Document
from thawline.formats.rbak.records import RECORD as DOCUMENT
from thawline.formats.rbak.write import record
from thawline.ksy.document_specs import SUFFIX, document_of, nesting_of
from thawline.ksy.documents import SCHEMAS, SpecError, parse_spec
from thawline.ksy.lint import lint_document
from thawline.ksy.versions import load_version
from thawline.native import plain
from thawline.native.constants.documents import NOT_JSON, WRONG_TYPE
from thawline.native.plain.cython_names import executed
from thawline.review import compared
from thawline.review.model import Verdict
from tools.samples.rbak import PROPERTIES, RECORD

SAMPLE = """\
meta:
  id: sample
  title: A sample
  license: CC0-1.0
  encoding: json
doc: What a sample has.
nesting: 4
unknown: kept
fields:
  - {id: name, type: text, doc: A name.}
  - {id: size, type: uint8, optional: true, doc: A size.}
  - {id: here, type: point, doc: A place.}
  - {id: isOpen, type: bool, optional: true, doc: A flag.}
  - {id: gone, type: point2, optional: true, doc: Another place.}
types:
  point:
    fields:
      - {id: x, type: int64, doc: To the right.}
      - {id: y, type: int64, doc: Down.}
  point2:
    fields:
      - {id: left, type: uint64, optional: true, doc: To the left.}
"""


def sample(text: str = SAMPLE, folder: str = "") -> Document:
    return document_of(parse_spec(text.encode(), Path(folder, f"sample{SUFFIX}")))


def read(text: str, *documents: bytes) -> Decoded:
    """What the reader of a document spec makes of documents, uncompiled."""
    spec = parse_spec(text.encode(), Path(f"sample{SUFFIX}"))
    document, made = document_of(spec), executed(HEADER + emit_reader(document_of(spec), nesting_of(spec)))
    data, ends = b"".join(documents), [sum(map(len, documents[: number + 1])) for number in range(len(documents))]
    none = pa.RecordBatch.from_arrays([], [])
    zeros = pa.array([0] * len(ends), pa.int32())
    chunk = Chunk(none, pa.array([0, *ends[:-1]], pa.int64()), pa.array(ends, pa.int64()), zeros)
    with calling(SimpleNamespace(**vars(plain) | {"read_sample": made["read_sample"]})):
        return decode(document, 0, memoryview(data), chunk, columns_of(document).names)


def test_the_record_has_the_members_of_the_formats_page_in_their_order() -> None:
    assert [field.name for field in DOCUMENT.members()] == list(RECORD)
    assert [field.name for field in DOCUMENT.members("properties")] == list(PROPERTIES)


def test_a_written_record_has_the_members_of_its_spec_in_their_order() -> None:
    written = record(b"", queue="orders")
    assert list(written) == [field.name for field in DOCUMENT.members()]
    assert list(written["properties"]) == [field.name for field in DOCUMENT.members("properties")]


def test_documents_of_any_spec_are_read_into_its_columns() -> None:
    given = [
        {"name": "a", "size": 255, "here": {"x": -1, "y": 2}, "isOpen": True, "gone": {"left": 2**64 - 1}},
        {"gone": {"right": []}, "here": {"y": 3, "x": 4}, "other": {"x": 9}, "name": "\n", "size": None},
    ]
    texts = [json.dumps(item, separators=(",", ":")).encode() for item in given] + [json.dumps(given[0]).encode()]
    found = read(SAMPLE, *texts)
    rows = found.batch.drop_columns(["record_json", "index"]).to_pylist()
    first = {"name": "a", "size": 255, "isOpen": True, "x": -1, "y": 2, "left": 2**64 - 1}
    second = {"name": "\n", "size": None, "isOpen": None, "x": 4, "y": 3, "left": None}
    assert rows == [first, second, first]
    assert (found.faults, found.incomplete) == ([], [])


def test_a_document_is_held_to_the_types_the_presence_and_the_nesting_of_its_spec() -> None:
    texts = b'{"size":256}', b'{"name":"n","here":{"x":1,"y":2}}', b"null", b'{"a":[[[]]]}', b'{"a":[[[[]]]]}', b"{}"
    found = read(SAMPLE, *texts)
    assert [(fault.index, fault.kind, fault.field) for fault in found.faults] == [
        (0, WRONG_TYPE, 1), (2, WRONG_TYPE, 8), (4, NOT_JSON, 8),
    ]  # fmt: skip
    assert found.incomplete == [3, 5]


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("id: sample", "id: other", 2, "meta/id must be the file's name, sample"),
        ("encoding: json", "encoding: cbor", 5, "encoding must be json"),
        ("nesting: 4", "nesting: 129", 7, "nesting must be a number from 2 to 128"),
        ("nesting: 4", "nesting: true", 7, "nesting must be a number"),
        ("unknown: kept", "unknown: refused", 8, "unknown must be kept"),
        ("unknown: kept", "unknown: kept\nextra: 1", 9, "extra is no key that stands here"),
        ("id: name,", "id: a-b,", 10, "id must be a word"),
        ("type: text", "type: [text]", 10, "type must be one of"),
        ("type: text", "type: float", 10, "type must be one of"),
        ("type: text", "type: text, most: 1", 10, "most is no key that stands here"),
        ("optional: true", "optional: 1", 11, "optional must be true or false"),
        ("id: left", "id: name", 9, "two fields are called name"),
        ("type: uint64", "type: bytes", 22, "only the document itself can have bytes"),
        ("type: uint64", "type: point", 22, "an object in an object"),
        ("type: text", "type: pairs, members: [key], most: 1", 10, "members must be two words"),
        ("type: text", "type: pairs, members: [key, value], most: 0", 10, "most must be a number from 1"),
    ],
)
def test_what_no_reader_can_be_made_for_is_refused_at_its_place(
    before: str, after: str, line: int, message: str
) -> None:
    assert before in SAMPLE
    with pytest.raises(SpecError, match=message) as refused:
        sample(SAMPLE.replace(before, after, 1))
    assert str(refused.value).startswith(f"sample{SUFFIX}:{line}:")


@pytest.mark.parametrize(
    ("before", "after", "kind", "verdict", "breaks"),
    [
        ("id: size", "id: length", "renamed", Verdict.BREAKING, True),
        ("type: bool", "type: text", "retyped", Verdict.BREAKING, True),
        ("type: uint8", "type: uint64", "retyped", Verdict.BREAKING, True),
        ("  - {id: isOpen, type: bool, optional: true, doc: A flag.}\n", "", "removed", Verdict.BREAKING, True),
        ("types:", "  - {id: more, type: text, doc: More.}\ntypes:", "added", Verdict.EXTENSION, False),
        ("uint8, optional: true", "uint8", "presence", Verdict.STRICTER, False),
        ("type: text", "type: text, optional: true", "presence", Verdict.LOOSER, False),
        ("nesting: 4", "nesting: 3", "nesting", Verdict.STRICTER, False),
        ("doc: A name.", "doc: Its name.", "documentation", Verdict.DOCUMENTATION, False),
    ],
)
def test_a_change_of_a_document_spec_is_judged_by_what_it_does_to_documents(
    tmp_path: Path, before: str, after: str, kind: str, verdict: Verdict, *, breaks: bool
) -> None:
    for side, text in (("old", SAMPLE), ("new", SAMPLE.replace(before, after, 1))):
        (tmp_path / side).mkdir()
        (tmp_path / side / f"sample{SUFFIX}").write_text(text, encoding="utf-8")
    found = compared(*(load_version(str(tmp_path / side / f"sample{SUFFIX}")) for side in ("old", "new")))
    assert [(change.kind, change.verdict, change.breaks_api) for change in found.changes] == [(kind, verdict, breaks)]


def test_a_field_without_documentation_is_a_flaw() -> None:
    text = SAMPLE.replace(", doc: A flag.", "")
    (flaw,) = lint_document(parse_spec(text.encode(), Path(f"sample{SUFFIX}")))
    assert (flaw.rule, flaw.message, flaw.place) == ("doc", "sample.isOpen has no doc", f"sample{SUFFIX}:13:5")


def test_our_document_specs_have_no_flaw_and_are_shown_with_their_format() -> None:
    documents = load_version(str(SCHEMAS)).documents
    assert list(documents) == ["rbak_record"]
    assert [flaw for spec in documents.values() for flaw in lint_document(spec)] == []
    for shown in (thawline("spec", "show", "rbak"), thawline("spec", "show", "rbak_record")):
        assert all(name in shown.stdout for name in (*RECORD, *PROPERTIES))


def test_a_review_of_folders_names_what_changed_in_a_document(tmp_path: Path) -> None:
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        for file in SCHEMAS.glob("rbak_*"):
            text = file.read_text(encoding="utf-8")
            changed = text.replace("id: priority", "id: rank") if side == "new" else text
            (tmp_path / side / file.name).write_text(changed, encoding="utf-8")
    said = thawline("spec", "diff", str(tmp_path / "old"), str(tmp_path / "new"))
    assert said.returncode == 2
    assert "rbak_record.properties.rank" in said.stdout
