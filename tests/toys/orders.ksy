meta:
  id: orders
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: orders
seq:
  - id: as_file
    type: u2
  - id: turned
    type: turned
types:
  turned:
    meta:
      endian: be
    seq:
      - id: as_type
        type: u2
      - id: deeper
        type: deeper
    types:
      deeper:
        seq:
          - id: as_type_around
            type: u2
          - id: as_suffix
            type: u2le
