"""`make demo`: cold files of a shop that lost its brokers, taken in on Spark, and questions to what came out."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from thawline.cli.ingest import talking_to
from thawline.formats import FORMATS
from thawline.formats.kafka.writer import KafkaSegmentWriter
from thawline.formats.rbf.writer import RbfWriter
from thawline.spark import session
from tools.damage import damaged

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
PLACE = ROOT / "build" / "demo"
ORDERS = 20_000
NOON = 1_794_830_400_000
TAG = int.from_bytes(b"AUDT", "little")

QUERIES = {
    "Which files are damaged, and how much of them is left?": """
        SELECT format, regexp_extract(path, '[^/]+$', 0) AS file, intact_bytes, damaged_bytes, rows
        FROM files WHERE status = 'damaged' ORDER BY format, file""",
    "What is wrong, in the words of those who have lost it?": """
        SELECT code, message, lost, count(*) AS times FROM findings
        WHERE severity = 'error' GROUP BY ALL ORDER BY code, lost LIMIT 8""",
    "Orders that Kafka still has, by whether the audit log knows them: two formats, joined": """
        WITH orders AS (SELECT cast(key AS string) AS id, get_json_object(cast(value AS string), '$.total') AS total
                        FROM kafka_records),
             audit AS (SELECT cast(payload AS string) AS id FROM rbf_frames WHERE tag_text = 'AUDT')
        SELECT audit.id IS NOT NULL AS audited, count(*) AS orders, round(sum(cast(total AS double)), 2) AS total
        FROM orders LEFT JOIN audit USING (id) GROUP BY 1 ORDER BY 1""",
}


def build(folder: Path) -> None:
    """The cold files: some of each format, some of them damaged."""
    random = Random(7)  # noqa: S311 - sample data
    for number in range(2):
        partition = folder / "kafka" / f"orders-{number}"
        partition.mkdir(parents=True)
        with KafkaSegmentWriter(partition, compression="zstd", batch_records=200, segment_bytes=1 << 18) as segments:
            for order in range(number, ORDERS, 2):
                value = b'{"order": %d, "total": %.2f}' % (order, random.uniform(1, 500))
                segments.append(key=b"order-%d" % order, value=value, timestamp=NOON + 250 * order)
    (folder / "rbf").mkdir()
    log = RbfWriter(folder / "rbf" / "audit.rbf")
    for order in range(0, ORDERS, 3):
        log.append(TAG, b"order-%d" % order)
    log.close()
    for name in ("rbak", "aerospike", "borg"):
        if name in FORMATS:
            (folder / name).mkdir()
            for file in sorted((GOLDEN / name).iterdir()):
                if file.suffix not in {".json", ".bin"} and file.stat().st_size > 200:  # noqa: PLR2004
                    shutil.copy(file, folder / name / file.name)


def harm(folder: Path) -> None:
    """Damage to one file of each format, as a disk or a cut copy does it."""
    for name in ("kafka/orders-0", "rbf", "rbak", "aerospike", "borg"):
        files = [file for file in sorted((folder / name).glob("*")) if file.suffix not in {".index", ".timeindex"}]
        if files:
            data = files[0].read_bytes()
            files[0].write_bytes(damaged(data, "zero" if len(data) > 1 << 16 else "flip", 3).data)


def main() -> int:
    """Build, damage, take in, and ask."""
    begun = time.monotonic()
    shutil.rmtree(PLACE, ignore_errors=True)
    cold, lake = PLACE / "cold", PLACE / "lake"
    cold.mkdir(parents=True)
    build(cold)
    harm(cold)
    print(f"$ thawline ingest {cold.relative_to(ROOT)} --to {lake.relative_to(ROOT)}\n", flush=True)
    command = [
        sys.executable,
        "-m",
        "thawline",
        "ingest",
        str(cold),
        "--to",
        str(lake),
        "--format",
        "table",
        "--exit-zero",
    ]
    code = subprocess.run(command, check=False).returncode
    with talking_to(lake / "_ingest" / "spark.log"):
        spark = session(configuration={"spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "2"})
    for folder in [lake / "files", lake / "findings", *sorted((lake / "tables").iterdir())]:
        spark.read.parquet(str(folder)).createOrReplaceTempView(folder.name)
    for title, query in QUERIES.items():
        print(f"\n{title}", flush=True)
        spark.sql(query).show(20, 60)
    spark.stop()
    print(f"{time.monotonic() - begun:.0f} seconds; the tables are in {lake.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
