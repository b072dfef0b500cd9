meta:
  id: aerospike_record
  title: Record of an Aerospike backup
  application: asbackup
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - common/decimal_line
    - common/decimal_word
    - common/escaped_token
  encoding: ASCII
doc: |
  A record: header lines in fixed order, then as many bin lines as they count.
  Values carry their length and may hold line feeds, so it is no text to be
  split by lines.
doc-ref: https://github.com/aerospike/aerospike-tools-backup#records-section
-columnar:
  rows: aerospike_records
-sync:
  after: [0x0a]
  magic: lead
  until: sp_first_line
-head: set
seq:
  - id: lead
    contents: '+ '
  - id: first_line
    type: u1
    enum: first_line
    valid:
      in-enum: true
    -columnar:
      column: false
    doc: The key line is there only if the record was written with its key.
  - id: sp_first_line
    contents: ' '
  - id: key
    type: key
    if: first_line == first_line::key
    -columnar:
      prefix: key_
  - id: lead_namespace
    contents: '+ n '
    if: first_line == first_line::key
    -due: a record starts with its key or its namespace
  - id: namespace
    -orig-id: escape({namespace})
    type: escaped_token(0x0a)
    -refused-by:
      - tool: asrestore
        longer-than: 31
  - id: lead_digest
    contents: '+ d '
    -due: the line of the digest is due
  - id: digest
    -orig-id: '{digest}'
    size: 28
    -columnar:
      base64: true
    -bytes: 20
    -refused-by:
      - tool: asrestore
        written: '[^\r]*\r.*'
        because: a carriage return in the digest
      - tool: backup-go
        decoded-size: 21
        because: a digest of 21 bytes, of which asrestore takes the first 20
    doc: Base-64 of the 20-byte RIPEMD-160 of set, key type and key.
  - id: lf_digest
    contents: [0x0a]
  - id: lead_fourth_line
    contents: '+ '
  - id: fourth_line
    type: u1
    enum: fourth_line
    valid:
      in-enum: true
    -columnar:
      column: false
    doc: The set line is there only if the record is in a set.
  - id: sp_fourth_line
    contents: ' '
  - id: set
    -orig-id: escape({set})
    type: escaped_token(0x0a)
    if: fourth_line == fourth_line::set
    -refused-by:
      - tool: asrestore
        longer-than: 63
  - id: lead_generation
    contents: '+ g '
    if: fourth_line == fourth_line::set
    -due: the line of the set or the generation is due
  - id: generation
    -orig-id: '{gen-count}'
    type: decimal_line
    valid:
      expr: _.value >= 0 and _.value <= 65535
  - id: lead_expiration
    contents: '+ t '
    -due: the line of the expiration is due
  - id: expiration
    -orig-id: '{expiration}'
    type: decimal_line
    valid:
      expr: _.value >= 0
    -range: [0, 9222109732854]
    -refused-by:
      - tool: asrestore
        outside: [0, 0xffffffff]
        because: an expiration of more than 32 bits ({value})
    doc: |
      Seconds since 2010-01-01T00:00:00Z; 0 for never. The format's own document
      gives it 32 bits, which is what asrestore takes; backup-go takes 64. The last
      one that fits a column of microseconds since 1970 ends the range.
  - id: lead_num_bins
    contents: '+ b '
    -due: the line of the bin count is due
  - id: num_bins
    -orig-id: '{bin-count}'
    type: decimal_line
    valid:
      expr: _.value >= 0 and _.value <= 65535
    -columnar:
      column: false
    -called: bin count
  - id: bins
    type: bin
    repeat: expr
    repeat-expr: num_bins.value
types:
  key:
    -refused-by:
      - tool: asrestore
        if: after_type == 0x21 and type != key_type::bytes
        because: an exclamation mark after the type of a key that is not bytes
    seq:
      - id: type
        type: u1
        enum: key_type
        valid:
          in-enum: true
        -called: type of key
        -unknown: no {what} has the letter {letter}
        -refused-by:
          - tool: [asrestore, backup-go]
            written: U
            because: a large data type (LDT), which servers have not supported since version 3.15; only an older asrestore
              reads it
        doc: The letter of the key's type.
      - id: after_type
        type: u1
        valid:
          any-of: [0x20, 0x21]
        -columnar:
          column: false
        -due: a space is due after the type
        doc: An exclamation mark for bytes that are stored as they are instead of in base-64.
      - id: sp_type
        contents: ' '
        if: after_type == 0x21
        -due: a space is due after the type
      - id: integer
        -orig-id: '{int-value}'
        type: decimal_line
        if: type == key_type::integer
      - id: double
        -orig-id: '{float-value}'
        terminator: 0x0a
        if: type == key_type::double
        -columnar:
          text: true
        -refused-by: &double_spellings
          - tool: backup-go
            written: '(?i)[+-]nan'
            escapes: true
            tolerated: true
            because: double {shown}, which asbackup writes for a NaN whose sign bit is set
          - tool: backup-go
            unless-written: "(?i)nan|[+-]?(?:inf|infinity|(?=[\\d.]*\\d)(?:\\d+(?:_\\d+)*)?\\.?(?:\\d+(?:_\\d+)*)?\
              (?:e[+-]?\\d+(?:_\\d+)*)?|0x(?=[0-9a-f_.]*[0-9a-f])[0-9a-f_]*\\.?[0-9a-f_]*p[+-]?\\d+)"
            because: double {shown}
          - tool: backup-go
            overflows: double
            because: double {shown}
          - tool: asrestore
            unless-written: '(?i)|[+-]?(?:nan|inf|infinity|(?=[\d.]*\d)\d*\.?\d*(?:(?-i:e)[+-]?\d+)?)'
            escapes: true
            because: double {shown}
        doc: As written; `%.17g` of C or the shortest form of Go, also `nan`, `inf`.
      - id: sized
        type: sized
        if: type != key_type::integer and type != key_type::double
        -base64: type == key_type::base64_string or type == key_type::bytes and after_type == 0x20
    instances:
      is_compact:
        value: after_type == 0x21
        -columnar:
          column: true
        doc: The bytes follow as they are, not in base-64.
      letter:
        value: type.to_i
        -columnar:
          column: true
        doc: The type as it is written.
  bin:
    seq:
      - id: lead
        contents: '- '
        -due: bin {turn} of {turns} is due
      - id: type
        type: u1
        enum: bin_type
        valid:
          in-enum: true
        -called: type of bin
        -unknown: no {what} has the letter {letter}
        -refused-by:
          - tool: [asrestore, backup-go]
            written: U
            because: a large data type (LDT), which servers have not supported since version 3.15; only an older asrestore
              reads it
        doc: The letter of the bin's type.
      - id: after_type
        type: u1
        valid:
          any-of: [0x20, 0x21]
        -columnar:
          column: false
        -due: a space is due after the type
        doc: An exclamation mark for bytes that are stored as they are instead of in base-64.
      - id: sp_type
        contents: ' '
        if: after_type == 0x21
        -due: a space is due after the type
      - id: name
        -orig-id: escape({bin-name})
        type: 'escaped_token(type == bin_type::nil ? 0x0a : 0x20)'
        -called: bin name
        -refused-by:
          - tool: asrestore
            longer-than: 15
          - tool: [asrestore, backup-go]
            if: type == bin_type::nil
            written: '(?:[^\\ ]++|\\.)*+ .*'
            because: a value after a bin that has none
      - id: boolean
        -orig-id: '{bool-value}'
        type: boolean
        if: type == bin_type::boolean
      - id: integer
        -orig-id: '{int-value}'
        type: decimal_line
        if: type == bin_type::integer
      - id: double
        -orig-id: '{float-value}'
        terminator: 0x0a
        if: type == bin_type::double
        -columnar:
          text: true
        -refused-by: *double_spellings
      - id: sized
        type: sized
        if: type != bin_type::nil and type != bin_type::boolean and type != bin_type::integer and type != bin_type::double
        -base64: type == bin_type::base64_string or type != bin_type::string and type != bin_type::geojson and after_type == 0x20
    instances:
      is_compact:
        value: after_type == 0x21
        -columnar:
          column: true
        doc: The bytes follow as they are, not in base-64.
      letter:
        value: type.to_i
        -columnar:
          column: true
        doc: The type as it is written.
  boolean:
    seq:
      - id: letter
        type: u1
        valid:
          any-of: [0x46, 0x54]
        -columnar:
          column: false
        -due: a boolean that is neither T nor F
        -refused-by:
          - tool: backup-go
            written: '\\.'
            because: a backslash before T or F
        doc: |
          `T` for true, `F` for false.
      - id: lf
        contents: [0x0a]
    instances:
      boolean:
        value: letter == 0x54
        -columnar:
          column: true
  sized:
    seq:
      - id: len_data
        -orig-id: '{string-length}, {bytes-length}'
        type: decimal_word
        valid:
          expr: _.value >= 0 and _.value <= 0xffffffff
        -columnar:
          column: false
        -called: size
      - id: data
        -orig-id: '{string-data}, {bytes-data}'
        size: len_data.value
        -refused-by:
          - tool: asrestore
            written: '[^\r\n]*[\r\n].*'
            because: line ends in base-64
          - tool: backup-go
            misread-by: asrestore
            written: '.*=[^=].*|.*==='
            because: base-64 with padding where none belongs; asrestore decodes it to bytes that nobody encoded
        doc: Text, base-64, or bytes as they are, by the type and the exclamation mark.
      - id: lf
        contents: [0x0a]
enums:
  first_line:
    0x6b: key
    0x6e: namespace
  fourth_line:
    0x67: generation
    0x73: set
  key_type:
    0x42:
      id: bytes
      -orig-id: B
    0x44:
      id: double
      -orig-id: D
    0x49:
      id: integer
      -orig-id: I
    0x53:
      id: string
      -orig-id: S
    0x58:
      id: base64_string
      -orig-id: X
      doc: Read by both tools, written by neither.
  bin_type:
    0x42:
      id: bytes
      -orig-id: B
    0x43:
      id: csharp
      -orig-id: C
    0x44:
      id: double
      -orig-id: D
    0x45:
      id: erlang
      -orig-id: E
    0x47:
      id: geojson
      -orig-id: G
      doc: Not in the format's own document; both tools write it.
    0x48:
      id: php
      -orig-id: H
    0x49:
      id: integer
      -orig-id: I
    0x4a:
      id: java
      -orig-id: J
    0x4c:
      id: list
      -orig-id: L
    0x4d:
      id: map
      -orig-id: M
    0x4e:
      id: nil
      -orig-id: N
    0x50:
      id: python
      -orig-id: P
    0x52:
      id: ruby
      -orig-id: R
    0x53:
      id: string
      -orig-id: S
    0x58:
      id: base64_string
      -orig-id: X
      doc: Read by both tools, written by neither.
    0x59:
      id: hll
      -orig-id: Y
      doc: HyperLogLog.
    0x5a:
      id: boolean
      -orig-id: Z
