meta:
  id: zigzag_varlong
  title: Zig-zag encoded variable-length 64-bit integer
  xref:
    wikidata: Q6500507
  license: CC0-1.0
  ks-version: '0.10'
  bit-endian: be
doc: |
  A signed 64-bit integer in at most 10 bytes: groups of 7 bits, least
  significant first, then un-zig-zagged (0, -1, 1, -2, 2, ...). Protobuf calls
  it `sint64`, Kafka `varlong`. Encodings longer than necessary are
  accepted, as Kafka accepts them; bits beyond the 64th are not.
doc-ref: https://protobuf.dev/programming-guides/encoding/#signed-ints
-columnar:
  intrinsic: zigzag
  bits: 64
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
          expr: not has_next or index < 9
        doc: Another group follows; the tenth has to be the last.
      - id: bits
        type: b7
        valid:
          expr: index < 9 or bits < 0x02
        doc: Seven bits of the number.
    instances:
      sum:
        value: sum_before | (bits << (7 * index))
