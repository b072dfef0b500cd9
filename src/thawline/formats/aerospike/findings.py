"""What can be wrong with an Aerospike backup."""

from __future__ import annotations

from thawline.model import Code

TRUNCATED = Code(
    "ASB101",
    "the file ends inside an entry",
    "error",
    "The last record, index or UDF is cut: a crash, a full disk or a copy that did not finish. Everything before it is "
    "not affected; the detail says where the last complete entry ends. backup-go and tools that are built on it take "
    "most cut files for complete ones and lose the last record without a word. A file that was cut exactly between "
    "two records cannot be told from a complete one; compare its count with the log of the backup.",
)
BROKEN = Code(
    "ASB102",
    "no tool reads this entry",
    "error",
    "The bytes break a rule of the format, at the byte and for the reason that the detail gives; asrestore and "
    "backup-go stop here. Reading goes on at the next record whose header is whole and whose digest is valid.",
)
ASRESTORE_REFUSES = Code(
    "ASB103",
    "asrestore refuses this line",
    "error",
    "backup-go reads it, asrestore does not. It counts as damage, and cat and convert give it all the same, with "
    "`suspect` set; salvage writes it the way both tools take. --lenient makes a remark of it, --strict leaves it out.",
)
BACKUP_GO_REFUSES = Code(
    "ASB104",
    "backup-go refuses this line",
    "error",
    "asrestore reads it, backup-go and the tools that are built on it (absctl, Aerospike Backup Service) do not. It "
    "counts as damage, and cat and convert give it all the same, with `suspect` set; salvage writes it the way both "
    "tools take. --lenient makes a remark of it, --strict leaves it out.",
)
DIGEST_MISMATCH = Code(
    "ASB105",
    "the digest is not that of set and key",
    "error",
    "A digest is the RIPEMD-160 of set, key type and key. All three lines are there and do not fit each other, so one "
    "of them was changed after it was written. A restore would put the record where no client finds it by its key. "
    "cat and convert give the record all the same, with `suspect` set, unless --strict is given; salvage leaves it out "
    "unless you give --include-suspects.",
)
BROKEN_COLLECTION = Code(
    "ASB106",
    "a list or map is no valid msgpack",
    "error",
    "The bytes of a list or map bin do not decode: they are cut, have something behind their end, are nested deeper "
    "than 64 levels, or hold what a server never stores. Both tools restore them unread. cat and convert give the "
    "record all the same, with the bytes and without their JSON, and `suspect` set.",
)
BROKEN_SKETCH = Code(
    "ASB107",
    "a HyperLogLog has an impossible size",
    "error",
    "The size of a HyperLogLog follows from its index and minhash bits; this one has another, or impossible bits. "
    "cat and convert give the record all the same, with `suspect` set.",
)
NO_HEADER = Code(
    "ASB108",
    "no valid header line",
    "error",
    "A backup starts with `Version 3.0`, `3.1` or `3.2` and a line feed. Without it no tool reads the file; records "
    "behind it may be whole, and salvage writes them with a header.",
)
ENCRYPTED = Code(
    "ASB109",
    "encrypted, or no Aerospike backup",
    "error",
    "asbackup and backup-go encrypt the whole file with AES in counter mode, which leaves nothing that could be "
    "recognised but noise under the name .asb. Decrypt it with the key that the backup was made with: asrestore "
    "--encrypt aes128 --encryption-key-file, or openssl.",
)
BROKEN_FRAME = Code(
    "ASB110",
    "a zstd frame is damaged",
    "error",
    "The file is compressed, and this stretch of it does not decompress. What was decoded before it is used; reading "
    "goes on at the next frame, if there is one.",
)
UNKNOWN_KIND = Code(
    "ASB111",
    "something that this version of the format has not",
    "error",
    "A type of index, bin or global data that neither tool knows, as a newer tool may write it; or the one byte that "
    "names it was changed. The entry is left out, the rest is read.",
)
OTHER_FORMAT = Code(
    "ASB112",
    "an XDR backup (.asbx)",
    "error",
    "A file of Aerospike's continuous backup, which is another, binary format. It is recognised and not read.",
)
DUPLICATE_RECORDS = Code(
    "ASB113",
    "the same record more than once",
    "error",
    "Digests that occur more than once in a backup, in one file or in several: a file was copied under a second name, "
    "or two backups lie in one folder. A restore keeps whichever it comes upon last, or that of the higher generation.",
)
FIRST_FILES = Code(
    "ASB114",
    "more than one first file",
    "error",
    "One file of a backup has the line `# first-file`. More than one means that files of several backups are mixed.",
)
WRONG_COUNTS = Code(
    "ASB115",
    "metadata.yaml counts otherwise",
    "error",
    "The Backup Service wrote how many records, bytes, files, indexes and UDFs the backup has; the folder has others. "
    "Something is missing, was added, or is damaged.",
)
ASRESTORE_WARNING = Code(
    "ASB203", ASRESTORE_REFUSES.message, "warning", ASRESTORE_REFUSES.explanation + " Read leniently, it is a remark."
)
BACKUP_GO_WARNING = Code(
    "ASB204", BACKUP_GO_REFUSES.message, "warning", BACKUP_GO_REFUSES.explanation + " Read leniently, it is a remark."
)
DIGEST_WARNING = Code(
    "ASB205", DIGEST_MISMATCH.message, "warning", DIGEST_MISMATCH.explanation + " Read leniently, it is a remark."
)
COLLECTION_WARNING = Code(
    "ASB206", BROKEN_COLLECTION.message, "warning", BROKEN_COLLECTION.explanation + " Read leniently, it is a remark."
)
SKETCH_WARNING = Code(
    "ASB207", BROKEN_SKETCH.message, "warning", BROKEN_SKETCH.explanation + " Read leniently, it is a remark."
)
NOT_UTF8 = Code(
    "ASB201",
    "a string that is not UTF-8",
    "warning",
    "The server takes any bytes for a string, clients expect UTF-8. The value is in the column `bytes` instead of "
    "`text`. It may be text in another encoding, or it was changed after it was written.",
)
BROKEN_CONTEXT = Code(
    "ASB202",
    "the context of an index cannot be decoded",
    "warning",
    "The context is base-64 of a msgpack list. This one is not, so the index can be restored and would not work.",
)
UNREADABLE_METADATA = Code(
    "ASB208",
    "metadata.yaml cannot be read",
    "warning",
    "The file that the Backup Service writes beside a backup is no flat YAML mapping with a count of records in it, or "
    "has what the service never writes: tags, anchors, a count that is none. The detail says which. The counts of the "
    "backup were not compared with anything.",
)
NO_FIRST_FILE = Code(
    "ASB209",
    "no first file",
    "warning",
    "One file of a backup has the line `# first-file`; with asbackup it is the one with the indexes and UDFs. None of "
    "the files here has it, so that at least that one is missing.",
)
CODES = (
    TRUNCATED, BROKEN, ASRESTORE_REFUSES, BACKUP_GO_REFUSES, DIGEST_MISMATCH, BROKEN_COLLECTION, BROKEN_SKETCH,
    NO_HEADER, ENCRYPTED, BROKEN_FRAME, UNKNOWN_KIND, OTHER_FORMAT, DUPLICATE_RECORDS, FIRST_FILES, WRONG_COUNTS,
    NOT_UTF8, BROKEN_CONTEXT, ASRESTORE_WARNING, BACKUP_GO_WARNING, DIGEST_WARNING, COLLECTION_WARNING,
    SKETCH_WARNING, UNREADABLE_METADATA, NO_FIRST_FILE,
)  # fmt: skip
LENIENT = {
    ASRESTORE_REFUSES: ASRESTORE_WARNING,
    BACKUP_GO_REFUSES: BACKUP_GO_WARNING,
    DIGEST_MISMATCH: DIGEST_WARNING,
    BROKEN_COLLECTION: COLLECTION_WARNING,
    BROKEN_SKETCH: SKETCH_WARNING,
}
"""What becomes of a finding about a record that can be read all the same."""
SUSPECT = {DIGEST_MISMATCH: "digest", BROKEN_COLLECTION: "value", BROKEN_SKETCH: "value"}
"""Why a record that is given all the same is not to be trusted: values of the column `suspect`, besides `nested`."""
REFUSED_BY = {ASRESTORE_REFUSES: "asrestore", BACKUP_GO_REFUSES: "backup-go"}
"""The tool that does not read a record: further values of that column."""
