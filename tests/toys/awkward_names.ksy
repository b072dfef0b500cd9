meta:
  id: awkward_names
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: awkward_names
seq:
  - id: num_starts_1
    type: u1
  - id: rows_1
    type: u1
  - id: starts
    type: u1
    repeat: expr
    repeat-expr: num_starts_1
  - id: ends
    type: u1
    repeat: expr
    repeat-expr: num_starts_1
  - id: pos
    type: u1
  - id: row
    type: u1
  - id: end
    type: u1
  - id: buf
    type: u1
  - id: state
    type: u1
  - id: byte
    type: u1
  - id: shift
    type: u1
  - id: count
    type: u1
  - id: word
    type: u1
  - id: one
    type: u1
  - id: cython
    type: u1
  - id: include
    type: u1
  - id: cdef
    type: u1
  - id: type
    type: u1
