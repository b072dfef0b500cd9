meta:
  id: rbak_segment
  title: RBAK segment of rabbitmq-backup
  application: rabbitmq-backup
  file-extension:
    - zst
    - lz4
  tags:
    - archive
    - log
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  One segment file: a 32-byte header, one compressed payload, an 8-byte footer
  that is found from the end of the file. The payload, once decompressed, is
  described by `rbak_payload`.
doc-ref: https://rabbitmqbackup.com/architecture/segment-format
seq:
  - id: header
    size: 32
    type: header
  - id: payload
    -orig-id: Compressed Payload
    size: _io.size - 40
    doc: Everything between header and footer, as it was compressed.
  - id: footer
    size: 8
    type: footer
instances:
  crc32_input:
    pos: 0
    size: _io.size - 8
    -overlay: true
    doc: |
      What `footer.crc32` covers: header and compressed payload. The polynomial
      is the IEEE one (crc32fast knows no other), although the format's page
      also says Castagnoli.
types:
  header:
    -columnar:
      frame: rbak_header
    -sync:
      magic: magic
      plausible: []
    seq:
      - id: magic
        -orig-id: Magic
        contents: RBAK
      - id: version
        -orig-id: Version
        type: u1
        valid: 1
      - id: compression
        -orig-id: Compression
        type: u1
        enum: compression
        valid:
          in-enum: true
      - id: reserved
        -orig-id: Reserved
        size: 2
        doc: Zero when written, to be ignored when read.
      - id: num_records
        -orig-id: Record Count
        type: u8
        doc: Number of records in the payload.
      - id: first_timestamp
        -orig-id: First Timestamp
        type: s8
        doc: |
          `backed_up_at` of the first record, in milliseconds since 1970; 0 if
          there is none. First appended, not smallest.
      - id: last_timestamp
        -orig-id: Last Timestamp
        type: s8
        doc: |
          `backed_up_at` of the last record. Smaller than the first where the
          writer's clock stepped back.
  footer:
    -columnar:
      frame: rbak_footer
    -sync:
      magic: end_magic
      plausible: []
    seq:
      - id: crc32
        -orig-id: CRC32
        type: u4
        doc: CRC-32 (IEEE) of `crc32_input`.
      - id: end_magic
        -orig-id: End Magic
        contents: KABR
enums:
  compression:
    0: none
    1: zstd
    2: lz4
