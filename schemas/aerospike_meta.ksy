meta:
  id: aerospike_meta
  title: Meta data line of an Aerospike backup
  application: asbackup
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - common/escaped_token
  encoding: ASCII
doc: |
  A line after the header that starts with a number sign: the namespace the
  file comes from, or the mark of the first file of a set.
doc-ref: https://github.com/aerospike/aerospike-tools-backup#meta-data-section
-columnar:
  frame: aerospike_meta
-refused-by:
  - tool: asrestore
    longer-than: 1001
    because: a meta data line of {bytes}
  - tool: asrestore
    written: '[^\n]*\n.+'
    because: a line feed in the namespace of the file
seq:
  - id: lead
    contents: '# '
  - id: keyword
    size: 10
    type: str
    valid:
      any-of: ['"namespace "', '"first-file"']
    -refused-by:
      - tool: backup-go
        written: '# namespace.*'
        because: meta data {shown}
    doc: Both words are ten bytes long, counting the space after `namespace`.
  - id: namespace
    -orig-id: escape({namespace})
    type: escaped_token(0x0a)
    if: not is_first_file
  - id: lf
    contents: [0x0a]
    if: is_first_file
instances:
  is_first_file:
    value: keyword == "first-file"
    -columnar:
      column: true
