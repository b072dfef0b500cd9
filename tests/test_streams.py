"""Streams that are closed or full, signals that end a command, what a killed one leaves, and too little memory."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard
from accounts import GOLDEN

from thawline import codecs, partials, specs
from thawline.outputs import replacing

LOG = GOLDEN / "rbf/many-frames.rbf"
THAWLINE = f"{sys.executable} -m thawline"


def shell(line: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `thawline` is the command and `LOG` is a file."""
    text = f'thawline() {{ {THAWLINE} "$@"; }}; {line.replace("LOG", str(LOG))}'
    environment = {**os.environ, **more}
    return subprocess.run(
        ["bash", "-c", text], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def partial_names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix == ".partial"]


@pytest.mark.parametrize(
    "command", ["cat LOG", "cat LOG --format csv", "cat LOG --format arrow", "verify LOG", "LOG", "help rbf"]
)
@pytest.mark.parametrize("target, why", [("/dev/full", "No space left on device"), ("&-", "Bad file descriptor")])
def test_a_stdout_that_takes_nothing_is_one_sentence(tmp_path: Path, command: str, target: str, why: str) -> None:
    ran = shell(f"thawline {command} >{target}", tmp_path)
    assert (ran.returncode, ran.stderr) == (2, f"thawline: stdout: cannot be written: {why}\n")


def test_a_closed_stdin_is_one_sentence_for_who_reads_it(tmp_path: Path) -> None:
    ran = shell("thawline cat - <&-", tmp_path)
    assert (ran.returncode, ran.stderr) == (2, "thawline: <stdin>: Bad file descriptor\n")
    assert shell("thawline verify LOG <&-", tmp_path).returncode == 0


@pytest.mark.parametrize("stderr", ["&-", "/dev/full"])
def test_remarks_that_cannot_be_said_change_nothing_else(tmp_path: Path, stderr: str) -> None:
    assert shell(f"thawline cat nosuch 2>{stderr}", tmp_path).returncode == 2
    ran = shell(f"thawline cat LOG nosuch 2>{stderr}", tmp_path)
    assert (ran.returncode, len(ran.stdout.splitlines())) == (2, 40)


def test_a_reader_of_remarks_who_goes_does_not_stop_the_work(tmp_path: Path) -> None:
    (tmp_path / "hurt.rbf").write_bytes(LOG.read_bytes()[:-4] + b"torn")
    ran = shell("thawline convert hurt.rbf -o out.jsonl 2> >(exec true); echo $?", tmp_path)
    assert (ran.stdout, (tmp_path / "out.jsonl").exists()) == ("1\n", True)


def test_no_output_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    assert shell("thawline convert LOG -o out.jsonl <&- >&- 2>&-", tmp_path).returncode == 0
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 40


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_letters_gets_them_escaped(tmp_path: Path, encoding: str) -> None:
    ran = shell("thawline cat LOG --format table", tmp_path, PYTHONIOENCODING=encoding, COLUMNS="40")
    assert ran.returncode == 0, ran.stderr
    assert "\\u2026" in ran.stdout


@contextmanager
def half_written(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command that has begun to write and waits for more to read."""
    line = ["env", "--default-signal=HUP", sys.executable, "-m", "thawline", "convert", "-", "-o", "out.jsonl"]
    with subprocess.Popen(line, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        before = time.monotonic()
        while not partial_names(folder):
            assert time.monotonic() < before + 60
            time.sleep(0.02)
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    "number, code, word",
    [
        (signal.SIGTERM, 143, b"stopped by SIGTERM"),
        (signal.SIGHUP, 129, b"stopped by SIGHUP"),
        (signal.SIGINT, 130, b"interrupted"),
    ],
)
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, code: int, word: bytes) -> None:
    with half_written(tmp_path) as process:
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr
        assert process.stderr.read() == b"thawline: " + word + b"\n"
    assert list(tmp_path.iterdir()) == []


def test_nohup_is_obeyed(tmp_path: Path) -> None:
    code = "import signal; from thawline.cli.streams import heed_signals as heed; heed(); "
    code += "print(signal.getsignal(1) is signal.SIG_IGN)"
    ran = shell(f"trap '' HUP; exec {sys.executable} -c {code!r}", tmp_path)
    assert ran.stdout == "True\n", ran.stderr


def test_what_a_killed_run_left_goes_with_the_next_one(tmp_path: Path) -> None:
    with half_written(tmp_path) as process:
        process.kill()
        process.wait(60)
        (left,) = partial_names(tmp_path)
    ran = shell("thawline convert LOG -o other.jsonl", tmp_path)
    assert f"thawline: removed {tmp_path.resolve() / left}, which a run that was killed has left\n" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other.jsonl"]


def test_what_another_run_is_writing_stays(tmp_path: Path) -> None:
    with half_written(tmp_path) as process:
        ran = shell("thawline convert LOG -o other.jsonl", tmp_path)
        assert ran.stderr == "thawline: wrote 40 rows to other.jsonl\n"
        process.communicate(LOG.read_bytes(), 60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.jsonl", "out.jsonl"]


@pytest.mark.parametrize("name", ["{}x", ".thawline-.partial", ".thawline-0123456789ab.partial", "thawline.partial"])
def test_what_is_not_ours_stays(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.format(partials.new(tmp_path / "out").name)
    path.touch()
    ran = shell("thawline convert LOG -o out.jsonl", tmp_path)
    assert path.exists()
    assert ran.stderr == "thawline: wrote 40 rows to out.jsonl\n"


def test_what_was_left_on_another_machine_is_named_and_stays(tmp_path: Path) -> None:
    path = tmp_path / ".thawline-00000000-0123456789ab.partial"
    path.touch()
    ran = shell("thawline convert LOG -o out.jsonl", tmp_path)
    assert f"if not: rm {path.resolve()}\n" in ran.stderr
    assert path.exists()
    assert shell("thawline convert LOG -q -o out2.jsonl", tmp_path).stderr == ""


def test_a_link_or_folder_with_the_name_of_a_leftover_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"x")
    partials.new(tmp_path / "out").symlink_to("precious")
    partials.new(tmp_path / "out").mkdir()
    os.mkfifo(partials.new(tmp_path / "out"))
    with replacing(tmp_path / "out"):
        pass
    assert len(list(tmp_path.iterdir())) == 5


def test_a_file_that_was_taken_for_a_leftover_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, taken = partials.lock, []

    def late(descriptor: int) -> bool:
        if not taken:
            taken.extend(tmp_path.iterdir())
            taken[0].unlink()  # by another run, before it was locked
        return lock(descriptor)

    monkeypatch.setattr(partials, "lock", late)
    with replacing(tmp_path / "out") as file:
        file.write(b"whole")
    assert (tmp_path / "out").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("limit", [32, 100, 200, 300])
@pytest.mark.parametrize("command", ["verify LOG", "cat LOG --format csv", "convert LOG -o out.parquet", "help kafka"])
def test_a_limit_too_low_for_anything_is_one_sentence(tmp_path: Path, limit: int, command: str) -> None:
    ran = shell(f"ulimit -v {limit << 10}; thawline {command}", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"thawline: not enough memory: the limit (ulimit -v) is {limit} MiB")
    assert len(ran.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["verify LOG", "cat LOG --format csv", "convert LOG -o out.parquet", "stats LOG"])
def test_the_least_memory_that_is_asked_for_is_enough(tmp_path: Path, command: str) -> None:
    ran = shell(f"ulimit -v {512 << 10}; thawline {command}", tmp_path)
    assert ran.returncode == 0, ran.stderr


FAILING = """
import sys, thawline.verbs.cat as cat
from thawline.cli import run
def fail(*_, **__): raise {error}
cat.cat = fail
sys.exit(run(["cat", {log!r}]))
"""


@pytest.mark.parametrize(
    "error",
    ["MemoryError",
     "__import__('pyarrow').ArrowMemoryError('malloc of size 9 failed')",
     "OSError(12, 'Cannot allocate memory')",
     "ImportError('libx.so: failed to map segment from shared object')"],
)  # fmt: skip
def test_a_lack_of_memory_is_one_sentence_that_says_what_helps(error: str) -> None:
    code = FAILING.format(error=error, log=str(LOG))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("thawline: not enough memory; what helps: a higher limit (ulimit -v)")
    assert len(ran.stderr.splitlines()) == 1


def test_an_error_near_the_limit_is_taken_for_a_lack_of_memory(tmp_path: Path) -> None:
    fill = "import resource, mmap; a, _ = resource.getrlimit(resource.RLIMIT_AS); held = []\n"
    fill += "try:\n    while True: held.append(mmap.mmap(-1, 1 << 23))\nexcept (OSError, MemoryError): held.pop()\n"
    code = FAILING.format(error="TypeError('odd')", log=str(LOG)).replace("sys.exit", fill + "sys.exit")
    (tmp_path / "fail.py").write_text("import thawline.cli.session, thawline.rendering.rows\n" + code)
    ran = shell(f"ulimit -v {900 << 10}; {sys.executable} fail.py", tmp_path, OPENBLAS_NUM_THREADS="1")
    assert (ran.returncode, "not enough memory" in ran.stderr, "Traceback" in ran.stderr) == (2, True, False)


SQUEEZED = """
import resource, sys
import thawline.cli.checks, thawline.cli.session, thawline.rendering.findings
from thawline.cli import run
run(["verify", {good!r}, "--quiet", "--format", "jsonl"])
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + (80 << 20),) * 2)
sys.exit(run(["verify", {path!r}, "--format", "jsonl"]))
"""


def wide_window() -> bytes:
    """A segment of RBAK whose payload takes 128 MiB to decompress, as zstd --long=27 writes it."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, write_content_size=False)
    compressing = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    covered = b"RBAK" + struct.pack("<BBHQqq", 1, 1, 0, 1, 1, 1) + compressing.compress(b"\2\0\0\0{}")
    covered += compressing.flush()
    return covered + zlib.crc32(covered).to_bytes(4, "little") + b"KABR"


def test_memory_that_a_codec_lacks_is_no_damage_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "w.zst").write_bytes(wide_window())
    good = str(GOLDEN / "rbak" / "codec-zstd.zst")
    code = SQUEEZED.format(good=good, path=str(tmp_path / "w.zst"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.startswith("thawline: not enough memory")) == (2, True), ran
    assert "w.zst" not in ran.stdout, "a file that nobody could look into is not told to be damaged"


@pytest.mark.parametrize(
    "error",
    [
        zstandard.ZstdError("zstd decompressor error: Allocation error : not enough memory"),
        zlib.error("Error -4 while decompressing data: insufficient memory"),
    ],
)
def test_what_a_codec_says_of_memory_is_told_apart_from_damage(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Iterator[bytes]:
        yield b""
        raise error

    monkeypatch.setitem(codecs._CODECS, "zstd", fail)
    with pytest.raises(MemoryError):
        codecs.decompress("zstd", b"")


def test_memory_that_a_parser_lacks_is_no_damage_of_the_file() -> None:
    def fail() -> None:
        with specs.translated("rbf_address", bytes(8)):
            raise MemoryError

    with pytest.raises(MemoryError):
        fail()
