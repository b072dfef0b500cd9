from __future__ import annotations

import filecmp
import hashlib
import io
from pathlib import Path
from typing import Any

import kaitaistruct
import pytest
from accounts import GOLDEN, Golden, field, golden_files, plain

from thawline import codecs, specs
from tools.samples.__main__ import write_all

FILES = golden_files()
each_file = pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.name)


@each_file
def test_the_parsers_read_a_golden_file_to_its_account(golden: Golden) -> None:
    for unit, data in golden.units():
        read = specs.parse(unit["spec"], data, *unit.get("params", ()), file=golden.name)
        assert plain(read, unit["fields"]) == unit["fields"]


@each_file
def test_units_tile_a_golden_file_but_for_its_fences(golden: Golden) -> None:
    assert hashlib.sha256(golden.data).hexdigest() == golden.account["sha256"]
    end = 0
    for unit in golden.account["units"]:
        assert golden.data[end : unit["start"]] in (b"", b"RBF1")
        end = unit["end"]
    assert golden.data[end:] in (b"", b"RBF1") or not golden.account["units"]


@each_file
def test_compressed_content_reads_to_its_account(golden: Golden) -> None:
    for unit, data in golden.units():
        if content := unit.get("content"):
            stored = field(specs.parse(unit["spec"], data, *unit.get("params", ())), content["field"])
            inner = specs.parse(content["spec"], codecs.decompress(content["codec"], stored), *content["params"])
            assert plain(inner, content["fields"]) == content["fields"]


@pytest.mark.parametrize("golden", [g for g in FILES if g.account["file_spec"]], ids=lambda golden: golden.name)
def test_the_spec_of_the_whole_file_reads_every_unit(golden: Golden) -> None:
    whole = specs.parse(golden.account["file_spec"], golden.data, file=golden.name)
    assert len(list(_units_of(whole))) == len(golden.account["units"])


@each_file
def test_the_structures_write_a_golden_file_back_byte_for_byte(golden: Golden) -> None:
    for unit, data in golden.units():
        assert _rewritten(unit["spec"], data, unit.get("params", ())) == data


@pytest.mark.parametrize("golden", [g for g in FILES if g.account["file_spec"]], ids=lambda golden: golden.name)
def test_the_structures_write_a_whole_file_back_byte_for_byte(golden: Golden) -> None:
    assert _rewritten(golden.account["file_spec"], golden.data, ()) == golden.data


def test_make_golden_changes_nothing(tmp_path: Path) -> None:
    write_all(tmp_path)
    committed = {path.relative_to(GOLDEN) for path in GOLDEN.rglob("*") if path.is_file() and path.name != "README.md"}
    fresh = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert fresh == committed
    assert [name for name in sorted(fresh) if not filecmp.cmp(GOLDEN / name, tmp_path / name, shallow=False)] == []


def _units_of(whole: Any) -> list[Any]:
    """The units that a file-level spec found; the file itself where it is one unit."""
    lists = [getattr(whole, name) for name in ("entries", "blobs") if hasattr(whole, name)]
    if hasattr(whole, "items"):
        return [whole.header, *whole.items]
    is_list_of_units = lists and type(whole).__name__ in ("RbfFile", "BorgPack", "KafkaSegment")
    return lists[0] if is_list_of_units else [whole]


def _rewritten(spec: str, data: bytes, params: tuple[int, ...]) -> bytes:
    read = specs.structure(spec)(*params, kaitaistruct.KaitaiStream(io.BytesIO(data)))
    read._read()
    _check_all(read)
    target = kaitaistruct.KaitaiStream(io.BytesIO(bytearray(len(data))))
    read._write(target)
    written: bytes = target.to_byte_array()
    return written


def _check_all(node: Any) -> None:
    """`_check` is not recursive in the runtime: call it from the bottom up."""
    for name in node.SEQ_FIELDS:
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, kaitaistruct.ReadWriteKaitaiStruct):
                _check_all(child)
    node._check()
