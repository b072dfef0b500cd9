"""`thawline diff`: the rows that differ are those that a plain comparison finds, however they are kept meanwhile."""

from __future__ import annotations

import random
import tempfile
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from accounts import GOLDEN
from in_process import Ran, on_pipe
from pyarrow import parquet

import thawline
from thawline import native, sinks
from thawline.errors import ThawlineError
from thawline.native import plain
from thawline.native.constants.fingerprints import FINGERPRINT
from thawline.verbs.diff import NotComparable, piles, shelves, windows
from thawline.verbs.diff.piles import fingerprints
from thawline.verbs.diff.shelves import TooManyAlike
from tools.bench.attack import file_of, frame

Row = dict[str, Any]
HEADER = b"Version 3.1\n# namespace test\n"


def piped(*arguments: str) -> Ran:
    return on_pipe(arguments, Path(tempfile.gettempdir()))


def record(number: int, generation: int = 1, **bins: int) -> bytes:
    digest = b64encode(number.to_bytes(20, "big"))
    lines = [b"+ n test", b"+ d " + digest, b"+ g %d" % generation, b"+ t 0", b"+ b %d" % len(bins)]
    lines += [b"- I %s %d" % (name.encode(), value) for name, value in bins.items()]
    return b"\n".join(lines) + b"\n"


def differences(a: Any, b: Any, **options: Any) -> tuple[dict[str, int], list[Row]]:
    with thawline.diff(a, b, **options) as found:
        counts = found.counts
        numbers = {kind: getattr(counts, kind) for kind in ("same", "added", "removed", "changed", "moved")}
        return {kind: number for kind, number in numbers.items() if number}, [
            row for batch in found.batches() for row in batch.to_pylist()
        ]


def rows_of(data: bytes) -> list[Row]:
    with thawline.open(data) as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


Facts = Counter[tuple[object, ...]]


def expected(a: bytes, b: bytes) -> Facts:
    """Which rows of which side differ, and how many of a digest are added, removed and changed.

    Of several rows with one digest, it is arbitrary which one has changed into which.
    """
    found: Facts = Counter()
    sides: list[dict[bytes, Counter[str]]] = []
    for data in (a, b):
        by_digest: dict[bytes, Counter[str]] = defaultdict(Counter)
        for row in rows_of(data):
            by_digest[row["digest"]][repr(row)] += 1
        sides.append(by_digest)
    for digest in sides[0].keys() | sides[1].keys():
        mine, theirs = sides[0][digest], sides[1][digest]
        for old, new in zip_longest(sorted((mine - theirs).elements()), sorted((theirs - mine).elements())):
            change = "changed" if old and new else "removed" if old else "added"
            found.update((side, row) for side, row in (("a", old), ("b", new)) if row)
            found.update((change, side, digest) for side, row in (("a", old), ("b", new)) if row)
    return found


def told(rows: list[Row]) -> Facts:
    schema = thawline.open(HEADER).schema.names
    found: Facts = Counter((row["side"], repr({name: row[name] for name in schema})) for row in rows)
    found.update((row["change"], row["side"], row["digest"]) for row in rows)
    return found


def some_backup(chance: random.Random, base: list[bytes], *, is_shuffled: bool) -> bytes:
    """A backup like another one: some records are missing, new, changed, or there twice."""
    entries: list[bytes] = []
    for entry in base:
        what = chance.random()
        entries += [] if what < 0.1 else [entry, entry] if what > 0.95 else [entry]
        if 0.1 < what < 0.2:
            entries[-1] = record(chance.randrange(60), chance.randrange(3), x=chance.randrange(2))
    if is_shuffled:
        chance.shuffle(entries)
    return HEADER + b"".join(entries)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("held", [64 << 20, 2000, 0])
def test_what_differs_is_what_a_plain_comparison_finds(monkeypatch: pytest.MonkeyPatch, seed: int, held: int) -> None:
    chance = random.Random(seed)
    for module in (sinks, windows):
        monkeypatch.setattr(module, "MOST_ROWS", chance.choice([1, 3, 8, 1000]))
    monkeypatch.setattr(windows, "MOST_STRETCHES", chance.choice([1, 3, 64]))
    monkeypatch.setattr(piles, "PART", chance.choice([1, 5, 1 << 22]))
    for module in (piles, shelves):
        monkeypatch.setattr(module, "HELD", held)
    base = [record(number, number % 3, x=number, y=1) for number in range(60)]
    a, b = (some_backup(chance, base, is_shuffled=seed % 3 == 0) for _ in "ab")
    counts, rows = differences(a, b)
    assert told(rows) == expected(a, b)
    assert counts.get("same", 0) == len(rows_of(a)) - sum(row["side"] == "a" for row in rows)


def test_rows_in_many_files_are_divided_until_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "HELD", 0)
    monkeypatch.setattr(shelves, "TOGETHER", 20_000)
    monkeypatch.setattr(windows, "PATIENCE", 0)
    backup = HEADER + b"".join(record(number, x=number) for number in range(3000))
    other = HEADER + b"".join(record(number, x=number + number % 2) for number in range(3000, 0, -1))
    counts, _ = differences(backup, other)
    assert counts == {"same": 1499, "changed": 1500, "removed": 1, "added": 1}


@pytest.mark.parametrize("part", [1 << 22, 100])
def test_what_is_the_same_in_another_order_is_not_moved_about(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(piles, "HELD", 0)
    monkeypatch.setattr(piles, "PART", part)
    monkeypatch.setattr(windows, "PATIENCE", 0)
    kept: list[int] = []
    fill = shelves.Shelf.fill

    def counted(shelf: shelves.Shelf, batches: Iterable[pa.RecordBatch]) -> None:
        given = list(batches)
        kept.extend(batch.num_rows for batch in given)
        fill(shelf, given)

    monkeypatch.setattr(shelves.Shelf, "fill", counted)
    base = [record(number, x=number % 7) for number in range(3000)] * 2
    other = [*reversed(base[2:]), record(1), record(9999)]
    counts, rows = differences(HEADER + b"".join(base), HEADER + b"".join(other))
    assert counts == {"same": 5998, "removed": 1, "added": 1, "changed": 1}
    assert sum(kept) == len(rows) == 4


def test_too_many_rows_with_one_key_are_an_error_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shelves, "HELD", 0)
    monkeypatch.setattr(shelves, "TOGETHER", 20_000)
    monkeypatch.setattr(windows, "PATIENCE", 0)
    a, b = (HEADER + b"".join(record(1, x=side + 2 * each) for each in range(2000)) for side in (0, 1))
    with pytest.raises(TooManyAlike, match="have nearly the same namespace, digest"):
        thawline.diff(a, b)
    assert not list(tmp_path.iterdir())


def test_a_changed_record_names_its_generation_and_the_bins_that_changed() -> None:
    a = HEADER + record(1, 1, x=1, y=2, z=3) + record(2, 1, x=1)
    b = HEADER + record(1, 2, x=1, y=5, w=3) + record(2, 1, x=1)
    counts, rows = differences(a, b)
    assert counts == {"same": 1, "changed": 1}
    assert [(row["change"], row["side"], row["generation"]) for row in rows] == [
        ("changed", "a", 1),
        ("changed", "b", 2),
    ]
    assert {row["columns"] for row in rows} == {"generation, bins.y, bins.z, bins.w"}


def test_bins_in_another_order_are_a_difference_of_the_list_alone() -> None:
    _, rows = differences(HEADER + record(1, x=1, y=2), HEADER + record(1, y=2, x=1))
    assert {row["columns"] for row in rows} == {"bins"}


def test_only_named_columns_are_compared() -> None:
    counts, _ = differences(HEADER + record(1, 1, x=1), HEADER + record(1, 2, x=1), columns=["bins"])
    assert counts == {"same": 1}


def test_frames_that_lie_elsewhere_have_moved() -> None:
    old, new = [frame(text, 0x41414141) for text in (b"one", b"two", b"two")], frame(b"new", 0x42424242)
    counts, rows = differences(file_of(*old), file_of(new, *old), key=["tag"])
    assert counts == {"added": 1, "moved": 3}
    assert [row["columns"] for row in rows if row["change"] == "moved"] == ["address"] * 6
    assert differences(file_of(*old), file_of(*old)) == ({"same": 3}, [])


def test_a_copy_of_a_partition_under_another_name_is_the_same(tmp_path: Path) -> None:
    segment = GOLDEN / "kafka/many-records.log"
    for folder in ("orders-3", "saved", "orders-4"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "00000000000000000000.log").write_bytes(segment.read_bytes())
    whole, _ = differences(tmp_path / "orders-3", tmp_path / "orders-3")
    assert differences(
        tmp_path / "orders-3" / "00000000000000000000.log", tmp_path / "saved" / "00000000000000000000.log"
    ) == (whole, [])
    assert differences(tmp_path / "orders-3", tmp_path / "orders-4") == (whole, [])


def test_a_record_of_another_partition_is_another_record(tmp_path: Path) -> None:
    for side, names in (("a", ("orders-3", "orders-4")), ("b", ("orders-3", "orders-5"))):
        for name in names:
            (tmp_path / side / name).mkdir(parents=True)
            (tmp_path / side / name / "00000000000000000000.log").write_bytes(
                (GOLDEN / "kafka/one-record.log").read_bytes()
            )
    ran = piped("diff", str(tmp_path / "a"), str(tmp_path / "b"))
    assert ran.code == 1
    assert ran.err == "thawline: different by partition, offset: 1 removed, 1 added; 1 the same\n"


def test_damage_is_never_the_same(tmp_path: Path) -> None:
    frames = [frame(b"payload %d" % number, number) for number in range(9)]
    damaged = bytearray(file_of(*frames))
    damaged[45] ^= 1
    path = tmp_path / "damaged.rbf"
    path.write_bytes(damaged)
    ran = piped("diff", str(path), str(path))
    assert (ran.code, ran.out) == (1, "")
    assert "no difference in what could be read: 8 rows" in ran.err
    assert f"see: thawline verify {path}" in ran.err
    with thawline.diff(path, path) as found:
        assert not found.is_same
        assert found.a.findings == found.b.findings == 1


def test_a_file_that_was_not_looked_at_is_never_the_same(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.rbf").write_bytes(file_of(frame(b"payload", 1)))
    assert piped("diff", str(tmp_path / "a"), str(tmp_path / "b")).code == 0
    (tmp_path / "b" / "readme.txt").write_text("no log", encoding="utf-8")
    ran = piped("diff", str(tmp_path / "a"), str(tmp_path / "b"))
    assert ran.code == 1
    assert "the same:" not in ran.err
    assert "files that were not looked at may differ" in ran.err


def test_files_of_two_formats_are_not_compared() -> None:
    ran = piped("diff", str(GOLDEN / "rbf/many-frames.rbf"), str(GOLDEN / "kafka/one-record.log"))
    assert ran.code == 2
    assert "many-frames.rbf is rbf and" in ran.err
    assert "one-record.log is kafka; only files of one format are compared" in ran.err


def test_a_key_has_to_be_columns_that_can_identify() -> None:
    with pytest.raises(NotComparable, match="bins is a list"):
        differences(HEADER, HEADER, key=["bins"])
    with pytest.raises(ValueError, match="has no column nothing"):
        differences(HEADER, HEADER, key=["nothing"])


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl", "out.csv", "out.arrow"])
def test_differences_are_written_as_convert_writes_rows(tmp_path: Path, name: str) -> None:
    a, b = tmp_path / "a.asb", tmp_path / "b.asb"
    a.write_bytes(HEADER + record(1, x=1) + record(2, x=1))
    b.write_bytes(HEADER + record(1, x=2) + record(3, x=1))
    ran = piped("diff", str(a), str(b), "-o", str(tmp_path / name))
    assert ran.code == 1
    assert (tmp_path / name).stat().st_size
    if name.endswith("parquet"):
        table = parquet.read_table(tmp_path / name)
        assert table["change"].to_pylist() == ["changed", "changed", "removed", "added"]
    again = piped("diff", str(a), str(b), "-o", str(tmp_path / name))
    assert again.code == 2
    assert piped("diff", str(a), str(b), "-o", str(a), "--overwrite").code == 2, "an input is never written to"


def test_every_golden_file_is_the_same_as_itself() -> None:
    compared = 0
    for path in sorted(GOLDEN.glob("*/*")):
        if path.suffix in {".json", ".bin", ".address"}:
            continue
        try:
            with thawline.open(path) as cold:
                rows = sum(batch.num_rows for batch in cold.batches())
        except ThawlineError:
            continue
        assert differences(path, path) == ({"same": rows} if rows else {}, []), path
        compared += 1
    assert compared > 100


def test_nulls_and_floats_are_compared_bit_by_bit() -> None:
    from thawline.verbs.diff.unequal import unequal  # noqa: PLC0415 - beside its only test

    nan = float("nan")
    a, b = pa.array([nan, 0.0, None, None, 1.0]), pa.array([nan, -0.0, None, 1.0, 1.0])
    assert unequal(a, b).to_pylist() == [False, True, False, True, False]


@pytest.mark.parametrize("option", ["--key", "--columns"])
def test_a_column_that_is_not_there_is_one_sentence(tmp_path: Path, option: str) -> None:
    path = tmp_path / "a.asb"
    path.write_bytes(HEADER + record(1))
    outcome = piped("diff", str(path), str(path), option, "nope")
    assert outcome.code == 2
    assert outcome.err.splitlines()[0].startswith("thawline: aerospike.records has no column nope; it has ")


TWINS = pa.record_batch(
    {
        "text": pa.array(["ab", "a", None, "", "ab", "", "", "", "", "x"]),
        "bytes": pa.array([b"c", b"bc", b"", None, b"c", b"", b"", b"", b"", b"x"]),
        "lists": pa.array([[[1], [2]], [[1, 2]], [], None, [[1], [2]], [None], [[None]], [[]], [[], []], []]),
        "pairs": pa.array([{"n": "a", "v": n} for n in (1, 2, 1, 1, 1, 1, 1, 1, 1, None)]),
        "times": pa.array([0, 0, 0, 0, 0, 0, 0, 0, 0, None], pa.timestamp("us", "UTC")),
        "flags": pa.array([True, True, None, False, True, True, True, True, True, True]),
        "sizes": pa.array([0.0, 0.0, -0.0, None, 0.0, 1.5, 1.5, 1.5, 1.5, 1.5]),
        "kinds": pa.array(["k"] * 9 + ["l"]).dictionary_encode(),
    }
)


@pytest.mark.parametrize("functions", [native.functions, plain])
def test_rows_have_one_fingerprint_only_if_they_are_the_same(
    monkeypatch: pytest.MonkeyPatch, functions: ModuleType
) -> None:
    monkeypatch.setattr(native, "functions", functions)
    found = fingerprints(TWINS, b"0123456789abcdef").to_pybytes()
    rows = [found[at : at + FINGERPRINT] for at in range(0, len(found), FINGERPRINT)]
    assert rows[4] == rows[0]
    assert len(set(rows)) == TWINS.num_rows - 1
    assert fingerprints(TWINS[3:], b"0123456789abcdef").to_pybytes() == b"".join(rows[3:])
    assert fingerprints(TWINS, b"fedcba9876543210").to_pybytes()[:FINGERPRINT] != rows[0]
