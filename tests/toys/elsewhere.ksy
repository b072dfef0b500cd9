meta:
  id: elsewhere
  title: A toy
  imports: [common/zigzag_varint, common/zigzag_varlong, common/decimal_word, common/decimal_line, common/escaped_token]
  endian: le
  bit-endian: be
-columnar:
  rows: elsewhere
seq:
  - id: len_body
    type: u1
  - id: body
    size: len_body
    type: body
types:
  body:
    seq:
      - id: ofs
        type: s1
      - id: len_data
        type: u1
        valid: len_by_tail
      - id: data
        size: len_data
      - id: num_peeks
        type: u1
        if: len_data > 1
    instances:
      tail:
        pos: _io.size - 1
        type: tail
        -columnar:
          column: true
          prefix: tail_
      len_by_tail:
        value: tail.number - 2
      in_middle:
        pos: 2
        type: u2be
        valid:
          max: 0xfffe
        -columnar:
          column: true
      slice:
        pos: len_data
        size: 2
        -columnar:
          column: true
      ofs_peek:
        value: 'ofs < 0 ? _io.size - 1 : ofs'
      peeked:
        pos: ofs_peek
        type: u1
        -columnar:
          column: true
      unused:
        pos: 1000000
        process: zlib
        size-eos: true
  tail:
    seq:
      - id: number
        type: u1
