meta:
  id: in_blocks
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: in_blocks
seq:
  - id: len_body
    type: u1
    -columnar:
      column: false
  - id: body
    size: len_body
    type: body
types:
  body:
    seq:
      - id: has_more
        type: u1
      - id: more
        type: u1
        if: has_more != 0 and has_more < 255
      - id: picky
        size: last.number - 2
        if: has_more != 0
    instances:
      last:
        pos: _io.size - 1
        type: last
        -columnar:
          column: true
  last:
    seq:
      - id: number
        type: u1
