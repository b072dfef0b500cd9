"""What can be wrong with a pack, an index or a repository, and what a check proves."""

from __future__ import annotations

from thawline.model import Code

NO_BLOB = Code(
    "BRG101",
    "these bytes are not a blob",
    "error",
    "Where a blob should start there is none, and neither sizes, nor a meta map, nor an index tell how far it went. "
    "Reading goes on at the next BORG_OBJ that starts a whole blob. If the pack lies in its repository, or is named by "
    "its hash, `salvage` tries to restore the header and to prove it by the name.",
)
TORN = Code(
    "BRG102",
    "the pack ends inside a blob",
    "error",
    "A crash, a full disk or a truncated copy. Blobs before it are not affected. Borg b25 cannot reach them until the "
    "pack is replaced; `salvage` writes the pack that replaces it.",
)
BAD_HEADER = Code(
    "BRG103",
    "the header of a blob is damaged",
    "error",
    "The magic or the version byte is wrong. The end of the blob is still known: the next blob starts there. `salvage` "
    "restores the header where the name of the pack proves it.",
)
BAD_SIZE = Code(
    "BRG104",
    "a size in the header of a blob is damaged",
    "error",
    "The blob does not end where its header says: there is neither the end of the pack nor another blob. A size counts "
    "only with one of these, or with a meta map that agrees. `salvage` restores the size where the name of the pack "
    "proves it.",
)
BAD_SLOT = Code(
    "BRG105",
    "the envelope of a slot is damaged",
    "error",
    "Each slot starts with the key type and, except in the oldest modes, a zero byte. In encrypted modes both slots "
    "have the same session id, and the counter of the meta slot is that of the data slot plus one. One of these does "
    "not hold, so one of the slots is not what borg wrote. Borg could not decrypt it either.",
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
    "The data does not decompress, or to another size than the meta map says. The chunk is lost; `thawline verify "
    "REPOSITORY` names the files that need it.",
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
    "content has changed since borg wrote it. A changed id can be restored: it is the hash that the detail names.",
)
BAD_NAME = Code(
    "BRG110",
    "the pack does not hash to its name",
    "error",
    "A pack is named by the SHA-256 (2.0.0b22 to b24) or BLAKE3 (b25) of its bytes. Every blob in it looks right, so "
    "either bytes have changed that nothing else covers (in encrypted and authenticated modes, most bytes), or blobs "
    "are missing at the end, doubled or in another order. `borg check --verify-data` with the key tells which.",
)
BAD_INDEX = Code(
    "BRG111",
    "the index cannot be read",
    "error",
    "An index file starts with BORGHASH, version 1 and a description of its entries as JSON, which must be the one "
    "that borg writes. Borg rebuilds an index that it cannot read from the packs; so does "
    "`thawline borg index REPOSITORY --rebuild OUT`.",
)
TORN_INDEX = Code(
    "BRG112",
    "the index holds fewer or more entries than it says",
    "error",
    "The description of an index says how many entries follow it. Whole entries are shown. An index can be rebuilt "
    "from the packs: `thawline borg index REPOSITORY --rebuild OUT`.",
)
BAD_INDEX_NAME = Code(
    "BRG113",
    "the index does not hash to its name",
    "error",
    "An index file is named by the SHA-256 (2.0.0b22 to b24) or BLAKE3 (b25) of its bytes. Borg ignores one with "
    "another name. Nothing is lost: all of it follows from the packs.",
)
MISSING_PACK = Code(
    "BRG120",
    "the index names a pack that is not there",
    "error",
    "Chunks of this pack are lost unless another pack holds them too. Look for the file in other copies of the "
    "repository: its name is the hash of its content, so a copy that hashes to it can be trusted.",
)
WRONG_LOCATION = Code(
    "BRG121",
    "the index points to a place that does not hold the chunk",
    "error",
    "At the place that the index names there is another blob, or none, or one of another size. An index rebuilt from "
    "the packs is right: `thawline borg index REPOSITORY --rebuild OUT`.",
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
    "Up to 2.0.0b21 (repository version 3) every chunk was a file in data/, with another header and no magic. Borg "
    "cannot convert such a repository to packs, and it is not read here.",
)
BAD_CONFIG = Code(
    "BRG124",
    "the configuration of the repository cannot be read",
    "error",
    "config/version (2.0.0b22 to b24) or config/config (b25) states the repository version. The packs are read without "
    "it, since they describe themselves.",
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
    "blobs that are in no index",
    "warning",
    "Some blobs of an indexed pack are in no index, so borg does not find them. Rebuilding the index from the packs "
    "brings them back.",
)
NOT_ITS_NAME = Code(
    "BRG301",
    "the damaged pack does not hash to its name",
    "note",
    "That is expected of a damaged pack. A repair that gives the name back is right in every byte: `salvage` tries.",
)
ORPHAN_PACK = Code(
    "BRG302",
    "stopped between step 1 and 2: an orphan pack",
    "note",
    "The pack was stored, the index file that names it was not: a backup was interrupted, or another one is running. "
    "It is harmless; `borg compact` removes it.",
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
    "What can be checked without the key depends on the mode. In the modes none, none-sha256 and none-blake3 a hash "
    "covers every byte. In the others only the name of a pack covers its content: it proves that the bytes are those "
    "stored under that name, not who wrote them. Without that, all that is known is that headers and envelopes fit "
    "each other.",
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
    "an index that needs the key",
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

# What BRG304 says of a pack.
BY_NAME = "every byte is the one that was stored under this name"
BY_STRUCTURE = "headers and envelopes fit each other; both slots of a blob have one session and adjacent counters"
BY_READING = "headers fit each other, meta maps can be read and chunks decompress to their sizes"
UNREPORTED_BLOBS = "of the blobs that are not reported: "
UNPROVEN_SEALED = "that the encrypted content is unchanged; a changed byte in a slot goes unnoticed"
UNPROVEN_READABLE = "that the content is unchanged; ids and tags are keyed, so a changed byte may go unnoticed"
UNPROVEN_ORIGIN = "who wrote it; that takes the key"
WITH_KEY = "borg check --verify-data, which needs the key"

# What it says of a repository: proven, and not proven.
BY_BORG = "borg check --verify-data, with the key"
UNREPORTED = "of all that is not reported: "
BY_STORED_NAMES = "packs are the bytes that were stored under their names"
OF_HEADS = (
    "headers fit each other and fill the packs, and archives lead to chunks that are there",
    "that any content is unchanged; it is read without --heads-only",
)
OF_SEALED = (
    f"{BY_STORED_NAMES}, blobs fill them, every archive pointer leads to a chunk",
    f"that the content can be decrypted, which chunks an archive needs, who wrote it: {BY_BORG}",
)
OF_KEYED = (
    f"{BY_STORED_NAMES}, every chunk decompresses, archives lead to all chunks of their files",
    f"who wrote it; ids and tags are keyed: {BY_BORG}",
)
OF_PLAIN = (
    "every chunk hashes to its id, and archives lead to all chunks of their files",
    "who wrote it; in this mode anybody can",
)
BY_CHUNK_NAMES = "headers and envelopes fit each other; packs are named by their chunk, which proves nothing about them"
