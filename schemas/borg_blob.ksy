meta:
  id: borg_blob
  title: Blob of a Borg pack (repository object)
  application: BorgBackup 2
  tags:
    - archive
  license: CC0-1.0
  ks-version: '0.8'
  endian: le
doc: |
  One chunk: a 49-byte header that needs no key, a meta slot and a data slot,
  each in the envelope of the repository's key. How an envelope is laid out
  follows from the object version and the slot's first byte; which mode that
  byte names depends on the repository version too.
doc-ref: https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
-columnar:
  rows: borg_blobs
-sync:
  magic: magic
  plausible:
    - version
    - len_meta
    - len_data
    - meta.key_type == data.key_type
seq:
  - id: magic
    -orig-id: OBJ_MAGIC
    contents: BORG_OBJ
  - id: version
    -orig-id: Format version
    type: u1
    valid:
      any-of: [1, 2]
    doc: 1 up to 2.0.0b22, 2 since 2.0.0b23. The header is the same.
  - id: chunk_id
    size: 32
    doc: Id hash of the plaintext, keyed in most encryption modes.
  - id: len_meta
    -orig-id: meta_size
    type: u4
    valid:
      max: 20971430
  - id: len_data
    -orig-id: data_size
    type: u4
    valid:
      expr: len_meta + _ <= 20971430
    doc: Borg keeps a whole object, header included, within MAX_DATA_SIZE, 20,971,479 bytes.
  - id: meta
    -orig-id: encrypted_meta
    size: len_meta
    type: slot
    -columnar:
      prefix: meta_
      part: true
  - id: data
    -orig-id: encrypted_data
    size: len_data
    type: slot
    -columnar:
      prefix: data_
      part: true
types:
  slot:
    seq:
      - id: key_type
        -orig-id: TYPE
        type: u1
        doc: |
          Names the mode, not without the versions: 0x50 and 0x60 have changed
          their meaning twice.
      - id: aead
        type: aead
        if: is_encrypted
      - id: stamp
        type: stamp
        if: is_tagged
      - id: payload
        size-eos: true
        doc: |
          Ciphertext in the encrypted modes. Else, of the meta slot a msgpack
          map; of the data slot the chunk, compressed as that map says.
    instances:
      is_encrypted:
        value: key_type == 0x10 or key_type == 0x20 or key_type == 0x30 or key_type == 0x40
        doc: aes256-ocb and chacha20-poly1305, with ids by SHA-256 or by BLAKE3.
      is_tagged:
        value: _parent.version == 2 and not is_encrypted
        doc: Since version 2, modes without encryption carry a tag of 32 bytes.
  aead:
    seq:
      - id: reserved
        contents: [0]
      - id: iv_high
        -orig-id: messageIV
        type: u2be
        -columnar:
          column: false
      - id: iv_low
        type: u4be
        -columnar:
          column: false
        doc: The lower 32 of the 48 bits of `iv`.
      - id: session_id
        -orig-id: sessionID
        size: 24
      - id: mac
        -orig-id: MAC
        size: 16
        -columnar:
          column: false
    instances:
      iv:
        value: iv_high * 4294967296 + iv_low
        -columnar:
          column: true
        doc: A counter that the key takes further with each slot it seals, the data slot first.
  stamp:
    seq:
      - id: reserved
        contents: [0]
      - id: tag
        size: 32
        doc: A hash in the modes none-*, a keyed one in the modes authenticated-*.
