meta:
  id: bytes_of_all_kinds
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: bytes_of_all_kinds
seq:
  - id: len_sized
    type: u1
    -columnar:
      column: false
  - id: sized
    size: len_sized
  - id: ended
    terminator: 0x2e
    -columnar:
      text: true
  - id: empty
    terminator: 0
  - id: len_body
    type: u1
    -columnar:
      column: false
  - id: body
    size: len_body
    type: body
  - id: fixed
    size: 3
types:
  body:
    seq:
      - id: len_short
        type: u1
        -columnar:
          column: false
      - id: short
        size: len_short
      - id: rest_of_two
        type: rest_of_two
        size: 2
  rest_of_two:
    seq:
      - id: first
        type: u1
      - id: all_else
        size-eos: true
