"""Small RBAK segments are read together, and give what each of them gives alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import zstandard
from crc32c import crc32c
from rbak_segments import CODECS, START, document, head, records, rows, sealed, segment, stored

import thawline
from thawline.formats.rbak import rows as rbak_rows
from thawline.model import Finding, Run
from thawline.verbs.salvage import salvage

COVERED = head(0, 1) + b"\2\0\0\0{}"
BROKEN_FRAME = zstandard.compress(b"\2\0\0\0{}" * 50)[:-3] + b"???"
SMALL = {
    "three records": segment(records(3)),
    "zstd": segment(records(2), CODECS["zstd"]),
    "lz4 block": segment(records(5), CODECS["lz4 block"]),
    "lz4 frame": segment(records(1), CODECS["lz4 frame"]),
    "no record": stored(),
    "no field": stored(b"{}", b"{}"),
    "no JSON": stored(b"{", document(), b"", b"[1]"),
    "no byte": stored(document(body=[256]), document()),
    "more faults than are named": stored(*[b"["] * 150, document(), *[document(exchange=7)] * 3),
    "odd headers": stored(document(headers=7), document(headers=[["a", 1]])),
    "another count": stored(document(), count=9),
    "another time": stored(document(backed_up_at=START + 5)),
    "no calendar": stored(document(backed_up_at=1 << 62)),
    "another queue": stored(document(source_queue="other"), document(source_vhost="v")),
    "torn": sealed(head(0, 1) + b"\2\0\0\0{}\xff\0\0\0{"),
    "a payload that breaks off": sealed(head(1, 50) + BROKEN_FRAME),
    "no payload of its compression": sealed(head(1, 1) + b"x"),
    "a large payload": sealed(head(1, 9000, (0, 0)) + zstandard.compress(b"\2\0\0\0{}" * 9000)),
    "of another version": sealed(head(0, 1, version=9) + b"\2\0\0\0{}"),
    "of another compression": sealed(head(7, 1) + b"\2\0\0\0{}"),
    "Castagnoli": COVERED + crc32c(COVERED).to_bytes(4, "little") + b"KABR",
    "not small": segment(records(40)),
}
OPTIONS: list[dict[str, Any]] = [{}, {"since": START + 1000}, {"queue": ("other",)}, {"vhost": ("v",), "until": START}]


def told(item: Run | Finding, by: int) -> tuple[object, ...]:
    """An item as if its file began `by` bytes later."""
    place = item.span.start + by, item.span.end + by
    if isinstance(item, Run):
        return (*place, item.units, item.rows)
    at = {"at": item.detail["at"] + by} if isinstance(item.detail.get("at"), int) else {}  # type: ignore[operator]
    return (*place, item.code.id, dict(item.detail) | at)


def items(data: bytes, by: int = 0, **options: object) -> list[tuple[object, ...]]:
    with thawline.open(data, "rbak", prune="off", **options) as cold:
        return [told(item, by) for item in cold.scan()]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_segments_end_to_end_give_what_each_gives_alone(options: dict[str, Any]) -> None:
    chosen = random.Random(5)
    parts = [chosen.choice(list(SMALL.values())) for _ in range(60)] + list(SMALL.values())
    expected, by = [], 0
    for part in parts:
        expected += items(part, by, **options)
        by += len(part)
    data = b"".join(parts)
    assert items(data, **options) == expected
    asked = ["body", "headers_json", "record_index", "backed_up_at_ms", "verified"]
    alone = [row for part in parts for row in rows(part, asked, prune="off", **options)]
    assert rows(data, asked, prune="off", **options) == alone
    assert alone or options.get("vhost")


def test_rows_and_damage_keep_their_order() -> None:
    data = segment(records(1)) + b"?" * 50 + segment(records(2)) + b"!" * 50
    with thawline.open(data, "rbak", on_error="keep") as cold:
        found = [row for batch in cold.batches(["delivery_tag", "_corrupt_record"]) for row in batch.to_pylist()]
    kept = [row["_corrupt_record"] or int(row["delivery_tag"]) for row in found]
    assert kept == [0, b"?" * 50, 0, 1, b"!" * 50]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents are decoded together, each time."""
    sizes, decode = [], rbak_rows.decode

    def counted(view: memoryview, chunk: Any, *given: Any) -> Any:
        sizes.append(len(chunk))
        return decode(view, chunk, *given)

    monkeypatch.setattr(rbak_rows, "decode", counted)
    return sizes


@pytest.mark.parametrize("codec", CODECS)
def test_many_small_segments_are_decoded_at_once(codec: str, decoded: list[int]) -> None:
    assert len(rows(segment(records(1), CODECS[codec]) * 1000, ["body"])) == 1000
    assert decoded == [1000]


def test_salvage_decodes_many_small_segments_at_once(decoded: list[int], tmp_path: Path) -> None:
    with thawline.open(segment(records(1)) * 1000, "rbak") as cold:
        done = salvage(cold, tmp_path / "salvaged.rbak")
    assert decoded.count(1000) == len(decoded) <= 2  # once to count them, once to copy them
    assert len(rows(done.target.read_bytes(), ["body"])) == 1000


def test_what_is_decoded_at_once_is_bounded_however_much_comes_out_of_small_segments(decoded: list[int]) -> None:
    bomb = sealed(head(1, 4000) + zstandard.compress(bytes(4 * 4000)))
    assert len(bomb) < 100
    assert len(items(bomb * 50)) > 50
    assert sum(decoded) == 50 * 4000
    assert max(decoded) < 25_000
