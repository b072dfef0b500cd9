meta:
  id: borg_pack
  title: Borg pack file
  application: BorgBackup 2
  tags:
    - archive
  license: CC0-1.0
  ks-version: '0.8'
  imports:
    - borg_blob
doc: |
  Blobs back to back; no file header, no padding, no trailer. The file is named
  after its content: the chunk_id of its only blob in development versions of
  June 2026, SHA-256 of the bytes in 2.0.0b22 to b24, BLAKE3 since b25.
doc-ref: https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
seq:
  - id: blobs
    type: borg_blob
    repeat: eos
    doc: One after another, to the end of the file.
