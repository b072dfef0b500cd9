"""`make demo`: cold files of a shop that lost its brokers, taken in on Spark, and questions to what came out."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from random import Random

from thawline.cli import run
from thawline.cli.ingest import talking_to
from thawline.formats.aerospike.write import AsbWriter, Bin, Key, Record, digest_of
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbak.write import RbakWriter, record
from thawline.formats.rbf.write import RbfWriter
from thawline.spark import read_lake, session
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
    "Orders of Kafka by what RabbitMQ, Aerospike and the audit log know of them: four formats, joined": """
        WITH orders AS (SELECT cast(key AS string) AS id,
                               cast(get_json_object(cast(value AS string), '$.order') AS int) AS number,
                               cast(get_json_object(cast(value AS string), '$.total') AS double) AS total
                        FROM kafka_records),
             shipped AS (SELECT cast(get_json_object(cast(body AS string), '$.order') AS int) AS number
                         FROM rbak_messages),
             customers AS (SELECT cast(key AS string) AS id FROM aerospike_records),
             audit AS (SELECT cast(payload AS string) AS id FROM rbf_frames WHERE tag_text = 'AUDT')
        SELECT shipped.number IS NOT NULL AS shipped, customers.id IS NOT NULL AS known_customer,
               audit.id IS NOT NULL AS audited, count(*) AS orders, round(sum(total), 2) AS total
        FROM orders LEFT JOIN shipped USING (number) LEFT JOIN customers ON customers.id = orders.id
             LEFT JOIN audit ON audit.id = orders.id GROUP BY ALL ORDER BY ALL""",
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
    with RbakWriter(folder / "rabbitmq", segment_max_bytes=1 << 17) as backup:
        for order in range(0, ORDERS, 5):
            body = b'{"order": %d, "state": "shipped"}' % order
            backup.append(record(body, queue="shipments", backed_up_at=NOON + 250 * order))
    (folder / "aerospike").mkdir()
    with AsbWriter(folder / "aerospike" / "shop.asb", "shop", first_file=True) as records:
        for order in range(0, ORDERS, 4):
            key = Key("S", b"order-%d" % order)
            bins = (Bin("S", b"customer", b"customer %d" % (order % 97)), Bin("I", b"order", order))
            records.write(Record(b"shop", digest_of(b"orders", key), bins, b"orders", key))
    (folder / "borg").mkdir()
    for file in sorted((GOLDEN / "borg").glob("none-*.pack")):
        shutil.copy(file, folder / "borg" / file.name)


def harm(folder: Path) -> None:
    """Damage to a file of each format, as a disk does it."""
    for pattern in (
        "kafka/orders-0/*.log",
        "rbf/*.rbf",
        "rabbitmq/queues/*/*/*",
        "aerospike/*.asb",
        "borg/none-l*.pack",
    ):
        file = min(folder.glob(pattern))
        file.write_bytes(damaged(file.read_bytes(), "flip", 3).data)


def main() -> int:
    """Build, damage, take in, and ask."""
    begun = time.monotonic()
    shutil.rmtree(PLACE, ignore_errors=True)
    cold, lake = PLACE / "cold", PLACE / "lake"
    cold.mkdir(parents=True)
    build(cold)
    harm(cold)
    print(f"$ thawline ingest {cold.relative_to(ROOT)} --to {lake.relative_to(ROOT)}\n", flush=True)
    code = run(["ingest", str(cold), "--to", str(lake), "--format", "table", "--exit-zero"])
    with talking_to(lake / "_ingest" / "spark.log"):
        spark = session(configuration={"spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "2"})
    for name in ["files", "findings", *sorted(folder.name for folder in (lake / "tables").iterdir())]:
        read_lake(spark, lake, name).createOrReplaceTempView(name)
    for title, query in QUERIES.items():
        print(f"\n{title}", flush=True)
        spark.sql(query).show(20, 60)
    spark.stop()
    print(f"{time.monotonic() - begun:.0f} seconds; the tables are in {lake.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
