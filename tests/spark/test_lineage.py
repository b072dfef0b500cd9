"""What a run read and wrote is told as an event of OpenLineage, to a file or to a collector."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from lakes import Alone

from thawline.cli import run

LOG = Path(__file__).parents[1] / "golden" / "rbf" / "many-frames.rbf"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thawline.spark.session", lambda *_: Alone())


@pytest.fixture
def cold(tmp_path: Path) -> Path:
    made = tmp_path / "cold"
    made.mkdir()
    shutil.copy(LOG, made)
    return made


@pytest.fixture
def collector() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An HTTP server, and the events that were posted to it."""
    events: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api/v1/lineage", events
    server.shutdown()


def check(told: dict[str, Any], cold: Path, lake: Path) -> None:
    assert (told["eventType"], told["job"]) == ("COMPLETE", {"namespace": "thawline", "name": f"ingest {lake}"})
    assert told["inputs"] == [{"namespace": "file", "name": str(cold)}]
    (written,) = told["outputs"]
    assert (written["namespace"], written["name"]) == ("file", str(lake / "tables" / "rbf_frames"))
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 40


def test_an_event_is_appended_to_a_file(cold: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    for _ in range(2):
        assert run(["ingest", str(cold), "--to", str(tmp_path / "lake"), "--lineage", str(events)]) == 0
    first, second = map(json.loads, events.read_text().splitlines())
    check(first, cold, tmp_path / "lake")
    assert second["outputs"] == []
    assert first["run"]["runId"] != second["run"]["runId"]


def test_an_event_is_posted_to_a_collector(
    cold: Path, tmp_path: Path, collector: tuple[str, list[dict[str, Any]]]
) -> None:
    url, events = collector
    assert run(["ingest", str(cold), "--to", str(tmp_path / "lake"), "--lineage", url]) == 0
    check(events[0], cold, tmp_path / "lake")


def test_a_run_that_fails_is_told_as_such(cold: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    (tmp_path / "lake" / "_ingest" / "journal").mkdir(parents=True)
    assert run(["ingest", str(cold), "--to", str(tmp_path / "lake"), "--lineage", str(events)]) == 2
    assert json.loads(events.read_text())["eventType"] == "FAIL"


def test_a_collector_that_is_not_there_is_a_sentence(
    cold: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["ingest", str(cold), "--to", str(tmp_path / "lake"), "--lineage", "http://127.0.0.1:9/x"]) == 2
    assert "http://127.0.0.1:9/x: was not told of the lineage" in capfd.readouterr().err
