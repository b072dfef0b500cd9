"""The compiled reader of a spec gives what the uncompiled one gives, and tasks elsewhere compile nothing."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_described import FILE, LOG

import thawline
from thawline import native
from thawline.compiler import kernel_cache
from thawline.formats.described import Described, opening

pytestmark = [
    pytest.mark.skipif(bool(kernel_cache.missing()), reason="needs a C compiler"),
    pytest.mark.skipif(not native.is_compiled, reason="nothing native is wanted"),
]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compiled")
    (made / "event_log.ksy").write_text(LOG, encoding="utf-8")
    return made / "event_log.ksy"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("THAWLINE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def outcome(data: bytes, spec: Path) -> tuple[Any, ...]:
    report = thawline.verify(data, spec=spec)
    with thawline.open(data, spec=spec, table="notes" if "notes" in str(spec) else None) as cold:
        rows = [row for batch in cold.batches() for row in batch.to_pylist()]
    return rows, [finding.to_dict() for finding in report.findings], report.units, report.intact_bytes


def mutants() -> list[bytes]:
    chance, made = random.Random(11), [FILE]
    for _ in range(60):
        data = bytearray(FILE * 2)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 4)] = chance.randbytes(chance.randint(0, 4))
        made.append(bytes(data))
    return made


def test_compiled_and_uncompiled_agree_on_rows_and_findings(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = [outcome(data, spec) for data in mutants()]
    assert len(kernel_cache.kept()) == 1
    monkeypatch.setattr(opening, "_native", lambda *_arguments: None)
    assert compiled == [outcome(data, spec) for data in mutants()]


def test_another_process_takes_the_kernel_with_the_spec_and_compiles_nothing(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(pickle.dumps(Described.of(spec)))
    code = (
        "import pickle, sys\n"
        "from thawline.compiler import kernel_cache\n"
        "kernel_cache.missing = lambda: 'no compiler here'\n"
        "made = pickle.loads(open(sys.argv[1], 'rb').read())\n"
        "print(made.kind.layout.program.is_compiled, made.name)\n"
    )
    environment = {"THAWLINE_CACHE": str(tmp_path / "elsewhere"), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "sent")],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("True event_log\n", "")
