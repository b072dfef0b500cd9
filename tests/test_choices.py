"""Rows of some queue, namespace, set or tag: those that a filter would leave; what is not asked for stays closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from accounts import Golden, golden_files

import thawline
from thawline import formats
from thawline.engine import columns
from thawline.formats import contract
from thawline.formats.aerospike import checks
from thawline.formats.aerospike.rows import Decoded
from thawline.formats.aerospike.text import ZstdText
from thawline.formats.aerospike.write import AsbWriter, Bin, Key, Record, digest_of
from thawline.formats.rbak import rows as rbak_rows
from thawline.formats.rbak.write import RbakWriter, record
from thawline.formats.rbf.write import RbfWriter
from thawline.model import Finding, Report
from thawline.options import BadOption
from thawline.source import LocalSource
from tools.damage import damages

CHOICES = {"rbak": ("queue", "vhost"), "aerospike": ("namespace", "set"), "rbf": ("tag",)}
FILES = [
    golden
    for name in CHOICES
    for golden in golden_files(name)
    if golden.file.suffix not in {".address", ".bin", ".json"}
]
TAGS = (256, 0x54445541)


def read(data: bytes, format_name: str, **options: object) -> list[dict[str, Any]]:
    with thawline.open(data, format_name, **options) as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


def check(data: bytes, format_name: str) -> int:
    """How many choices there were, once each is sure to give the rows that have the value, and to tile the file."""
    every = read(data, format_name)
    count = 0
    for option in CHOICES[format_name]:
        for value in sorted({row[option] for row in every if row[option] is not None})[:6]:
            kept = [row for row in every if row[option] == value]
            assert repr(read(data, format_name, **{option: (value,)})) == repr(kept), (option, value)
            assert tiled(data, format_name, **{option: (value,)}).position == len(data)
            count += 1
        assert read(data, format_name, **{option: (-1 if option == "tag" else "nobody",)}) == []
    return count


def tiled(data: bytes, format_name: str, **options: object) -> Report:
    """The account that a reading gives of a file; it raises where spans do not tile it."""
    format_ = formats.get(format_name, **options)
    table, held = next(iter(format_.tables.items()))
    report = Report("file", format_name, len(data))
    source = LocalSource("file", memoryview(data))
    for item in contract.read(format_.kind_of(source), source, table, held.schema.names[:1]):
        report.add(item if isinstance(item, Finding) else item[0])
    return report.complete()


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.name)
def test_a_choice_gives_the_rows_that_a_filter_leaves(golden: Golden) -> None:
    name = golden.name.partition("/")[0]
    check(golden.data, name)
    for damage in damages(golden.data, len(golden.name)):
        check(damage.data, name)


def test_there_is_something_to_choose_from() -> None:
    assert sum(check(golden.data, golden.name.partition("/")[0]) for golden in FILES) > len(FILES)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two tags, in stretches of three frames."""
    writer = RbfWriter(tmp_path / "two.rbf")
    for number in range(300):
        writer.append(TAGS[number // 3 % 2], b"payload %d " % number * 20)
    writer.close()
    return tmp_path / "two.rbf"


def test_a_frame_with_another_tag_is_not_copied(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    scan = columns.scan

    def watched(*given: Any, **named: Any) -> Any:
        for item in scan(*given, **named):
            if "payload" in named["columns"]:
                copied.extend(item.batch["frame_tag"].to_pylist())
            yield item

    monkeypatch.setattr(columns, "scan", watched)
    with thawline.open(log, tag="AUDT") as cold:
        rows = [row for batch in cold.batches() for row in batch.to_pylist()]
    assert {row["tag_text"] for row in rows} == {"AUDT"}
    assert copied == [TAGS[1]] * len(rows) == [TAGS[1]] * 150


def backup(path: Path, *namespaces: str) -> bytes:
    """A file of 500 records of each namespace, of which every third is a user; its header names the first one."""
    with AsbWriter(path, namespaces[0]) as writer:
        for namespace in namespaces:
            for number in range(500):
                key, set_name = Key("I", number), b"orders" if number % 3 else b"users"
                bins = (Bin("S", b"text", b"text %d" % number),)
                writer.write(Record(namespace.encode(), digest_of(set_name, key), bins, set_name, key))
    return path.read_bytes()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were decoded, a number a chunk."""
    found: list[int] = []

    class Watched(Decoded):
        def __init__(self, chunk: Any) -> None:
            found.append(len(chunk))
            super().__init__(chunk)

    monkeypatch.setattr(checks, "Decoded", Watched)
    return found


def test_bins_of_a_record_of_another_set_are_not_decoded(tmp_path: Path, decoded: list[int]) -> None:
    data = backup(tmp_path / "shop.asb", "shop")
    assert len(read(data, "aerospike", set="users")) == 167
    assert sum(decoded) == 167


def test_a_compressed_file_of_another_namespace_is_not_decompressed(
    tmp_path: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = backup(tmp_path / "shop.asb", "shop")
    data = zstandard.ZstdCompressor().compress(text + text[text.index(b"+ ") :] * 300)
    reached: list[int] = []
    window = ZstdText.window

    def watched(self: ZstdText, start: int, size: int) -> tuple[memoryview, bool]:
        reached.append(start + size)
        return window(self, start, size)

    monkeypatch.setattr(ZstdText, "window", watched)
    assert read(data, "aerospike", namespace="other") == []
    assert decoded == []
    assert max(reached) < 9 << 20
    assert read(data, "aerospike", namespace="other", prune="off") == []
    assert max(reached) > 13 << 20


def test_a_header_that_the_records_do_not_confirm_is_not_believed(tmp_path: Path) -> None:
    data = backup(tmp_path / "shop.asb", "shop")
    flipped = data.replace(b"# namespace shop", b"# namespace chop")
    assert len(read(flipped, "aerospike", namespace="shop")) == 500
    joined = backup(tmp_path / "two.asb", "shop", "other")
    assert len(read(joined, "aerospike", namespace="other", prune="off")) == 500


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """A backup of two queues."""
    with RbakWriter(tmp_path / "nightly", "nightly", segment_max_bytes=2000) as writer:
        for number in range(60):
            writer.append(record(b"body %d" % number, queue=("orders", "mail")[number % 2], backed_up_at=1000 + number))
    return tmp_path / "nightly"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each payload that was decompressed."""
    found: list[int] = []
    original = rbak_rows.decompressed

    def watched(*given: Any, **named: Any) -> Iterator[Any]:
        found.append(1)
        return original(*given, **named)

    monkeypatch.setattr(rbak_rows, "decompressed", watched)
    return found


def messages(folder: Path, **options: object) -> int:
    return sum(batch.num_rows for batch in thawline.open_folder(folder, **options).batches(["queue"]))


def test_segments_of_another_queue_are_not_decompressed(nightly: Path, opened: list[int]) -> None:
    segments = len(list(nightly.glob("queues/*/orders/*")))
    assert messages(nightly, queue="orders") == 30
    assert len(opened) == segments
    opened.clear()
    assert messages(nightly, vhost="staging") == 0
    assert opened == []
    assert messages(nightly, vhost="/", queue="mail,orders", prune="off") == 60


def test_a_manifest_that_its_folders_do_not_confirm_is_only_believed_if_asked(nightly: Path, opened: list[int]) -> None:
    manifest = nightly / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"orders"', b'"orderz"'))
    assert messages(nightly, queue="orders") == 30
    assert opened
    assert messages(nightly, queue="orders", prune="strict") == 0


def test_what_was_not_read_is_a_note(nightly: Path) -> None:
    cold = thawline.open_folder(nightly, queue="orders")
    notes = [finding for report in cold.reports() for finding in report.findings if finding.code.id == "RBK305"]
    assert len(notes) == len(list(nightly.glob("queues/*/mail/*")))
    assert {note.detail["queue"] for note in notes} == {"mail"}


def test_a_tag_is_a_number_or_four_letters(log: Path) -> None:
    for wrong in ("audit", "-1", "0x100000000"):
        with pytest.raises(BadOption, match="a tag is a number of 32 bits such as 256 or 0x100, or four letters"):
            thawline.open(log, tag=wrong)
    for tag, rows in (("256", 150), ("0x100,AUDT", 300), ("7", 0)):
        with thawline.open(log, tag=tag) as cold:
            assert sum(batch.num_rows for batch in cold.batches(["tag"])) == rows
