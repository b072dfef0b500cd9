"""metadata.yaml is hostile input: whatever is in it costs little, and is a count or the reason why it is none."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from backups import HEADER, numbered
from in_process import on_pipe
from seeds import SEED

import thawline
from thawline.formats.aerospike.folder import LARGEST_METADATA, Metadata, NoMetadata, metadata_of
from tools.mutants import mutants

WRITTEN = b"""\
from: 0001-01-01T00:00:00Z
created: 2024-02-21T11:08:05.123Z
namespace: test
record-count: 1
byte-count: 99
file-count: 1
secondary-index-count: 0
udf-count: 0
key: {nested: [1, "2"]}
"""
BOMB = "".join(f"a{level}: &a{level} {{<<: [*a{level - 1}, *a{level - 1}]}}\n" for level in range(1, 60))
HOSTILE = {
    "a boolean by tag": "record-count: 1\nx: !!bool maybe\n",
    "a timestamp by tag": "record-count: 1\nx: !!timestamp foo\n",
    "a number by tag": "record-count: !!int '1'\n",
    "code by tag": "record-count: 1\nx: !!python/object/apply:os.system [id]\n",
    "a merge bomb": f"a0: &a0 {{k: 0}}\n{BOMB}record-count: 1\n",
    "a bomb of aliases": "a: &a [x, x]\nb: &b [*a, *a]\nrecord-count: 1\n",
    "a count beyond 64 bits": "record-count: 99999999999999999999999999\n",
    "a count just beyond 64 bits": "record-count: 9223372036854775808\n",
    "another count beyond 64 bits": f"record-count: 1\nbyte-count: {10**60}\n",
    "a count of many digits": f"record-count: {'9' * 8000}\n",
    "a count that is less than nothing": "record-count: -1\n",
    "a count that is text": "record-count: '1'\n",
    "a count that is a truth": "record-count: true\n",
    "a count that is a fraction": "record-count: 1.0\n",
    "a count in base 60": "record-count: 1:30\n",
    "a count in base 8": "record-count: 017\n",
    "a count that is nothing": "record-count:\n",
    "a count that is a list": "record-count: [1]\n",
    "a namespace that is a list": "record-count: 1\nnamespace: [a]\n",
    "a namespace that is a mapping": "record-count: 1\nnamespace: {a: b}\n",
    "a name that is a list": "record-count: 1\n? [a, b]\n: 1\n",
    "a name twice": "record-count: 1\nrecord-count: 2\n",
    "a list": "- record-count\n",
    "no count": "namespace: test\n",
    "nothing": "",
    "deep brackets": "[" * 15000,
    "deep braces": "record-count: 1\nx: " + "{a: " * 3000,
    "deep dashes": "record-count: 1\nx:\n " + "- " * 7000,
    "deep questions": "? " * 7000,
    "a character that is none": 'record-count: "\\UFFFFFFFF"\n',
    "half a character": 'record-count: 1\nx: "\\uD800"\nx: 1\n',
    "too large": "record-count: 1\n" + "#" * LARGEST_METADATA,
}


def backup(folder: Path, text: str | bytes) -> Path:
    """A folder with one file of one record, and metadata."""
    (folder / "a.asb").write_bytes(HEADER + b"# first-file\n" + numbered(1))
    (folder / "metadata.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def test_what_the_service_writes_is_read() -> None:
    counts = {"record-count": 1, "byte-count": 99, "file-count": 1, "secondary-index-count": 0, "udf-count": 0}
    assert metadata_of(WRITTEN) == Metadata("test", counts)
    assert metadata_of(b'{"record-count": 9223372036854775807, "namespace": "a b"}').namespace == "a b"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_metadata_is_a_remark_with_its_reason(tmp_path: Path, name: str) -> None:
    started = time.process_time()
    (finding,) = list(thawline.open_folder(backup(tmp_path, HOSTILE[name])).reports())[-1].findings
    assert time.process_time() - started < 1
    assert finding.code.id == "ASB208"
    assert str(finding.detail["reason"])
    assert len(str(finding.detail["reason"])) < 200


def test_metadata_that_cannot_be_opened_is_a_remark(tmp_path: Path) -> None:
    opened = thawline.open_folder(backup(tmp_path, "record-count: 1\n"))
    opened.folder.files()
    (tmp_path / "metadata.yaml").unlink()
    (finding,) = list(opened.reports())[-1].findings
    assert finding.code.id == "ASB208"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_metadata_becomes_json(tmp_path: Path, name: str) -> None:
    found = on_pipe(["verify", str(backup(tmp_path, HOSTILE[name]))], tmp_path)
    assert found.code == 0
    assert json.loads(found.out.splitlines()[-1])["findings"][0]["code"] == "ASB208"


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.fuzz)])
def test_mutants_of_metadata_are_read_or_refused(count: int) -> None:
    texts = [WRITTEN, *(text.encode() for text in HOSTILE.values() if len(text) < 500)]
    for text in texts:
        for mutant in mutants(text, SEED, count // len(texts) + 1):
            with suppress(NoMetadata):
                found = metadata_of(mutant)
                assert all(0 <= number < 1 << 63 for number in found.counts.values()), (SEED, mutant)
