meta:
  id: borg_index
  title: Borg chunk index file (BORGHASH)
  application: BorgBackup 2
  tags:
    - archive
  license: CC0-1.0
  ks-version: '0.8'
  endian: le
doc: |
  Where each chunk lies: a serialised borghash table, as found under `index/`.
  Plain up to 2.0.0b24; since b25 in the envelope of the repository's key, so
  that in encrypted repositories it cannot be read.
doc-ref: https://github.com/borgbackup/borghash
-columnar:
  frame: borg_index_head
seq:
  - id: magic
    contents: BORGHASH
  - id: version
    type: u4
    valid: 1
    doc: Of borghash's file format.
  - id: len_description
    -orig-id: json_len
    type: u4
  - id: description
    size: len_description
    doc: JSON with key_size, value_size, the names and formats of the value's fields, capacity and used.
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -columnar:
      rows: borg_index_entries
    seq:
      - id: chunk_id
        size: 32
        doc: |
          The key: id hash of the chunk's plaintext.
      - id: flags
        type: u4
        doc: 0x01000000 on disk.
      - id: size
        type: u4
        doc: Plaintext size; 0 on disk.
      - id: pack_id
        size: 32
        doc: Name of the pack that holds the chunk.
      - id: ofs_blob
        -orig-id: obj_offset
        type: u4
      - id: len_blob
        -orig-id: obj_size
        type: u4
