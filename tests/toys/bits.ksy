meta:
  id: bits
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: bits
seq:
  - id: flag
    type: b1
  - id: three
    type: b3
  - id: letter
    type: b4
    enum: letter
  - id: nine
    type: b9
    valid:
      max: 0x1ff
  - id: seven
    type: b7
  - id: high
    type: b4
  - id: low
    type: b4
  - id: whole
    type: b8
    enum: letter
  - id: across
    type: b12
  - id: rest
    type: b12
  - id: switch
    type: b1
    enum: letter
  - id: unseen
    type: b7
    -columnar:
      column: false
instances:
  is_even:
    value: nine % 2 == 0 and flag
    -columnar:
      column: true
enums:
  letter:
    0: zero
    3: three
    0xa5: many
