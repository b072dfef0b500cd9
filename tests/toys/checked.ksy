meta:
  id: checked
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: checked
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
      - id: crc
        type: u4
      - id: len_covered
        type: s1
        -columnar:
          column: false
    instances:
      crc_input:
        pos: 4
        size: len_covered + 1
        -columnar:
          checksum: crc32
