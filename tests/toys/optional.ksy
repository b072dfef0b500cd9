meta:
  id: optional
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: optional
seq:
  - id: flags
    type: u1
    -columnar:
      column: false
  - id: number
    type: s2
    if: has_first
  - id: len_data
    type: u1
    if: has_first and has_second
    -columnar:
      column: false
  - id: data
    size: len_data
    if: has_first and has_second
    doc-ref: where it is described
  - id: inner
    type: inner
    if: has_second
    -columnar:
      prefix: inner_
  - id: marker
    contents: [0xff]
    if: has_second
  - id: nothing
    type: nothing
    if: has_first
  - id: after
    type: u1
instances:
  has_first:
    value: flags & 1 != 0
  has_second:
    value: flags & 2 != 0
types:
  inner:
    seq:
      - id: kind
        type: u1
        enum: kind
      - id: flag
        type: b1
      - id: rest
        type: b7
    instances:
      doubled:
        value: rest * 2
        -columnar:
          column: true
  nothing:
    seq: []
enums:
  kind:
    7: seven
