"""The codes of findings about segments, and about a backup as a whole."""

from __future__ import annotations

from thawline.model import Code

TOO_SHORT = Code(
    "RBK101",
    "shorter than a segment can be",
    "error",
    "A segment has at least 40 bytes: a header of 32 and a footer of 8. What is left of this one holds no record, "
    "unless `salvage` finds one.",
)
NO_MAGIC = Code(
    "RBK102",
    "does not start with RBAK",
    "error",
    "These bytes are no segment, or they lost their beginning. `salvage` searches them for records anyway.",
)
NO_END = Code(
    "RBK103",
    "does not end with KABR",
    "error",
    "A segment ends with its checksum and KABR. Without them it was cut short, most often by an upload that broke "
    "off. The start of the payload can still be read, but no checksum proves it, so it gives no rows. `salvage` "
    "copies the whole records into a new segment; --unverified gives them as rows.",
)
BAD_CHECKSUM = Code(
    "RBK104",
    "checksum mismatch",
    "error",
    "The bytes are not the ones that were written (CRC-32 over everything before the footer). Which of them are "
    "wrong is not known, so the segment gives no rows. `salvage` copies what still decodes into a new segment, and "
    "--unverified gives it as rows: records before the damage are most likely right, but nothing proves it.",
)
AS_WRITTEN = "a fault or a newer version of what wrote it, not of the disk: the checksum is right"
UNKNOWN_VERSION = Code(
    "RBK105",
    "written in an unknown version",
    "error",
    "The checksum is right, but the version in the header is not 1, the only one that is known. Another version may "
    "have another header or payload, so nothing in it is decoded.",
    cause=AS_WRITTEN,
)
UNKNOWN_COMPRESSION = Code(
    "RBK106",
    "an unknown compression",
    "error",
    "The checksum is right, but the header names none of 0 (none), 1 (zstd) and 2 (LZ4).",
    cause=AS_WRITTEN,
)
BAD_PAYLOAD = Code(
    "RBK107",
    "the payload does not decompress to its end",
    "error",
    "If the checksum is right, the payload was written like this. Records before the failure are rows; what follows "
    "it is lost.",
)
TORN_RECORD = Code(
    "RBK108",
    "bytes after the last whole record",
    "error",
    "The payload is a sequence of records, each after its length. The last length exceeds the bytes that are left, "
    "or fewer than four are left for a length: a record was cut, or a length is wrong and the records after it are "
    "lost.",
)
WRONG_COUNT = Code(
    "RBK109",
    "the header counts another number of records",
    "error",
    "All records of the payload are rows. If the header counts more, those are missing; if it counts fewer, other "
    "readers stop too early.",
)
NOT_JSON = Code(
    "RBK110",
    "a record is not JSON",
    "error",
    "The record has its length, but its bytes are not one JSON object (RFC 8259, UTF-8, nested at most 128 levels, "
    "which is what the backup tool reads). It gives no row; the other records are not affected.",
)
NOT_A_BYTE = Code(
    "RBK111",
    "a body with a value that is no byte",
    "error",
    "A body is an array of integers from 0 to 255. The record gives no row, since part of its body is wrong.",
)
WRONG_TYPE = Code(
    "RBK112",
    "a field of the wrong type",
    "error",
    "A field of the record holds a value that it cannot have, such as text for a number, or a number that is too "
    "large. The record gives no row, and the backup tool refuses the whole segment.",
)
TRAILING = Code(
    "RBK113",
    "bytes that belong to no segment",
    "error",
    "A segment that its checksum proves lies beside other bytes: padding, or part of another upload. The segment is "
    "read; the backup tool refuses the file. `salvage` writes a copy without these bytes.",
)
TOO_LARGE = Code(
    "RBK114",
    "the payload is larger than the bound",
    "error",
    "Decompression stopped at the bound, which is 1 GiB unless --max-payload says otherwise, or at a record that has "
    "more than a sixteenth of that. Records before it are rows. Raise the bound if you trust the segment.",
)
OTHER_FILE = Code(
    "RBK120",
    "not the bytes that the manifest lists",
    "error",
    "The SHA-256 of the file is not the one in manifest.json. If its own checksum is right, it is a whole segment, "
    "but not the listed one: it was replaced, or written again.",
)
OTHER_SIZE = Code(
    "RBK121",
    "not the size that the manifest lists",
    "error",
    "The size of the file is not the one in manifest.json: it was cut, appended to, or replaced.",
)
OTHER_COUNT = Code(
    "RBK122",
    "not as many records as the manifest lists",
    "error",
    "The number of records in the segment is not the one in manifest.json.",
)
OTHER_TIMES = Code(
    "RBK209",
    "not the times that the manifest lists",
    "warning",
    "The first or last time of the segment differs from manifest.json, so a restore to a point in time may select "
    "the wrong segments. The records themselves are not affected.",
)
MISSING = Code(
    "RBK124",
    "a segment that the manifest lists is missing",
    "error",
    "There is no such file in the backup. Its messages are lost unless the file is found elsewhere.",
)
LISTED_TWICE = Code(
    "RBK125",
    "the manifest lists a segment twice",
    "error",
    "The manifest has the same key, or the same sequence number within a queue, more than once. A restore publishes "
    "its messages more than once.",
)
BAD_MANIFEST = Code(
    "RBK126",
    "the manifest cannot be read",
    "error",
    "manifest.json is not the JSON object that it should be. The segments can be read without it; `thawline rbak "
    "manifest` makes a new one from them.",
)
WRONG_TOTALS = Code(
    "RBK210",
    "the manifest does not add up",
    "warning",
    "A total of the manifest is not the sum of what it lists. The listed counts are compared with the segments, too, "
    "so most likely the total is wrong.",
)
BAD_VALUE = Code(
    "RBK211",
    "a value of the manifest cannot be used",
    "warning",
    "A value has the wrong type, exceeds its bounds, or its key occurs twice in an object. It is ignored; the rest of "
    "the manifest is used. The backup tool refuses the manifest; `thawline rbak manifest` makes a new one.",
)
BAD_DEFINITIONS = Code(
    "RBK128",
    "the definitions cannot be read",
    "error",
    "definitions.json does not decompress, or is no JSON object. Exchanges, queues and bindings cannot be restored "
    "from it. Messages are not affected.",
)
CASTAGNOLI = Code(
    "RBK201",
    "the checksum is CRC-32C, not CRC-32",
    "warning",
    "The other polynomial (Castagnoli's), which the format's page also names, proves the bytes. rabbitmq-backup "
    "computes CRC-32 and refuses the segment; `salvage` writes a copy with the right checksum.",
)
OTHER_HEADER_TIMES = Code(
    "RBK202",
    "the header's times are not those of its records",
    "warning",
    "The header's first and last time should be backed_up_at of the first and the last record. A reader that prunes "
    "segments by them may miss records; read with --prune off to be sure.",
)
FIELD_MISSING = Code(
    "RBK203",
    "records without a field that they must have",
    "warning",
    "The columns are null for these records. The backup tool refuses the segment.",
)
ODD_HEADERS = Code(
    "RBK204",
    "headers of an unknown shape",
    "warning",
    "The column headers is null for these records; headers_json has them verbatim. More than 65 536 headers, which no "
    "message can have, count as an unknown shape, too.",
)
INTERRUPTED = Code(
    "RBK205",
    "the backup was interrupted",
    "warning",
    "completed_at is null: the tool did not finish, or is still running. What is listed can be read.",
)
ORPHAN = Code(
    "RBK206",
    "a segment that the manifest does not list",
    "warning",
    "The file is a segment, but manifest.json does not list it: it was written just before an interruption, or left "
    "by an earlier run. Its messages are read here; a restore leaves them out.",
)
SAME_CONTENT = Code(
    "RBK207",
    "two segments with the same content",
    "warning",
    "Two files have the same bytes, most often because an interrupted backup uploaded a segment again. Their "
    "messages are read twice.",
)
OUT_OF_TIME = Code(
    "RBK208",
    "a time that no calendar reaches",
    "warning",
    "backed_up_at is null for these records, since its microseconds exceed 64 bits; backed_up_at_ms has the number.",
)
RESERVED = Code(
    "RBK301",
    "reserved bytes are not zero",
    "note",
    "Bytes 6 and 7 of the header are written as zero and ignored when read. A later version may use them.",
)
STEPPED_BACK = Code(
    "RBK302",
    "the header's last time lies before its first",
    "note",
    "These are the times of the first and the last record as they were written, and the writer's clock was set back "
    "in between. Segments are pruned by the range between both.",
)
NOT_READ = Code(
    "RBK303",
    "outside the time window, so not read",
    "note",
    "The header says that all records are older or newer than requested, by more than an hour. Clocks that stepped "
    "can make it wrong: --prune off reads every segment, --prune strict trusts the header.",
    is_pruning=True,
)
UNPROVEN = Code(
    "RBK304",
    "rows that no checksum proves",
    "note",
    "--unverified gives the records of a damaged segment that still decode. They may be right; nothing proves it.",
)
OTHER_QUEUE = Code(
    "RBK305",
    "of another queue or virtual host, so not read",
    "note",
    "The manifest says that the segment holds messages of a queue, or of a virtual host, that was not requested, and "
    "the name of its folder agrees. --prune off reads every segment, --prune strict trusts the manifest.",
    is_pruning=True,
)

CODES = (
    TOO_SHORT, NO_MAGIC, NO_END, BAD_CHECKSUM, UNKNOWN_VERSION, UNKNOWN_COMPRESSION, BAD_PAYLOAD, TORN_RECORD,
    WRONG_COUNT, NOT_JSON, NOT_A_BYTE, WRONG_TYPE, TRAILING, TOO_LARGE, OTHER_FILE, OTHER_SIZE, OTHER_COUNT,
    OTHER_TIMES, MISSING, LISTED_TWICE, BAD_MANIFEST, WRONG_TOTALS, BAD_VALUE, BAD_DEFINITIONS, CASTAGNOLI,
    OTHER_HEADER_TIMES, FIELD_MISSING, ODD_HEADERS, INTERRUPTED, ORPHAN, SAME_CONTENT, OUT_OF_TIME, RESERVED,
    STEPPED_BACK, NOT_READ, UNPROVEN, OTHER_QUEUE,
)  # fmt: skip
