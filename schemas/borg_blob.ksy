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
  One chunk: a 49-byte header that needs no key, a meta slot and a data slot.
  What the slots hold depends on object version, repository version and the
  slot's first byte.
doc-ref: https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
-columnar:
  rows: borg_blobs
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
    -columnar:
      column: false
  - id: data
    -orig-id: encrypted_data
    size: len_data
    -columnar:
      column: false
