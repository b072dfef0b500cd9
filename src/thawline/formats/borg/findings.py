"""What can be wrong with a pack, an index or a repository, and what is worth knowing about one."""

from __future__ import annotations

from thawline.model import Code

NO_BLOB = Code(
    "BRG101",
    "these bytes are no blob",
    "error",
    "Where a blob should start there is none, and neither the sizes that stand there, nor a meta map, nor an index "
    "tell how far it went. Reading goes on at the next BORG_OBJ that starts a whole blob. If the pack lies in its "
    "repository, or is named by its hash, `salvage` can try to rebuild the header and prove it by the name.",
)
TORN = Code(
    "BRG102",
    "the pack ends inside a blob",
    "error",
    "A crash, a full disk or a cut copy. Blobs before it are not affected. Borg b25 cannot reach them until the pack "
    "is replaced; `salvage` writes the pack that replaces it.",
)
BAD_HEADER = Code(
    "BRG103",
    "the header of a blob is damaged",
    "error",
    "The magic or the version byte is not what it must be. Where the blob ends is known all the same: there the next "
    "one starts. `salvage` rebuilds the header where the pack's name proves that the repair is right.",
)
BAD_SIZE = Code(
    "BRG104",
    "a size in the header of a blob is damaged",
    "error",
    "The blob does not end where its header says: there is neither the end of the pack nor another blob. A size is "
    "believed only with that, or with a meta map that says the same. `salvage` rebuilds the size where the pack's name "
    "proves it.",
)
BAD_SLOT = Code(
    "BRG105",
    "the envelope of a slot is damaged",
    "error",
    "Each slot starts with the key type and, but for the oldest modes, a zero byte; in encrypted modes both slots have "
    "the same session id, and the meta slot's counter is the data slot's plus one. One of these does not hold, so one "
    "of the slots is not what borg wrote. Borg could not decrypt it either.",
)
BAD_META = Code(
    "BRG106",
    "the meta slot of a blob cannot be read",
    "error",
    "The meta slot must hold a msgpack map with type, ctype, clevel and csize, and csize must be the size of the data "
    "slot. Without it the data cannot be decompressed.",
)
BAD_DATA = Code(
    "BRG107",
    "the data slot of a blob cannot be read",
    "error",
    "The data does not decompress, or to another size than the meta map says. The chunk is lost; files that hold it "
    "are named by `thawline verify REPOSITORY`.",
)
BAD_TAG = Code(
    "BRG108",
    "the tag of a slot does not fit its bytes",
    "error",
    "In the modes none-sha256 and none-blake3 the tag is a hash of header and payload that anybody can compute. Some "
    "of these bytes have changed since borg wrote them.",
)
BAD_ID = Code(
    "BRG109",
    "the content of a blob does not hash to its chunk_id",
    "error",
    "In the modes none, none-sha256 and none-blake3 the chunk_id is the hash of the plaintext. Either the id or the "
    "content has changed since borg wrote it. A changed id can be rebuilt: it is the hash that the detail names.",
)
BAD_NAME = Code(
    "BRG110",
    "the pack does not hash to its name",
    "error",
    "A pack is named by the SHA-256 (2.0.0b22 to b24) or BLAKE3 (b25) of its bytes. Every blob in it looks right, so "
    "either bytes have changed that nothing else covers (in encrypted and authenticated modes most are such bytes), or "
    "blobs are missing at the end, doubled or in another order. `borg check --verify-data` with the key tells which.",
)
BAD_INDEX = Code(
    "BRG111",
    "this is no index of chunks that can be read",
    "error",
    "An index file starts with BORGHASH, version 1 and a description of its entries as JSON, which must be the one "
    "that borg writes. Borg rebuilds an index that it cannot read from the packs; so does "
    "`thawline borg index REPOSITORY --rebuild OUT`.",
)
TORN_INDEX = Code(
    "BRG112",
    "the index holds fewer or more entries than it says",
    "error",
    "The description of an index says how many entries follow it. Entries that are whole are shown. An index can be "
    "rebuilt from the packs: `thawline borg index REPOSITORY --rebuild OUT`.",
)
BAD_INDEX_NAME = Code(
    "BRG113",
    "the index does not hash to its name",
    "error",
    "An index file is named by the SHA-256 (2.0.0b22 to b24) or BLAKE3 (b25) of its bytes. Borg passes over one whose "
    "name does not fit. Nothing is lost: the packs hold all that it says.",
)
MISSING_PACK = Code(
    "BRG120",
    "the index names a pack that is not there",
    "error",
    "Chunks of this pack are lost unless another pack holds them too. Look for the file in other copies of the "
    "repository: its name is the hash of its content, so a copy can be trusted when it hashes to it.",
)
WRONG_LOCATION = Code(
    "BRG121",
    "the index points to a place where that chunk is not",
    "error",
    "At the place that the index names there is another blob, or none, or one of another size. An index that was "
    "rebuilt from the packs points right: `thawline borg index REPOSITORY --rebuild OUT`.",
)
LOST_ARCHIVE = Code(
    "BRG122",
    "an archive cannot be reached",
    "error",
    "A file in archives/ is named by the chunk_id of its archive. No pack holds that chunk, or it cannot be read, so "
    "nothing of the archive can be found from there; its files may still be in the packs.",
)
OLD_REPOSITORY = Code(
    "BRG123",
    "a repository from before packs",
    "error",
    "Up to 2.0.0b21 (repository version 3) every chunk was a file in data/, with another header and no magic. Borg has "
    "no way to take such a repository over to packs, and it is not read here.",
)
BAD_CONFIG = Code(
    "BRG124",
    "the configuration of the repository cannot be read",
    "error",
    "config/version (2.0.0b22 to b24) or config/config (b25) says which repository version it is. Without it the packs "
    "are read all the same, since they describe themselves.",
)
DAMAGED_FILES = Code(
    "BRG125",
    "files of an archive have lost chunks",
    "error",
    "The archive can be listed, but some of its files need chunks that no pack holds intact. All other files can be "
    "extracted: `thawline borg extract`.",
)
MISPLACED = Code(
    "BRG201",
    "a file that does not belong in packs/",
    "warning",
    "Packs lie in packs/, in the folder of their first two digits, and are named by 64 hexadecimal digits. Borg does "
    "not see this file.",
)
UNINDEXED = Code(
    "BRG202",
    "blobs that no index knows",
    "warning",
    "Some blobs of an indexed pack are in no index, so borg does not find them. Rebuilding the index from the packs "
    "brings them back.",
)
NOT_ITS_NAME = Code(
    "BRG301",
    "the pack does not hash to its name, as is to be expected of a damaged one",
    "note",
    "A repair that gives the old name back is proven to be right in every byte: `salvage` tries.",
)
ORPHAN_PACK = Code(
    "BRG302",
    "stopped between step 1 and 2: an orphan pack",
    "note",
    "The pack was stored, the index file that names it was not: a backup was interrupted there, or another one is "
    "running. It is harmless; `borg compact` removes it.",
)
UNCOMMITTED = Code(
    "BRG303",
    "stopped between step 2 and 3: indexed, but in no archive",
    "note",
    "Pack and index were stored, the archive pointer was not; or the archive was deleted since. It is harmless; "
    "`borg compact` removes it.",
)
PROVEN = Code(
    "BRG304",
    "what this check proves",
    "note",
    "What can be checked without the key depends on the mode. With mode none, none-sha256 or none-blake3 every byte is "
    "covered by a hash. Else only the name of a pack covers its content: it proves that the bytes are those that were "
    "stored under that name, not who wrote them. Without that, headers and envelopes fit each other, and that is all.",
)
NO_INDEX = Code(
    "BRG305",
    "there is no index",
    "note",
    "Borg rebuilds a missing index from the packs, so nothing is lost. `thawline borg index REPOSITORY --rebuild OUT` "
    "does the same.",
)
SEALED_INDEX = Code(
    "BRG306",
    "an index that only the key opens",
    "note",
    "Since 2.0.0b25 index files are kept in the envelope of the repository's key. Of an encrypted one only the name "
    "can be checked.",
)
DELETED = Code(
    "BRG307",
    "a deleted archive",
    "note",
    "`borg delete` has marked the archive (.del); until `borg compact` runs, `borg undelete` brings it back.",
)
CODES = (
    NO_BLOB, TORN, BAD_HEADER, BAD_SIZE, BAD_SLOT, BAD_META, BAD_DATA, BAD_TAG, BAD_ID, BAD_NAME, BAD_INDEX,
    TORN_INDEX, BAD_INDEX_NAME, MISSING_PACK, WRONG_LOCATION, LOST_ARCHIVE, OLD_REPOSITORY, BAD_CONFIG, DAMAGED_FILES,
    MISPLACED, UNINDEXED, NOT_ITS_NAME, ORPHAN_PACK, UNCOMMITTED, PROVEN, NO_INDEX, SEALED_INDEX, DELETED,
)  # fmt: skip
