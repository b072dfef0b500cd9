meta:
  id: rbf_frame
  title: RBF frame, Layer 0 version 0.27
  application: Atelia
  file-extension: rbf
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
  bit-endian: be
doc: |
  FrameBytes: one record with its length at both ends, so that a reader can walk
  the file in either direction. The fences around it are not part of it
  (`rbf_file`).
doc-ref: https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
seq:
  - id: len_frame
    -orig-id: HeadLen
    type: u4
    valid:
      expr: _ >= 20 and _ % 4 == 0
    doc: |
      Bytes of the whole frame, this field included [F-HEADLEN-FORMULA]. Not
      covered by the checksum; `body.len_tail` repeats it and is.
  - id: body
    size: len_frame - 4
    type: body
types:
  body:
    seq:
      - id: frame_tag
        -orig-id: FrameTag
        type: u4
        doc: Kind of record; every value belongs to the layer above.
      - id: payload
        -orig-id: Payload
        size: len_payload
      - id: status
        -orig-id: FrameStatus
        type: frame_status
        valid:
          expr: _.is_tombstone == last_status.is_tombstone and _.num_status_minus_1 == last_status.num_status_minus_1
        repeat: expr
        repeat-expr: num_status
        -columnar:
          column: false
        doc: One to four equal bytes that pad the frame to a multiple of four [F-FRAMESTATUS-FILL].
      - id: len_tail
        -orig-id: TailLen
        type: u4
        valid: _parent.len_frame
        -columnar:
          column: false
      - id: crc32c
        -orig-id: CRC32C
        type: u4
        doc: CRC-32C of `crc32c_input`.
    instances:
      last_status:
        pos: _io.size - 9
        type: frame_status
        -columnar:
          column: true
        doc: |
          Last byte of FrameStatus. It tells how long the status is and so where
          the payload ends [F-STATUSLEN-REVERSE-FORMULA].
      num_status:
        value: last_status.num_status_minus_1 + 1
      len_payload:
        value: _io.size - 12 - num_status
      crc32c_input:
        pos: 0
        size: _io.size - 4
        -overlay: true
        -columnar:
          checksum: crc32c
        doc: FrameTag, Payload, FrameStatus and TailLen [F-CRC32C-COVERAGE].
  frame_status:
    seq:
      - id: is_tombstone
        -orig-id: Tombstone
        type: b1
        doc: The record was deleted, or its writer gave up on it.
      - id: reserved
        -orig-id: Reserved
        type: b5
        valid: 0
        -columnar:
          column: false
      - id: num_status_minus_1
        -orig-id: StatusLen
        type: b2
        -columnar:
          column: false
