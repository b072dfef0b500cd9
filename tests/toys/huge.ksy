meta:
  id: huge
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: huge
seq:
  - id: len_data
    type: u4
  - id: data
    size: len_data
