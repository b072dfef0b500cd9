from __future__ import annotations

from pathlib import Path

import thawline.generated
import thawline.schemas
from conftest import ROOT
from thawline.generated.parsers.kafka_record_batch import KafkaRecordBatch


def test_the_editable_install_serves_the_top_level_folders() -> None:
    assert Path(thawline.generated.__file__).parent == ROOT / "generated"
    assert Path(thawline.schemas.__file__).parent == ROOT / "schemas"
    assert KafkaRecordBatch.__module__ == "thawline.generated.parsers.kafka_record_batch"
