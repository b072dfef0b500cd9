meta:
  id: zigzag_varint
  title: Zig-zag encoded variable-length 32-bit integer
  xref:
    wikidata: Q6500507
  license: CC0-1.0
  ks-version: '0.10'
  bit-endian: be
doc: |
  A signed 32-bit integer in at most 5 bytes: groups of 7 bits, least
  significant first, then un-zig-zagged (0, -1, 1, -2, 2, ...). Protobuf calls
  it `sint32`, Kafka plainly `varint`. Encodings longer than necessary are
  accepted, as Kafka accepts them; bits beyond the 32nd are not.
doc-ref: https://protobuf.dev/programming-guides/encoding/#signed-ints
-columnar:
  intrinsic: zigzag
  bits: 32
seq:
  - id: groups
    type: 'group(_index, _index == 0 ? 0 : groups[_index - 1].sum)'
    repeat: until
    repeat-until: not _.has_next
instances:
  value:
    value: (groups.last.sum >> 1) ^ -(groups.last.sum & 1)
types:
  group:
    params:
      - id: index
        type: s4
      - id: sum_before
        type: u8
    seq:
      - id: has_next
        type: b1
        valid:
          expr: not has_next or index < 4
        doc: Another group follows; the fifth has to be the last.
      - id: bits
        type: b7
        valid:
          expr: index < 4 or bits < 0x10
        doc: Seven bits of the number.
    instances:
      sum:
        value: sum_before | (bits << (7 * index))
