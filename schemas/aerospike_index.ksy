meta:
  id: aerospike_index
  title: Secondary index line of an Aerospike backup
  application: asbackup
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - common/decimal_word
    - common/escaped_token
doc: |
  A secondary index: `* i`, or `* e` for one over an expression (version 3.2).
doc-ref: https://github.com/aerospike/aerospike-tools-backup#global-section
-columnar:
  rows: aerospike_indexes
-sync:
  after: [0x0a]
  magic: lead
  until: sp_kind
-refused-by:
  - tool: asrestore
    version: ['3.0']
    because: global data in a file of version 3.0
  - tool: asrestore
    version: ['3.0', '3.1']
    if: kind == kind::expression
    because: an expression index in a file that is not of version 3.2
seq:
  - id: lead
    contents: '* '
  - id: kind
    type: u1
    enum: kind
    valid:
      in-enum: true
    doc: The letter that tells an index over bins from one over an expression.
  - id: sp_kind
    contents: ' '
  - id: namespace
    -orig-id: escape({namespace})
    type: escaped_token(0x20)
  - id: set
    -orig-id: escape({set})
    type: escaped_token(0x20)
    doc: Empty for an index that covers the whole namespace.
  - id: name
    -orig-id: escape({name})
    type: escaped_token(0x20)
    -called: index name
  - id: index_type
    -orig-id: '{index-type}'
    type: u1
    enum: index_type
    valid:
      in-enum: true
  - id: sp_index_type
    contents: ' '
  - id: num_paths
    -orig-id: '"1"'
    type: decimal_word
    valid:
      expr: _.value == 1
    -columnar:
      column: false
    -called: path count
    -range: [0, 0xffffffff]
    -refused-by:
      - tool: asrestore
        misread-by: backup-go
        outside: [1, 1]
        because: an index over more than one path, which the tools read differently
    doc: Number of values the index covers. Nobody has written another than 1.
  - id: path
    -orig-id: escape({path})
    type: escaped_token(0x20)
    doc: Name of the bin; may be empty for an expression.
  - id: data_type
    -orig-id: '{data-type}'
    type: u1
    enum: data_type
    valid:
      in-enum: true
  - id: after_data_type
    type: u1
    valid:
      any-of: [0x0a, 0x20]
    -columnar:
      column: false
    -due: the end of the line is due
    doc: A space where a context or an expression follows, else the end of the line.
  - id: context
    -orig-id: '{context}'
    terminator: 0x0a
    if: after_data_type == 0x20 and kind == kind::bins
    -columnar:
      text: true
    doc: Base-64 of the CDT context.
  - id: expression
    terminator: 0x0a
    if: after_data_type == 0x20 and kind == kind::expression
    -columnar:
      text: true
    doc: Base-64 of the expression.
enums:
  kind:
    0x65: expression
    0x69: bins
  index_type:
    0x4b:
      id: map_keys
      -orig-id: K
    0x4c:
      id: list_elements
      -orig-id: L
    0x4e:
      id: bin
      -orig-id: N
    0x56:
      id: map_values
      -orig-id: V
  data_type:
    0x42:
      id: blob
      -orig-id: B
    0x47:
      id: geo2dsphere
      -orig-id: G
    0x4e:
      id: numeric
      -orig-id: N
    0x53:
      id: string
      -orig-id: S
