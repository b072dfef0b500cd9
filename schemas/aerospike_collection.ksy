meta:
  id: aerospike_collection
  title: List or map of an Aerospike bin
  application: Aerospike Database
  license: CC0-1.0
  ks-version: '0.9'
  endian: be
doc: |
  A msgpack value as Aerospike's server stores it: what the base-64 of a list or
  map bin holds, and each value inside. Text and bytes are one kind to the
  server, whichever of str and bin msgpack has for them: their first byte is the
  particle type. Numbers of 8 bytes are signed, however they are marked.
doc-ref: https://github.com/msgpack/msgpack/blob/master/spec.md
seq:
  - id: lead
    -orig-id: first byte
    type: u1
  - id: body
    type:
      switch-on: form
      cases:
        'msgpack::fixmap': map(lead - 0x80)
        'msgpack::fixarray': list(lead - 0x90)
        'msgpack::fixstr': particle(lead - 0xa0)
        'msgpack::bin_8': particle_1
        'msgpack::bin_16': particle_2
        'msgpack::bin_32': particle_4
        'msgpack::ext_8': extension_1
        'msgpack::ext_16': extension_2
        'msgpack::ext_32': extension_4
        'msgpack::float_32': f4
        'msgpack::float_64': f8
        'msgpack::uint_8': u1
        'msgpack::uint_16': u2
        'msgpack::uint_32': u4
        'msgpack::uint_64': s8
        'msgpack::int_8': s1
        'msgpack::int_16': s2
        'msgpack::int_32': s4
        'msgpack::int_64': s8
        'msgpack::fixext_1': extension(1)
        'msgpack::fixext_2': extension(2)
        'msgpack::fixext_4': extension(4)
        'msgpack::fixext_8': extension(8)
        'msgpack::fixext_16': extension(16)
        'msgpack::str_8': particle_1
        'msgpack::str_16': particle_2
        'msgpack::str_32': particle_4
        'msgpack::array_16': list_2
        'msgpack::array_32': list_4
        'msgpack::map_16': map_2
        'msgpack::map_32': map_4
    doc: |
      What comes after the first byte; nothing for nil, for booleans, and for small
      integers, which are in the first byte.
instances:
  form:
    value: 'lead < 0x80 ? 0 : lead < 0x90 ? 0x80 : lead < 0xa0 ? 0x90 : lead < 0xc0 ? 0xa0 : lead < 0xe0 ? lead : 0xe0'
    enum: msgpack
    doc: What the first byte says that the value is.
types:
  list:
    params:
      - id: num_items
        type: u4
    seq:
      - id: items
        -orig-id: elements
        type: aerospike_collection
        repeat: expr
        repeat-expr: num_items
        doc: The first may be an extension, which holds flags and is no element.
  list_2:
    seq:
      - id: num_items
        -orig-id: array 16
        type: u2
      - id: list
        type: list(num_items)
  list_4:
    seq:
      - id: num_items
        -orig-id: array 32
        type: u4
      - id: list
        type: list(num_items)
  map:
    params:
      - id: num_entries
        type: u4
    seq:
      - id: entries
        type: entry
        repeat: expr
        repeat-expr: num_entries
        doc: The first key may be an extension, with nil as its value, which is no entry.
  map_2:
    seq:
      - id: num_entries
        -orig-id: map 16
        type: u2
      - id: map
        type: map(num_entries)
  map_4:
    seq:
      - id: num_entries
        -orig-id: map 32
        type: u4
      - id: map
        type: map(num_entries)
  entry:
    seq:
      - id: key
        type: aerospike_collection
        doc: No map is a key.
      - id: value
        type: aerospike_collection
        doc: A value of any kind.
  particle:
    params:
      - id: len_particle
        type: u4
    seq:
      - id: particle_type
        -orig-id: as_particle_type
        type: u1
        enum: particle_type
        if: len_particle > 0
      - id: content
        size: len_particle - 1
        if: len_particle > 0
        doc: Text in UTF-8, or bytes.
  particle_1:
    seq:
      - id: len_particle
        -orig-id: str 8, bin 8
        type: u1
      - id: particle
        type: particle(len_particle)
  particle_2:
    seq:
      - id: len_particle
        -orig-id: str 16, bin 16
        type: u2
      - id: particle
        type: particle(len_particle)
  particle_4:
    seq:
      - id: len_particle
        -orig-id: str 32, bin 32
        type: u4
      - id: particle
        type: particle(len_particle)
  extension:
    params:
      - id: len_data
        type: u4
    seq:
      - id: extension_type
        type: u1
        enum: extension_type
        doc: Flags of an ordered list or map, or what only requests have.
      - id: data
        size: len_data
        doc: What the server keeps with the flags.
  extension_1:
    seq:
      - id: len_data
        -orig-id: ext 8
        type: u1
      - id: extension
        type: extension(len_data)
  extension_2:
    seq:
      - id: len_data
        -orig-id: ext 16
        type: u2
      - id: extension
        type: extension(len_data)
  extension_4:
    seq:
      - id: len_data
        -orig-id: ext 32
        type: u4
      - id: extension
        type: extension(len_data)
enums:
  msgpack:
    0x00: fixint
    0x80: fixmap
    0x90: fixarray
    0xa0: fixstr
    0xc0: nil
    0xc1: unused
    0xc2: 'false'
    0xc3: 'true'
    0xc4: bin_8
    0xc5: bin_16
    0xc6: bin_32
    0xc7: ext_8
    0xc8: ext_16
    0xc9: ext_32
    0xca: float_32
    0xcb: float_64
    0xcc: uint_8
    0xcd: uint_16
    0xce: uint_32
    0xcf: uint_64
    0xd0: int_8
    0xd1: int_16
    0xd2: int_32
    0xd3: int_64
    0xd4: fixext_1
    0xd5: fixext_2
    0xd6: fixext_4
    0xd7: fixext_8
    0xd8: fixext_16
    0xd9: str_8
    0xda: str_16
    0xdb: str_32
    0xdc: array_16
    0xdd: array_32
    0xde: map_16
    0xdf: map_32
    0xe0: negative_fixint
  particle_type:
    1: integer
    2: double
    3: string
    4: bytes
    7: java
    8: csharp
    9: python
    10: ruby
    11: php
    12: erlang
    16: vector
    18: hll
    23: geojson
  extension_type:
    0xff:
      id: request
      doc: A wildcard or an infinity, which is for requests and is never stored.
