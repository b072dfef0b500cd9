meta:
  id: aerospike_udf
  title: UDF file in an Aerospike backup
  application: asbackup
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - common/decimal_word
    - common/escaped_token
doc: |
  A file of user-defined functions, copied as it is: the "line" spans as many
  lines as the file has.
doc-ref: https://github.com/aerospike/aerospike-tools-backup#global-section
-columnar:
  rows: aerospike_udfs
-sync:
  after: [0x0a]
  magic: lead
  until: lead
-refused-by:
  - tool: asrestore
    version: ['3.0']
    because: global data in a file of version 3.0
seq:
  - id: lead
    contents: '* u '
  - id: udf_type
    -orig-id: '{type}'
    type: u1
    enum: udf_type
    valid:
      in-enum: true
    -called: type of UDF
  - id: sp_udf_type
    contents: ' '
  - id: name
    -orig-id: escape({name})
    type: escaped_token(0x20)
  - id: len_content
    -orig-id: '{length}'
    type: decimal_word
    valid:
      expr: _.value >= 0 and _.value <= 0xffffffff
    -columnar:
      column: false
    -called: size
  - id: content
    -orig-id: '{content}'
    size: len_content.value
  - id: lf
    contents: [0x0a]
enums:
  udf_type:
    0x4c:
      id: lua
      -orig-id: L
