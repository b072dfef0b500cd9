from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from inspect import signature
from pathlib import Path
from types import ModuleType

import pytest
from accounts import GOLDEN, golden_files
from engines import plainly
from thawline.generated.kernels import constants

import thawline
from thawline import specs
from thawline.cold import ColdFile
from thawline.errors import SourceError
from thawline.formats import FORMATS
from thawline.native import fast, plain
from tools.stubs import STUB, stub

WITHOUT_CYTHON = """
import sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name in {"cython", "Cython"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refused())
"""
LOAD = f"""{WITHOUT_CYTHON}
from thawline.native import plain
print(len(dir(plain)), "cython" in sys.modules)
"""
LONGEST = 100_000
"""Longer files take long to be read object by object; there are few."""
RUN = f"{WITHOUT_CYTHON}\nfrom thawline.cli import run; sys.exit(run(sys.argv[1:]))"


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_sources_run_without_cython_and_nobody_else_is_told_there_is_one() -> None:
    run = python(LOAD)
    assert (run.returncode, run.stderr) == (0, "")
    count, is_there = run.stdout.split()
    assert (int(count) > 60, is_there) == (True, "False")


def functions_of(module: ModuleType) -> dict[str, list[str]]:
    """The public functions that a module has, each with the names of its parameters."""
    found = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    return {name: list(signature(value).parameters) for name, value in found.items() if name != "array"}


def test_every_compiled_function_has_a_plain_twin_with_the_same_parameters() -> None:
    twins = functions_of(plain)
    compiled = functions_of(fast)
    assert len(compiled) > 60
    assert {name: twins.get(name) for name in compiled} == compiled


def test_the_stub_is_what_the_sources_give() -> None:
    assert STUB.read_text(encoding="utf-8") == stub()


def test_letters_of_native_code_are_those_of_the_parsers() -> None:
    parser = specs.parser("aerospike_record")
    for prefix, enum in (("BIN_TYPE_", parser.BinType), ("KEY_TYPE_", parser.KeyType)):
        found = {name: value for name, value in vars(constants).items() if name.startswith(prefix)}
        assert found.pop(f"{prefix}NAMES") == {member.value: member.name for member in enum}
        assert found == {f"{prefix}{member.name.upper()}": member.value for member in enum}


@pytest.mark.parametrize("format_", sorted(FORMATS))
def test_the_golden_files_read_the_same_with_and_without_the_extension_module(format_: str) -> None:
    for golden in golden_files(format_):
        if len(golden.data) > LONGEST:
            continue
        compiled = everything(golden.file, format_)
        with plainly():
            assert everything(golden.file, format_) == compiled, golden.name


def everything(path: Path, format_: str) -> list[object]:
    """What is in a file: counts, findings, and all rows of all its tables."""
    with thawline.open(path, format_) as cold:
        report = cold.verify()
        found: list[object] = [report.units, report.rows, report.intact_bytes, report.damaged_bytes]
        # The plain parsers do not say why a field fails, so details may differ.
        found += [(finding.code, finding.span) for finding in report.findings]
        for table in cold.format.tables:
            with suppress(SourceError):  # this kind of file has no such table
                found += [str(batch.to_pylist()) for batch in ColdFile(cold.source, cold.format, table).batches()]
        return found


def test_backups_have_the_same_rows_without_the_native_module_and_without_cython() -> None:
    path = str(GOLDEN / "aerospike" / "bins.asb")
    plain = python(RUN, "cat", path, THAWLINE_NATIVE="0")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout == python(RUN, "cat", path).stdout
    assert '{\\"$bytes\\": \\"AP8K\\"}' in plain.stdout  # a collection, which the longest of the loops writes


SCANNED = {
    "rbf_frames": "rbf/many-frames.rbf", "borg_blobs": "borg/none-types.pack",
    "kafka_batches": "kafka/many-records.log",
    "kafka_messages": "kafka/v1-plain.log", "kafka_time_index": "kafka/many-records.timeindex",
}  # fmt: skip


SCAN = """
import sys
from pathlib import Path
{before}
from thawline.engine import columns
for table, path in zip(sys.argv[1::2], sys.argv[2::2]):
    for part in columns.scan(table, Path(path).read_bytes(), max_rows=5):
        print(part.batch.to_pylist() if isinstance(part, columns.Chunk) else (part.failure.path, part.start, part.at))
"""


def scanned(before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    arguments = [word for table, path in SCANNED.items() for word in (table, str(GOLDEN / path))]
    command = [sys.executable, "-c", SCAN.format(before=before), *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)


def test_switched_off_the_parsers_serve_the_same_rows_in_silence() -> None:
    native, plainly = scanned(), scanned(THAWLINE_NATIVE="0")
    assert plainly.stdout == native.stdout
    assert len(native.stdout.splitlines()) > len(SCANNED)
    assert (native.stderr, plainly.stderr) == ("", "")


def test_where_it_is_not_built_the_parsers_serve_the_same_rows_and_one_line_says_so() -> None:
    plainly = scanned(before='sys.modules["thawline.native.fast"] = None')
    assert plainly.stdout == scanned().stdout
    assert plainly.stderr == (
        "thawline: the native module is not built; reading with the plain parsers, which is slower\n"
    )
