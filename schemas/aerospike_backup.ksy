meta:
  id: aerospike_backup
  title: Aerospike backup file
  application: asbackup
  file-extension: asb
  tags:
    - archive
    - database
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - aerospike_header
    - aerospike_index
    - aerospike_meta
    - aerospike_record
    - aerospike_udf
doc: |
  A header line, then meta data, secondary indexes, UDF files and records. The
  tools write them in this order and read them in any.
doc-ref: https://github.com/aerospike/aerospike-tools-backup#backup-file-format
-tools:
  asrestore:
    code: ASB103
    warning: ASB203
  backup-go:
    code: ASB104
    warning: ASB204
    heirs: absctl, Aerospike Backup Service
seq:
  - id: header
    type: aerospike_header
    doc: The first line; what follows depends on its version.
  - id: items
    type: item(_io.pos)
    repeat: eos
types:
  item:
    -sync:
      any: unit
    params:
      - id: ofs_item
        type: s8
    seq:
      - id: unit
        type:
          switch-on: kind
          cases:
            0x23: aerospike_meta
            0x2b: aerospike_record
            0x65: aerospike_index
            0x69: aerospike_index
            0x75: aerospike_udf
            _: unknown
    instances:
      section:
        pos: ofs_item
        type: u1
      global_kind:
        pos: ofs_item + 2
        type: u1
        if: section == 0x2a
      kind:
        value: 'section == 0x2a ? global_kind : section'
        doc: What the line starts with; for global data its third byte.
  unknown:
    seq:
      - id: lead
        type: u1
        valid:
          any-of: [0x23, 0x2a, 0x2b]
        doc: Meta data, global data or a record; a line that starts with anything else is refused here.
      - id: sp
        contents: ' '
      - id: kind
        type: u1
        valid:
          any-of: [0x65, 0x69, 0x75]
        doc: An index over an expression, an index, or a UDF file.
