"""The page that a run leaves in its lake."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from accounts import GOLDEN
from lakes import Alone

from thawline.spark import pipeline

LOG = (GOLDEN / "rbf/many-frames.rbf").read_bytes()
TORN = LOG[:800] + bytes([LOG[800] ^ 0x55]) + LOG[801:]


def words(page: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", page).split())


def ingest(cold: Path | str, lake: Path | str) -> None:
    pipeline.ingest(Alone(), [str(cold)], lake)  # type: ignore[arg-type]


def test_a_run_leaves_a_page_with_verdict_findings_bytes_and_what_was_not_read(tmp_path: Path) -> None:
    cold, lake = tmp_path / "cold", tmp_path / "lake"
    cold.mkdir()
    (cold / "good.rbf").write_bytes(LOG)
    (cold / "torn.rbf").write_bytes(TORN)
    (cold / "notes.txt").write_text("nothing of interest")
    ingest(cold, lake)
    page = (lake / "report.html").read_text(encoding="utf-8")
    assert "<h1" in page
    told = words(page)
    assert "1 of 2 files is damaged" in told
    assert "1 other file not looked at" in told
    assert "torn.rbf rbf" in told
    assert "thawline inspect" in told
    assert "<pre" in page


def test_the_page_is_about_the_lake_and_not_about_the_last_run(tmp_path: Path) -> None:
    cold, lake = tmp_path / "cold", tmp_path / "lake"
    cold.mkdir()
    (cold / "torn.rbf").write_bytes(TORN)
    ingest(cold, lake)
    (cold / "good.rbf").write_bytes(LOG)
    ingest(cold, lake)
    assert "1 of 2 files is damaged" in words((lake / "report.html").read_text(encoding="utf-8"))
    (cold / "torn.rbf").unlink()
    ingest(cold, lake)
    told = words((lake / "report.html").read_text(encoding="utf-8"))
    assert "1 of 2 files is damaged" in told
    assert "1 file is gone from its source, and its rows are kept" in told


def test_a_run_that_finds_nothing_new_leaves_the_page_alone(tmp_path: Path) -> None:
    cold, lake = tmp_path / "cold", tmp_path / "lake"
    cold.mkdir()
    (cold / "good.rbf").write_bytes(LOG)
    ingest(cold, lake)
    written = (lake / "report.html").stat().st_mtime_ns
    ingest(cold, lake)
    assert (lake / "report.html").stat().st_mtime_ns == written
    (lake / "report.html").unlink()
    ingest(cold, lake)
    assert (lake / "report.html").exists()


def test_a_lake_in_a_bucket_has_its_page_there(s3: Any, tmp_path: Path) -> None:
    s3.create_bucket(Bucket="paged")
    (tmp_path / "torn.rbf").write_bytes(TORN)
    ingest(tmp_path, "s3://paged/lake")
    page = s3.get_object(Bucket="paged", Key="lake/report.html")["Body"].read().decode()
    assert "1 of 1 file is damaged" in words(page)
