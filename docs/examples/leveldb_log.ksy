meta:
  id: leveldb_log
  title: LevelDB log
  application: LevelDB, RocksDB before recyclable logs, Chromium's IndexedDB
  file-extension: log
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  The write-ahead log of LevelDB, and its MANIFEST: blocks of 32 KiB, and in each the fragments of records.
doc-ref: https://github.com/google/leveldb/blob/main/doc/log_format.md
seq:
  - id: blocks
    size: '_io.size - _io.pos < 32768 ? _io.size - _io.pos : 32768'
    type: block
    repeat: eos
types:
  block:
    -sync:
      align: 32768
    seq:
      - id: fragments
        type: fragment
        repeat: until
        repeat-until: _io.size - _io.pos < 7
      - id: trailer
        size-eos: true
        doc: Too short for a fragment.
  fragment:
    seq:
      - id: checksum
        type: u4
        doc: CRC-32C of the body, masked.
      - id: len_data
        type: u2
        doc: Bytes of the body after its first one.
      - id: body
        size: len_data + 1
        type: body
  body:
    seq:
      - id: kind
        type: u1
        enum: kind
        valid:
          in-enum: true
        doc: Whether a record starts here, goes on, or ends.
      - id: data
        size-eos: true
        doc: A record, or a part of one.
    instances:
      checksum_input:
        pos: 0
        size-eos: true
        -overlay: true
        -columnar:
          checksum: crc32c
          mask: 0xa282ead8
          stored: _parent.checksum
    enums:
      kind:
        1: full
        2: first
        3: middle
        4: last
