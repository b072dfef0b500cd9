meta:
  id: huge_lists
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: huge_lists
seq:
  - id: num_parts
    type: u1
  - id: parts
    type: part
    repeat: expr
    repeat-expr: num_parts
types:
  part:
    seq:
      - id: len_data
        type: u4
      - id: data
        size: len_data
