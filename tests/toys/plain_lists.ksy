meta:
  id: plain_lists
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: plain_lists
seq:
  - id: num_numbers
    type: u1
    -columnar:
      column: false
  - id: numbers
    type: u2
    valid:
      max: 1000
    repeat: expr
    repeat-expr: num_numbers
  - id: num_flags
    type: u1
    -columnar:
      column: false
  - id: passed
    type: u1
    repeat: expr
    repeat-expr: num_flags - 2
    -columnar:
      column: false
  - id: pairs
    size: 2
    repeat: expr
    repeat-expr: 1
  - id: varints
    type: zigzag_varint
    repeat: expr
    repeat-expr: num_numbers
  - id: end
    type: u1
