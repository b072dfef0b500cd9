meta:
  id: aerospike_header
  title: Header line of an Aerospike backup
  application: asbackup
  file-extension: asb
  license: CC0-1.0
  ks-version: '0.10'
  encoding: ASCII
doc: |
  First line of the file. 3.0 knows no escapes, 3.1 is what every tool writes,
  3.2 adds expression indexes and is written by backup-go only.
doc-ref: https://github.com/aerospike/aerospike-tools-backup#backup-file-format
-columnar:
  frame: aerospike_header
seq:
  - id: magic
    contents: 'Version '
  - id: version
    size: 3
    type: str
    valid:
      any-of: ['"3.0"', '"3.1"', '"3.2"']
    -refused-by:
      - tool: asrestore
        written: '3\.2'
        tolerated: true
        because: version {shown}, which backup-go writes for expression indexes
      - tool: asrestore
        written: '[0-2]\.[0-9]'
        because: version {text}, which asrestore does not know
    doc: 3.1 unless an old or a new tool wrote it.
  - id: lf
    contents: [0x0a]
