"""What can be wrong with a Kafka segment, and with the files beside it."""

from __future__ import annotations

from thawline.model import Code

BAD_CHECKSUM = Code(
    "KAF101",
    "checksum mismatch",
    "error",
    "The batch is where its length says, but its bytes are not the ones that were written. One batch is lost. A broker "
    "that recovers this segment cuts the file here and loses every batch behind it as well; this reader goes on with "
    "the next one.",
)
TORN_TAIL = Code(
    "KAF102",
    "the file ends inside a batch",
    "error",
    "The last write did not finish: a crash, a full disk or a cut copy. Batches before it are not affected. A broker "
    "cuts the file here when it recovers; `salvage` writes such a copy.",
)
NO_BATCH = Code(
    "KAF103",
    "these bytes are no batch",
    "error",
    "What stands here breaks a rule of the batch layout; the detail names the field. Reading goes on at the next place "
    "where length, head and checksum of a batch agree and its offsets follow those before it. Kafka's own tools stop "
    "here.",
)
DAMAGED_LENGTH = Code(
    "KAF104",
    "the batch length is damaged, the rest of the batch is proven intact",
    "error",
    "No checksum covers batchLength. The checksum is right for the bytes up to where the next batch starts, so the "
    "records are what was written; Kafka cannot read them. `salvage --recover` writes the right length.",
)
DAMAGED_MAGIC = Code(
    "KAF105",
    "the magic byte is damaged, the rest of the batch is proven intact",
    "error",
    "No checksum covers the magic byte. The checksum is that of a batch of magic 2, so the records are what was "
    "written. `salvage --recover` writes the right magic.",
)
BAD_OFFSET = Code(
    "KAF106",
    "the base offset cannot be right",
    "error",
    "No checksum covers baseOffset. The batch is intact otherwise, but its offset lies outside of those of the batches "
    "around it, so its records would come out with offsets that they never had.",
)
BAD_CODEC = Code(
    "KAF107",
    "the records do not decompress",
    "error",
    "The checksum is right, so the batch is what a producer sent, but its payload is not what its codec says, or is "
    "framed in a way that Kafka refuses. Every consumer of this batch fails on it.",
)
BAD_RECORDS = Code(
    "KAF108",
    "the records do not fit their batch",
    "error",
    "The checksum is right, but the records cannot be read as the head counts them: a field that breaks its rule, a "
    "count, an offset delta that does not rise, or bytes behind the last record. No record of the batch is returned.",
)
TOO_LARGE = Code(
    "KAF109",
    "the records decompress to more than the bound",
    "error",
    "Decompression was stopped, as a few bytes can be made to yield gigabytes. If the batch is to be trusted, read it "
    "with a larger --max-batch-bytes.",
)
BAD_WRAPPER = Code(
    "KAF110",
    "the compressed message set breaks a rule",
    "error",
    "A compressed message of magic 0 or 1 holds messages. These do not add up: there is none that is whole, one is "
    "compressed again, breaks a rule or has a wrong checksum of its own, or their offsets do not lead to that of the "
    "wrapper.",
)
MISSING_SEGMENT = Code(
    "KAF111",
    "records are missing from the partition",
    "error",
    "Offsets run on without a gap everywhere but between two segments, where a file is missing; or the high watermark, "
    "a producer snapshot or the leader epochs name offsets behind the last record that is there; the detail says "
    "which. Gaps that compaction leaves are no loss and not reported.",
)
BAD_INDEX = Code(
    "KAF120",
    "the offset index does not fit its segment",
    "error",
    "An entry of the .index file points at a place where no batch starts, or at a batch behind its offset, or breaks "
    "the rising order, or the file ends inside one. Readers that trust it skip records. The segment itself is not "
    "affected, unless entries point behind its end: then the segment was cut. Kafka rebuilds an index that is deleted.",
)
BAD_TIME_INDEX = Code(
    "KAF121",
    "the time index does not fit its segment",
    "error",
    "An entry of the .timeindex file breaks the rising order, or names an offset or a timestamp that the segment "
    "does not have, or the file ends inside one. Lookups by time go wrong. The segment itself is not affected; Kafka "
    "rebuilds an index that is deleted.",
)
BAD_TRANSACTION_INDEX = Code(
    "KAF122",
    "the transaction index does not fit the markers",
    "error",
    "An entry of the .txnindex file is damaged or has no abort marker in the segment, or an abort marker has no entry. "
    "Consumers with read_committed would get aborted records, or miss committed ones; thawline goes by the markers.",
)
BAD_SNAPSHOT = Code(
    "KAF123",
    "the producer snapshot is damaged",
    "error",
    "The .snapshot file cannot be read or its checksum is wrong. A broker rebuilds it from the segments; no record is "
    "lost.",
)
BAD_EPOCHS = Code(
    "KAF124",
    "leader-epoch-checkpoint is damaged",
    "error",
    "The file is not what Kafka writes: a version, a count, and lines of epoch and start offset, both rising.",
)
BAD_METADATA = Code(
    "KAF125",
    "partition.metadata is damaged",
    "error",
    "The file is not what Kafka writes: version and topic id. No record depends on it.",
)
BAD_CHECKPOINT = Code(
    "KAF126",
    "the KRaft snapshot is not whole",
    "error",
    "A .checkpoint file begins with a snapshot header and ends with a snapshot footer. One of them is missing, so that "
    "it was not written to its end or has been cut. Controllers refuse it and go back to an older one.",
)
EPOCH_FALLS = Code(
    "KAF201",
    "the leader epoch falls",
    "warning",
    "No checksum covers partitionLeaderEpoch, which never falls within a partition. Records are not affected; the "
    "column leader_epoch of these batches cannot be relied on.",
)
OFFSETS_RESTART = Code(
    "KAF202",
    "offsets do not rise",
    "warning",
    "Offsets start again or repeat, more than damage to a single batch explains: the file was put together from "
    "several, or never was a segment of a log. All records are returned, with the offsets that they carry.",
)
NAME_MISMATCH = Code(
    "KAF203",
    "the segment holds offsets below its name",
    "warning",
    "A segment is named after its base offset, and no record in it can be smaller: the file was renamed or belongs to "
    "another partition. Offsets are taken from the batches; its index files count from its name and do not fit.",
)
INDEX_LEFT_OVER = Code(
    "KAF204",
    "a file without its segment",
    "warning",
    "An index file belongs to the segment of the same name, which is not in the folder: it was deleted, or lost.",
)
EPOCHS_MISMATCH = Code(
    "KAF205",
    "leader-epoch-checkpoint does not fit the batches",
    "warning",
    "Batches carry a leader epoch that the file does not have at their offset, or the other way round.",
)
SNAPSHOT_MISMATCH = Code(
    "KAF206",
    "the producer snapshot does not fit the batches",
    "warning",
    "A producer's last offset or open transaction in the snapshot is not what the segments before it say. Not looked "
    "at where compaction or damage has taken batches before it.",
)
UNFINISHED_FILE = Code(
    "KAF207",
    "left behind by an unfinished operation",
    "warning",
    "A .cleaned file is the unfinished output of the log cleaner or of a split: a broker throws it away, and so does "
    "this reader. A .swap file is complete and takes the place of the segments that it covers.",
)
CUT_WRAPPER = Code(
    "KAF208",
    "the compressed message set ends inside a message",
    "warning",
    "A compressed message of magic 0 or 1 holds messages, and the last of them is not whole. The checksum is right, so "
    "the producer sent it like this. Kafka gives the whole messages and ignores the rest without a word, and this "
    "reader gives the same. With magic 1, offsets count back from the last message that is whole, in Kafka as here, so "
    "that those of the set are higher by as many as are cut.",
)
SUSPECTS = Code(
    "KAF209",
    "messages that may be part of a broken compressed set",
    "warning",
    "These messages of magic 0 or 1 were found by a search after damage, in a segment that has compressed message "
    "sets. They are intact, but the damaged bytes may be the head of such a set that stores them as they are, and then "
    "their offsets are not those of the log. They are given with the column `suspect` set, up to the next compressed "
    "set or batch; `salvage` leaves them out unless it is told to --include-suspects.",
)
PREALLOCATED = Code(
    "KAF301",
    "zeros to the end of the file",
    "note",
    "Space that was allocated ahead (log.preallocate; index files of the segment that is written to always have it) "
    "and never written to. Nothing is lost, although Kafka's own tools call it corrupt.",
)
DELETED_FILE = Code(
    "KAF302",
    "marked for deletion",
    "note",
    "The broker renames a file before it removes it: a segment past its retention, or replaced by compaction. Its "
    "records are whole; read the file by itself to get them.",
)
OPEN_TRANSACTION = Code(
    "KAF303",
    "a transaction without an end",
    "note",
    "The segments hold records of a transaction and no marker that ends it: it was open when the files were copied, or "
    "what follows is lost. Consumers with read_committed get nothing from its first offset on.",
)
MISSING_INDEX = Code(
    "KAF304",
    "segments without an index file",
    "note",
    "The .index or .timeindex file of a segment is not in the folder. No record is lost: Kafka rebuilds index files "
    "when it starts, and this reader does without.",
)
BELOW_START = Code(
    "KAF305",
    "records below the log start offset",
    "note",
    "The folder above says in log-start-offset-checkpoint that the partition starts at a later offset: records before "
    "it were deleted by DeleteRecords or by retention, and no consumer gets them. They are still in the file, and this "
    "reader returns them; `--offsets` leaves them out.",
)
CODES = (
    BAD_CHECKSUM, TORN_TAIL, NO_BATCH, DAMAGED_LENGTH, DAMAGED_MAGIC, BAD_OFFSET, BAD_CODEC, BAD_RECORDS, TOO_LARGE,
    BAD_WRAPPER, MISSING_SEGMENT, BAD_INDEX, BAD_TIME_INDEX, BAD_TRANSACTION_INDEX, BAD_SNAPSHOT, BAD_EPOCHS,
    BAD_METADATA, BAD_CHECKPOINT, EPOCH_FALLS, OFFSETS_RESTART, NAME_MISMATCH, INDEX_LEFT_OVER, EPOCHS_MISMATCH,
    SNAPSHOT_MISMATCH, UNFINISHED_FILE, CUT_WRAPPER, SUSPECTS, PREALLOCATED, DELETED_FILE, OPEN_TRANSACTION,
    MISSING_INDEX, BELOW_START,
)  # fmt: skip
