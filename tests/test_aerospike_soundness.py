"""The quick look at records says the same of a file as the closer one."""

from __future__ import annotations

from base64 import b64encode
from random import Random

import pytest
from accounts import Golden, golden_files
from backups import HEADER, Lines, digest_of, keyed, numbered, text_bin
from engines import calling

import thawline
from thawline.engine import columns
from thawline.engine.chunks import Places
from thawline.formats import aerospike
from thawline.formats.aerospike import checks
from thawline.model import Report
from thawline.native import plain
from tools.sanitize import exactly

EACH = [pytest.param(golden, id=golden.name) for golden in golden_files("aerospike")]
MUTANTS = 60


def mutants(data: bytes, count: int) -> list[bytes]:
    random = Random(7)
    found = [data]
    for _ in range(count):
        at = random.randrange(len(data))
        found.append(data[:at] + bytes([random.choice(b"\0 \n\\=+-09Az\x7f\xff")]) + data[at + 1 :])
    return found


def closely(data: bytes, monkeypatch: pytest.MonkeyPatch, **options: bool) -> Report:
    with monkeypatch.context() as patch:
        patch.setattr(aerospike, "quick_check", lambda **_: None)
        return thawline.open(data, "aerospike", **options).verify()


@pytest.mark.parametrize("golden", EACH)
def test_the_quick_look_finds_what_the_closer_one_finds(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in mutants(golden.data, MUTANTS):
        for strict in (True, False):
            quick = thawline.open(data, "aerospike", strict=strict).verify()
            assert quick == closely(data, monkeypatch, strict=strict)


@pytest.mark.parametrize(
    "record",
    [
        keyed(1).replace(b"user1", b"user2"),
        numbered(1, text_bin(b"a", b"\xff")),
        numbered(1, b"- L a 4 kQGh"),
        numbered(1, b"- M! a 1 \x90"),
        numbered(1, b"- Y a 4 AAAA"),
        numbered(1, b"- B a 4 A=AA"),
        numbered(1, b"- X a 4 /w=="),
        numbered(1, b"- I a234567890123456 1"),
        numbered(1, b"- N a b"),
        numbered(1, b"- D a 0x1"),
        Lines(namespace=b"n" * 32).data(),
        Lines(found_set=b"s" * 64).data(),
        Lines(key=b"I! 1").data(),
        Lines(digest=b"....................."[:21]).data(),
    ],
    ids=repr,
)
def test_one_wrong_record_among_many_is_found(record: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    data = HEADER + b"".join(map(keyed, range(300))) + record + b"".join(map(keyed, range(300, 600)))
    found = thawline.open(data, "aerospike").verify()
    assert len(found.findings) == 1
    assert found == closely(data, monkeypatch)


def test_only_chunks_with_something_wrong_get_a_closer_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    holds = checks.Soundness.holds

    def watched(quick: checks.Soundness, view: memoryview, found: Places) -> bool:
        looks.append(holds(quick, view, found))
        return looks[-1]

    monkeypatch.setattr(checks.Soundness, "holds", watched)
    monkeypatch.setattr(columns, "MAX_ROWS", 64)
    whole = [keyed(number) for number in range(640)]
    assert thawline.open(HEADER + b"".join(whole), "aerospike").verify().ok
    assert looks == [True] * 10
    looks.clear()
    whole[100] = whole[100].replace(b"user100", b"user101")
    assert thawline.open(HEADER + b"".join(whole), "aerospike").verify().rows == 639
    assert looks == [True, False, *[True] * 8]


def test_keys_and_sets_with_escapes_and_values_of_any_size_pass() -> None:
    value = bytes(3 << 19)
    records = [
        Lines(found_set=rb"a\ b", key=b"S 3 key", digest=digest_of(b"a b", "S", b"key")).data(),
        Lines(key=b"S 2000 " + b"k" * 2000, digest=digest_of(b"demo", "S", b"k" * 2000)).data(),
        Lines(key=b"X 4 YWJj", digest=digest_of(b"demo", "S", b"abc")).data(),
        Lines(key=b"D 0.5", digest=digest_of(b"demo", "D", bytes.fromhex("3fe0000000000000"))).data(),
        numbered(1, b"- B big %d %s" % (len(b64encode(value)), b64encode(value))),
        numbered(2, b"- B! big %d %s" % (len(value), value)),
    ]
    assert thawline.open(HEADER + b"".join(records), "aerospike").verify().findings == []


@pytest.mark.parametrize("golden", [golden for golden in golden_files("aerospike") if len(golden.data) < 3000])
def test_compiled_or_not_the_look_is_the_same(golden: Golden) -> None:
    look = checks.Soundness()
    verdicts: set[bool] = set()
    for data in mutants(golden.data, 20):
        start = max(data.find(b"\n+ k "), data.find(b"\n+ n ")) + 1
        with exactly(data[start:]) as view:
            for found in columns.places("aerospike_records", view, checks.QUICKLY_CHECKED, 64):
                if isinstance(found, Places):
                    verdict = look.holds(view, found)
                    with calling(plain):
                        assert look.holds(view, found) == verdict
                    verdicts.add(verdict)
    assert verdicts or not golden.data.count(b"\n+ d ")
