meta:
  id: pcap
  title: Captured packets, as libpcap keeps them, down to TCP and UDP over IPv4
  file-extension: [pcap, dmp]
  license: CC0-1.0
  endian: le
seq:
  - id: magic_number
    contents: [0xd4, 0xc3, 0xb2, 0xa1]
  - id: hdr
    type: header
  - id: packets
    type: packet
    repeat: eos
types:
  header:
    seq:
      - id: version_major
        type: u2
        valid: 2
      - id: version_minor
        type: u2
      - id: thiszone
        type: s4
      - id: sigfigs
        type: u4
      - id: snaplen
        type: u4
      - id: network
        type: u4
        enum: linktype
  packet:
    seq:
      - id: ts_sec
        type: u4
      - id: ts_usec
        type: u4
      - id: incl_len
        type: u4
      - id: orig_len
        type: u4
      - id: body
        size: 'incl_len < _root.hdr.snaplen ? incl_len : _root.hdr.snaplen'
        type:
          switch-on: _root.hdr.network
          cases:
            linktype::ethernet: ethernet_frame
  ethernet_frame:
    seq:
      - id: dst_mac
        size: 6
      - id: src_mac
        size: 6
      - id: ether_type_1
        type: u2be
        enum: ether_type_enum
      - id: tci
        type: tag_control_info
        if: ether_type_1 == ether_type_enum::ieee_802_1q_tpid
      - id: ether_type_2
        type: u2be
        enum: ether_type_enum
        if: ether_type_1 == ether_type_enum::ieee_802_1q_tpid
      - id: body
        size-eos: true
        type:
          switch-on: ether_type
          cases:
            'ether_type_enum::ipv4': ipv4_packet
    instances:
      ether_type:
        value: |
          (ether_type_1 == ether_type_enum::ieee_802_1q_tpid) ? ether_type_2 : ether_type_1
  tag_control_info:
    meta:
      endian: be
    seq:
      - id: priority
        type: b3
      - id: drop_eligible
        type: b1
      - id: vlan_id
        type: b12
  ipv4_packet:
    meta:
      endian: be
    seq:
      - id: b1
        type: u1
      - id: b2
        type: u1
      - id: total_length
        type: u2
      - id: identification
        type: u2
      - id: b67
        type: u2
      - id: ttl
        type: u1
      - id: protocol
        type: u1
      - id: header_checksum
        type: u2
      - id: src_ip_addr
        size: 4
      - id: dst_ip_addr
        size: 4
      - id: options
        type: ipv4_options
        size: ihl_bytes - 20
      - id: body
        size: total_length - ihl_bytes
        type:
          switch-on: protocol
          cases:
            6: tcp_segment
            17: udp_datagram
    instances:
      version:
        value: (b1 & 0xf0) >> 4
      ihl:
        value: b1 & 0xf
      ihl_bytes:
        value: ihl * 4
  ipv4_options:
    seq:
      - id: entries
        type: ipv4_option
        repeat: eos
  ipv4_option:
    seq:
      - id: b1
        type: u1
      - id: len
        type: u1
      - id: body
        size: 'len > 2 ? len - 2 : 0'
    instances:
      copy:
        value: (b1 & 0b10000000) >> 7
      opt_class:
        value: (b1 & 0b01100000) >> 5
      number:
        value: (b1 & 0b00011111)
  udp_datagram:
    meta:
      endian: be
    seq:
      - id: src_port
        type: u2
      - id: dst_port
        type: u2
      - id: length
        type: u2
      - id: checksum
        type: u2
      - id: body
        size: length - 8
  tcp_segment:
    meta:
      endian: be
    seq:
      - id: src_port
        type: u2
      - id: dst_port
        type: u2
      - id: seq_num
        type: u4
      - id: ack_num
        type: u4
      - id: data_offset
        type: b4
      - id: reserved
        type: b4
      - id: flags
        type: tcp_flags
      - id: window_size
        type: u2
      - id: checksum
        type: u2
      - id: urgent_pointer
        type: u2
      - id: options
        size: 'data_offset * 4 - 20'
        if: '(data_offset * 4 - 20) != 0'
      - id: body
        size-eos: true
  tcp_flags:
    seq:
      - id: cwr
        type: b1
      - id: ece
        type: b1
      - id: urg
        type: b1
      - id: ack
        type: b1
      - id: psh
        type: b1
      - id: rst
        type: b1
      - id: syn
        type: b1
      - id: fin
        type: b1
enums:
  linktype:
    0: null_linktype
    1: ethernet
    101: raw
    113: linux_sll
  ether_type_enum:
    0x0800: ipv4
    0x0806: arp
    0x8100: ieee_802_1q_tpid
    0x86dd: ipv6
