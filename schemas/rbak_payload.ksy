meta:
  id: rbak_payload
  title: RBAK payload, decompressed
  application: rabbitmq-backup
  license: CC0-1.0
  ks-version: '0.7'
  endian: le
doc: |
  Length-prefixed JSON documents back to back, one for each backed-up message.
doc-ref: https://rabbitmqbackup.com/architecture/segment-format
seq:
  - id: records
    -orig-id: BackupRecord
    type: record
    repeat: eos
types:
  record:
    -columnar:
      rows: rbak_records
    seq:
      - id: len_json
        -orig-id: length
        type: u4
      - id: json
        -orig-id: JSON
        size: len_json
        doc: A `BackupRecord` as compact JSON in UTF-8; `body` is an array of bytes.
