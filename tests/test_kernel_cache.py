"""The cache of kernels: compiled once, complete or not there, and never code that somebody else has put there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from thawline.compiler import kernel_cache
from thawline.compiler.kernel_cache import NoCache, NoCompiler, kernel

pytestmark = pytest.mark.skipif(bool(kernel_cache.missing()), reason="needs a C compiler")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THAWLINE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


class Compiler:
    """Writes the source as if it were compiled, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, source: str, folder: Path, name: str) -> Path:
        self.calls += 1
        made = folder / f"{name}.so"
        made.write_text(source, encoding="utf-8")
        return made


def made(compiler: Compiler, key: str = "key", said: list[str] | None = None) -> Path:
    told = said if said is not None else []
    return kernel(f"source of {key}", compiler, lambda: told.append(key))


@pytest.mark.usefixtures("cache")
def test_a_spec_is_compiled_once() -> None:
    compiler, said = Compiler(), list[str]()
    first, second = made(compiler, said=said), made(compiler, said=said)
    assert first == second
    assert first.read_text() == "source of key"
    assert (compiler.calls, said) == (1, ["key"])


def test_another_spec_or_another_version_is_another_kernel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler()
    made(compiler)
    made(compiler, "other")
    monkeypatch.setattr(kernel_cache, "__version__", "9.9")
    made(compiler)
    assert compiler.calls == 3
    assert len(list(cache.glob("*.so"))) == 3


def test_nobody_else_can_read_or_write_there(cache: Path) -> None:
    place = made(Compiler())
    assert cache.stat().st_mode & 0o777 == 0o700
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720])
def test_a_folder_that_others_can_write_is_not_used(cache: Path, mode: int) -> None:
    cache.mkdir(parents=True)
    cache.chmod(mode)
    with pytest.raises(NoCache, match="can be written by other users"):
        made(Compiler())


def test_a_folder_below_one_that_others_can_write_is_not_used(cache: Path) -> None:
    cache.parent.mkdir()
    cache.parent.chmod(0o777)
    with pytest.raises(NoCache, match="can be written by other users"):
        made(Compiler())


def test_a_link_is_not_followed(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    cache.parent.mkdir()
    cache.symlink_to(tmp_path / "theirs")
    with pytest.raises(NoCache, match="is a link"):
        made(Compiler())


@pytest.fixture
def foreign() -> Iterator[int]:
    if os.geteuid():
        pytest.skip("only root can give files to another user")
    return 65534


def test_a_folder_of_another_user_is_not_used(cache: Path, foreign: int) -> None:
    cache.mkdir(parents=True, mode=0o700)
    os.chown(cache, foreign, foreign)
    with pytest.raises(NoCache, match="belongs to another user"):
        made(Compiler())


def test_a_kernel_of_another_user_is_not_run(foreign: int, cache: Path) -> None:
    place = made(Compiler())
    os.chown(place, foreign, foreign)
    with pytest.raises(NoCache, match="not this user's own file"):
        made(Compiler())
    assert place.parent == cache


@pytest.mark.usefixtures("cache")
def test_a_kernel_that_others_can_write_is_not_run() -> None:
    made(Compiler()).chmod(0o722)
    with pytest.raises(NoCache, match="not this user's own file"):
        made(Compiler())


def test_a_kernel_that_is_half_written_never_appears(cache: Path) -> None:
    def torn(source: str, folder: Path, name: str) -> Path:
        (folder / f"{name}.so").write_text(source[:3], encoding="utf-8")
        raise NoCompiler("the compiler was killed")

    with pytest.raises(NoCompiler):
        kernel("source", torn, lambda: None)
    assert list(cache.glob("*.so")) == []
    assert made(Compiler()).read_text() == "source of key"
    assert [path.name for path in cache.iterdir() if path.name.startswith(".making-")] == []


@pytest.mark.usefixtures("cache")
def test_processes_that_need_the_same_kernel_compile_it_once() -> None:
    compiler, found, ready = Compiler(), list[Path](), threading.Barrier(4)

    def work() -> None:
        ready.wait()
        found.append(made(compiler))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiler.calls == 1
    assert len(set(found)) == 1


def test_what_is_kept_is_listed_and_cleared(cache: Path) -> None:
    made(Compiler())
    made(Compiler(), "other")
    assert len(kernel_cache.kept()) == 2
    assert len(kernel_cache.clear()) == 2
    assert kernel_cache.kept() == []
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_a_kernel_from_another_machine_is_kept_as_a_file_of_this_one() -> None:
    first = kernel_cache.keep(f"0123{kernel_cache.SUFFIX}", b"code")
    assert first.read_bytes() == b"code"
    assert kernel_cache.keep(first.name, b"code") == first


def test_without_a_compiler_nothing_is_compiled_and_it_is_said_why(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache, "which", lambda _name: None)
    with pytest.raises(NoCompiler, match="no C compiler"):
        made(Compiler())
    assert list(cache.glob("*.so")) == []
