from __future__ import annotations

import io
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import kaitaistruct
import pyarrow as pa
import pytest
from accounts import Golden, golden_files
from thawline.generated.structures.rbf_frame import RbfFrame

from thawline.checksums import crc32c
from thawline.cold import open_cold
from thawline.errors import SourceError, ThawlineError
from thawline.formats.rbf import write as rbf_write
from thawline.formats.rbf.write import (
    LONGEST_FRAME,
    LONGEST_PAYLOAD,
    BadFrame,
    NotAppendable,
    OutOfTurn,
    RbfWriter,
    encode,
)

Frame = tuple[int, bytes, bool]
GOLDEN = [golden for golden in golden_files("rbf") if golden.file.suffix == ".rbf"]

KILLS = 20
NUMBERED = """
def numbered(number):
    # Every seventh is large, so that a kill can tear it.
    size = 1 << 20 if number % 7 == 3 else number % 61
    return number, bytes([number % 251 + 1]) * size, number % 5 == 0
"""
VICTIMS = f"""
import os, sys
import thawline
from thawline.formats.rbf.write import RbfWriter, encode
{NUMBERED}
thawline.open(b"RBF1" + encode(1, b"") + b"torn").verify()
def append_for_ever(path, number):
    os.write(1, b"%d\\n" % os.getpid())
    writer = RbfWriter(path, truncate_torn_tail=True)
    while True:
        tag, payload, tombstone = numbered(number)
        writer.append(tag, payload, tombstone=tombstone)
        os.write(1, b".")
        number += 1

for line in sys.stdin:
    victim = os.fork()
    if not victim:
        append_for_ever(sys.argv[1], int(line))
    os.waitpid(victim, 0)
    os.write(1, b"\\n")
"""
"""Makes a process for each line it reads, which appends frames from that number on and writes a dot for each. All
that is imported, which takes a second, is imported before."""


def numbered(number: int) -> Frame:
    """The frame that is appended as the one of this number."""
    scope: dict[str, Any] = {}
    exec(NUMBERED, scope)  # noqa: S102 - the same words for both processes
    frame: Frame = scope["numbered"](number)
    return frame


def frames(file: Path | bytes) -> list[Frame]:
    with open_cold(file, "rbf") as cold:
        rows = [row for batch in cold.batches(["tag", "payload", "tombstone"]) for row in batch.to_pylist()]
    return [(row["tag"], row["payload"], row["tombstone"]) for row in rows]


def written(path: Path, content: list[Frame]) -> bytes:
    with RbfWriter(path) as writer:
        for tag, payload, tombstone in content:
            writer.append(tag, payload, tombstone=tombstone)
    return path.read_bytes()


def is_clean(path: Path) -> bool:
    with open_cold(path) as cold:
        report = cold.verify()
        return report.ok and not report.findings


def by_structure(tag: int, payload: bytes, *, tombstone: bool) -> bytes:
    """A frame as the generated structure writes it."""
    num_status = 4 - len(payload) % 4
    frame = RbfFrame()
    frame.len_frame = 16 + len(payload) + num_status
    body = frame.body = RbfFrame.Body(None, frame, frame._root)
    statuses = []
    for _ in range(num_status + 1):
        status = RbfFrame.FrameStatus(None, body, frame._root)
        status.is_tombstone, status.reserved, status.num_status_minus_1 = tombstone, 0, num_status - 1
        status._check()
        statuses.append(status)
    body.frame_tag, body.payload, body.status, body.last_status = tag, payload, statuses[1:], statuses[0]
    body.len_tail, body.crc32c = frame.len_frame, 0
    body._check()
    frame._check()
    data = bytearray(frame.len_frame)
    with kaitaistruct.KaitaiStream(io.BytesIO(data)) as stream:
        frame._write(stream)
        data = bytearray(stream.to_byte_array())
    data[-4:] = crc32c(data, 4, len(data) - 4).to_bytes(4, "little")
    return bytes(data)


@pytest.mark.parametrize("tombstone", [False, True])
@pytest.mark.parametrize("size", [*range(10), 255, 4096])
def test_the_encoder_writes_what_the_spec_writes(size: int, *, tombstone: bool) -> None:
    for tag in (0, 0x31464252, 0xFFFF_FFFF):
        payload = bytes(range(256)) * 16
        frame = by_structure(tag, payload[:size], tombstone=tombstone)
        assert encode(tag, payload[:size], tombstone=tombstone) == frame + b"RBF1"


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_the_frames_of_a_golden_file_are_written_back_byte_for_byte(golden: Golden, tmp_path: Path) -> None:
    assert written(tmp_path / "again.rbf", frames(golden.file)) == golden.data


def test_a_new_file_is_the_genesis_fence(tmp_path: Path) -> None:
    assert written(tmp_path / "new.rbf", []) == b"RBF1"


def test_an_empty_file_is_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "empty.rbf").touch()
    assert written(tmp_path / "empty.rbf", []) == b"RBF1"


def test_append_gives_the_address_of_the_frame(tmp_path: Path) -> None:
    path = tmp_path / "log.rbf"
    with RbfWriter(path) as writer:
        addresses = [writer.append(b"DATA", bytes(size)) for size in range(6)]
        assert writer.size == path.stat().st_size
    with open_cold(path) as cold:
        assert [row["address"] for batch in cold for row in batch.to_pylist()] == addresses


def test_a_file_goes_on_where_it_ended(tmp_path: Path) -> None:
    content = [numbered(number) for number in range(3)]
    for frame in content:
        written(tmp_path / "log.rbf", [frame])
    assert frames(tmp_path / "log.rbf") == content
    assert is_clean(tmp_path / "log.rbf")


def test_four_bytes_of_a_tag_stand_in_the_file_as_given(tmp_path: Path) -> None:
    with RbfWriter(tmp_path / "log.rbf") as writer:
        writer.append(b"meta", b"")
    with open_cold(tmp_path / "log.rbf") as cold:
        assert next(cold.batches(["tag_text"])).to_pylist() == [{"tag_text": "meta"}]


@pytest.mark.parametrize("tag", [-1, 1 << 32, b"", b"abc", b"abcde", "meta", None, 1.0])
def test_a_tag_that_does_not_fit_is_refused(tmp_path: Path, tag: object) -> None:
    with RbfWriter(tmp_path / "log.rbf") as writer:
        with pytest.raises(BadFrame, match="a tag is four bytes or a number of 32 bits"):
            writer.append(tag, b"")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a tag is"):
            writer.begin(tag)  # type: ignore[arg-type]
        writer.append(b"good", b"")
    assert len(frames(tmp_path / "log.rbf")) == 1


def test_the_longest_payload_fills_the_longest_frame_that_an_address_can_tell() -> None:
    assert LONGEST_FRAME == ((1 << 26) - 1) * 4
    fits, too_long = (16 + size + 4 - size % 4 for size in (LONGEST_PAYLOAD, LONGEST_PAYLOAD + 1))
    assert fits <= LONGEST_FRAME < too_long


def test_a_frame_that_is_too_long_is_refused_and_the_writer_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rbf_write, "LONGEST_PAYLOAD", 1000)
    with RbfWriter(tmp_path / "log.rbf") as writer:
        with pytest.raises(BadFrame, match="a payload of 1001 bytes does not fit"):
            writer.append(1, bytes(1001))
        builder = writer.begin(2)
        builder.write(bytes(999))
        with pytest.raises(BadFrame), builder:
            builder.write(bytes(2))
        writer.append(3, bytes(1000))
    assert frames(tmp_path / "log.rbf") == [(3, bytes(1000), False)]


@pytest.mark.parametrize("in_memory", [0, 10, 1 << 20])
def test_a_builder_writes_the_same_frame_as_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(rbf_write, "IN_MEMORY", in_memory)
    parts = [b"", b"abc", bytearray(b"defgh"), memoryview(b"xyz"), bytes(1000)]
    with RbfWriter(tmp_path / "built.rbf") as writer:
        with writer.begin(b"DATA", tombstone=True) as builder:
            assert [builder.write(part) for part in parts] == [len(part) for part in parts]
        assert builder.address == 4
        writer.begin(b"NONE").commit()
    appended = written(tmp_path / "appended.rbf", [(0x41544144, b"".join(parts), True), (0x454E4F4E, b"", False)])
    assert (tmp_path / "built.rbf").read_bytes() == appended


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_an_aborted_frame_leaves_no_trace_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(rbf_write, "IN_MEMORY", in_memory)
    path = tmp_path / "log.rbf"
    with RbfWriter(path) as writer:
        builder = writer.begin(1)
        builder.write(b"half")
        assert path.read_bytes() == b"RBF1"
        builder.abort()
        builder.abort()
        builder = writer.begin(2)
        builder.write(b"half")
        with pytest.raises(KeyError), builder:
            raise KeyError
        writer.begin(3).write(b"the writer is closed before this is committed")
    assert path.read_bytes() == b"RBF1"


def test_a_batch_of_rows_is_written_as_its_frames_one_by_one(tmp_path: Path) -> None:
    rows = [{"tag": index, "payload": b"x" * index, "tombstone": index % 3 == 0} for index in range(20)]
    with RbfWriter(tmp_path / "one.rbf") as writer:
        addresses = [writer.append(row["tag"], row["payload"], tombstone=row["tombstone"]) for row in rows]  # type: ignore[arg-type]
    with RbfWriter(tmp_path / "all.rbf") as writer:
        found = [writer.append_batch(pa.RecordBatch.from_pylist(rows[start : start + 7])) for start in (0, 7, 14)]
        assert len(writer.append_batch(pa.RecordBatch.from_pylist(rows[:0], schema=found_schema()))) == 0
    assert [address for part in found for address in part.to_pylist()] == addresses
    assert (tmp_path / "all.rbf").read_bytes() == (tmp_path / "one.rbf").read_bytes()


def found_schema() -> pa.Schema:
    return pa.schema({"tag": pa.int64(), "payload": pa.binary(), "tombstone": pa.bool_()})


def test_a_batch_that_is_too_large_for_one_write_is_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rbf_write, "MOST_AT_ONCE", 100)
    batch = pa.RecordBatch.from_pydict({"tag": range(9), "payload": [b"payload %d" % index * 9 for index in range(9)]})
    with RbfWriter(tmp_path / "a.rbf") as writer:
        addresses = writer.append_batch(batch).to_pylist()
    with open_cold(tmp_path / "a.rbf") as cold:
        rows = [row for part in cold.batches() for row in part.to_pylist()]
    assert [row["address"] for row in rows] == addresses
    assert [row["payload"] for row in rows] == batch["payload"].to_pylist()


def test_a_batch_with_a_wrong_row_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pydict({"tag": [1, 1 << 32], "payload": [b"", b""]})
    with RbfWriter(tmp_path / "a.rbf") as writer, pytest.raises(BadFrame, match="row 1: frame_tag"):
        writer.append_batch(batch)
    assert (tmp_path / "a.rbf").read_bytes() == b"RBF1"


def test_only_one_frame_is_built_at_a_time(tmp_path: Path) -> None:
    with RbfWriter(tmp_path / "log.rbf") as writer:
        with writer.begin(1) as builder:
            for refused in (lambda: writer.append(2, b""), lambda: writer.begin(2)):
                with pytest.raises(OutOfTurn, match="commit or abort it first"):
                    refused()
            builder.write(b"one")
        writer.append(2, b"two")
    assert [payload for _, payload, _ in frames(tmp_path / "log.rbf")] == [b"one", b"two"]


def test_a_frame_is_committed_once(tmp_path: Path) -> None:
    with RbfWriter(tmp_path / "log.rbf") as writer:
        done = writer.begin(1)
        done.commit()
        given_up = writer.begin(2)
        given_up.abort()
        with writer.begin(3) as builder:
            builder.commit()  # by hand, inside its block
        for frame, state in ((done, "committed"), (given_up, "aborted")):
            with pytest.raises(OutOfTurn, match=f"has been {state} already"):
                frame.commit()
            with pytest.raises(OutOfTurn, match=f"has been {state} already"):
                frame.write(b"more")
    assert [tag for tag, _, _ in frames(tmp_path / "log.rbf")] == [1, 3]


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = RbfWriter(tmp_path / "log.rbf")
    writer.flush()
    writer.sync()
    writer.close()
    writer.close()
    for call in (lambda: writer.append(1, b""), lambda: writer.begin(1), writer.flush, writer.sync):
        with pytest.raises(ThawlineError, match="the writer is closed"):
            call()


def test_a_frame_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    path = tmp_path / "log.rbf"
    pwritev = os.pwritev

    def counted(file: int, parts: tuple[bytes, ...], at: int) -> int:
        sizes.append(pwritev(file, parts, at))
        return sizes[-1]

    monkeypatch.setattr(os, "pwritev", counted)
    monkeypatch.setattr(rbf_write, "IN_MEMORY", 100)
    with RbfWriter(path) as writer:
        writer.append(1, bytes(1 << 20))
        with writer.begin(2) as builder:
            for _ in range(50):
                builder.write(bytes(50))
    assert sizes == [4, len(encode(1, bytes(1 << 20))), len(encode(2, bytes(2500)))]


def test_two_writers_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log.rbf"
    with RbfWriter(path), pytest.raises(NotAppendable, match="another writer has it open"):
        RbfWriter(path)
    RbfWriter(path).close()


def test_a_write_that_does_not_fit_the_disk_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "log.rbf"
    old_limit, old_handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with RbfWriter(path) as writer:
        writer.append(1, b"before")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old_limit[1]))
        try:
            with pytest.raises(SourceError):
                writer.append(2, bytes(2000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
            signal.signal(signal.SIGXFSZ, old_handler)
        writer.append(3, b"after")
    assert [tag for tag, _, _ in frames(path)] == [1, 3]
    assert is_clean(path)


def test_an_interrupted_append_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(file: int, parts: tuple[bytes, ...], at: int) -> int:
        pwritev(file, parts, at)
        raise KeyboardInterrupt

    path, pwritev = tmp_path / "log.rbf", os.pwritev
    with RbfWriter(path) as writer:
        writer.append(1, b"before")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.append(2, bytes(2000))
        writer.append(3, b"after")
    assert [tag for tag, _, _ in frames(path)] == [1, 3]
    assert is_clean(path)


@pytest.fixture(scope="module")
def small() -> tuple[bytes, list[Frame]]:
    """A log with every status, a tombstone and fences in tag and payload."""
    content = [(number, b"abcdefgh"[:number], number == 3) for number in range(6)]
    content += [(0x31464252, b"RBF1", False), (7, b"RBF1RBF1..RBF1", True), (8, b"\x03\x03\x80", False)]
    return b"RBF1" + b"".join(encode(tag, payload, tombstone=dead) for tag, payload, dead in content), content


def test_every_prefix_of_a_log_reads_as_a_prefix_of_its_frames_and_can_be_continued(
    small: tuple[bytes, list[Frame]], tmp_path: Path
) -> None:
    data, content = small
    path = tmp_path / "log.rbf"
    ends = [0, 4]
    for tag, payload, dead in content:
        ends.append(ends[-1] + len(encode(tag, payload, tombstone=dead)))
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        whole = max(end for end in ends if end <= size)
        kept = content[: max(ends.index(whole) - 1, 0)]
        assert frames(path) == kept
        if size not in ends:
            with pytest.raises(NotAppendable, match="does not end in a fence after a valid frame"):
                RbfWriter(path)
            assert path.read_bytes() == data[:size]
        with RbfWriter(path, truncate_torn_tail=True) as writer:
            assert writer.truncated_bytes == size - whole
            writer.append(99, b"next")
        assert frames(path) == [*kept, (99, b"next", False)]
        assert is_clean(path)


@pytest.mark.parametrize("garbage", [b"x", b"xyz", b"RBF1", b"RBF1RBF1", bytes(1000), b"\x20\0\0\0torn"])
def test_what_follows_the_last_fence_is_cut_only_on_request(
    small: tuple[bytes, list[Frame]], tmp_path: Path, garbage: bytes
) -> None:
    data, content = small
    path = tmp_path / "log.rbf"
    path.write_bytes(data + garbage)
    with pytest.raises(NotAppendable, match="truncate_torn_tail=True"):
        RbfWriter(path)
    with RbfWriter(path, truncate_torn_tail=True) as writer:
        assert writer.truncated_bytes == len(garbage)
    assert path.read_bytes() == data
    assert frames(path) == content


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + bytes(100), b"RB", b"RBX1", b"x", bytes(64) + b"RBF1"])
def test_what_is_no_log_is_never_cut(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(data)
    if b"RBF1".startswith(data):  # a genesis fence that was torn
        assert RbfWriter(path, truncate_torn_tail=True).truncated_bytes == len(data)
        return
    with pytest.raises(NotAppendable, match="no RBF log to append to"):
        RbfWriter(path, truncate_torn_tail=True)
    assert path.read_bytes() == data


def test_a_log_of_the_newer_layout_is_never_cut(tmp_path: Path) -> None:
    size = (24).to_bytes(4, "little")
    data = b"RBF1" + size + bytes(16) + size + b"RBF1"
    (tmp_path / "new.rbf").write_bytes(data)
    with pytest.raises(NotAppendable, match="newer layout"):
        RbfWriter(tmp_path / "new.rbf", truncate_torn_tail=True)
    assert (tmp_path / "new.rbf").read_bytes() == data


def test_a_folder_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "log.rbf"):
        with pytest.raises(SourceError):
            RbfWriter(path)


def test_a_torn_frame_that_holds_a_log_is_cut_as_a_whole(small: tuple[bytes, list[Frame]], tmp_path: Path) -> None:
    data, content = small
    path = tmp_path / "log.rbf"
    outer = encode(50, data)
    path.write_bytes(data + outer[:-30])
    with RbfWriter(path, truncate_torn_tail=True) as writer:
        assert writer.truncated_bytes == len(outer) - 30
    assert frames(path) == content


def test_frames_that_may_be_payload_or_records_are_not_cut_off(
    small: tuple[bytes, list[Frame]], tmp_path: Path
) -> None:
    data, _ = small
    path = tmp_path / "log.rbf"
    path.write_bytes(torn := data + encode(50, b"some bytes first" + data)[:-30])
    with pytest.raises(NotAppendable, match="may be payload of a broken frame or records of this log"):
        RbfWriter(path, truncate_torn_tail=True)
    assert path.read_bytes() == torn


def test_a_writer_killed_at_any_moment_leaves_a_prefix_of_what_it_appended(tmp_path: Path) -> None:
    path = tmp_path / "log.rbf"
    moments = random.Random(4)
    read: list[Frame] = []
    command = [sys.executable, "-c", VICTIMS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victims:
        for _ in range(KILLS):
            acknowledged = len(read) + _appended_until_killed(victims, len(read), moments)
            read = frames(path)
            # What append returned from is there, and at most one frame more that it had not returned from.
            assert acknowledged <= len(read) <= acknowledged + 1
            assert read == [numbered(number) for number in range(len(read))]
        victims.stdin.close()  # type: ignore[union-attr]
    assert len(read) > KILLS
    with RbfWriter(path, truncate_torn_tail=True) as writer:
        writer.append(b"LAST", b"")
    assert is_clean(path)
    assert len(frames(path)) == len(read) + 1


def _appended_until_killed(victims: subprocess.Popen[bytes], start: int, moments: random.Random) -> int:
    """Have frames appended by a process, and kill it; gives how many it said were appended."""
    assert victims.stdin
    assert victims.stdout
    victims.stdin.write(b"%d\n" % start)
    victims.stdin.flush()
    victim = int(victims.stdout.readline())
    seen = victims.stdout.read(moments.randrange(12))
    time.sleep(moments.random() * 0.01)
    os.kill(victim, signal.SIGKILL)
    return (seen + victims.stdout.readline()).count(b".")


def test_a_batch_without_a_column_is_refused_by_name(tmp_path: Path) -> None:
    with RbfWriter(tmp_path / "x.rbf") as writer, pytest.raises(BadFrame, match="needs the column payload"):
        writer.append_batch(pa.record_batch({"tag": [1]}))
