meta:
  id: rbf_address
  title: RBF address of a frame (Address64)
  application: Atelia
  license: CC0-1.0
  ks-version: '0.10'
  endian: le
doc: |
  File offset of a frame's HeadLen field, as upper layers store it in payloads.
doc-ref: https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
seq:
  - id: offset
    -orig-id: Address64
    type: u8
    valid:
      expr: _ % 4 == 0
    doc: A multiple of four; 0 is the null address [F-ADDRESS64-WIRE-FORMAT].
instances:
  is_null:
    value: offset == 0
