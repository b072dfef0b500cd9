meta:
  id: rbf_file
  title: RBF file, walked forward
  application: Atelia
  file-extension: rbf
  tags:
    - log
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - rbf_frame
  endian: le
doc: |
  The genesis fence, then frames, each followed by a fence. A sound file reads
  like this; the reverse scan that the format defines, with its way past damage,
  is handwritten code.
doc-ref: https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
seq:
  - id: genesis
    -orig-id: Genesis Fence
    contents: RBF1
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -columnar:
      rows: rbf_frames
    -sync:
      align: 4
      checksum: frame.body.crc32c
    seq:
      - id: frame
        -orig-id: FrameBytes
        type: rbf_frame
      - id: fence
        -orig-id: Fence
        contents: RBF1
