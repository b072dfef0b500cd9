# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbakSegment(ReadWriteKaitaiStruct):
    """One segment file: a 32-byte header, one compressed payload, an 8-byte footer
    that is found from the end of the file. The payload, once decompressed, is
    described by `rbak_payload`.
    
    .. seealso::
       Source - https://rabbitmqbackup.com/architecture/segment-format
    """

    class Compression(IntEnum):
        none = 0
        zstd = 1
        lz4 = 2
    SEQ_FIELDS = ["header", "payload", "footer"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(RbakSegment, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['header']['start'] = self._io.pos()
        self._raw_header = self._io.read_bytes(32)
        _io__raw_header = KaitaiStream(BytesIO(self._raw_header))
        self.header = RbakSegment.Header(_io__raw_header, self, self._root)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()
        self._debug['payload']['start'] = self._io.pos()
        self.payload = self._io.read_bytes(self._io.size() - 40)
        self._debug['payload']['end'] = self._io.pos()
        self._debug['footer']['start'] = self._io.pos()
        self._raw_footer = self._io.read_bytes(8)
        _io__raw_footer = KaitaiStream(BytesIO(self._raw_footer))
        self.footer = RbakSegment.Footer(_io__raw_footer, self, self._root)
        self.footer._read()
        self._debug['footer']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        self.footer._fetch_instances()


    def _write__seq(self, io=None):
        super(RbakSegment, self)._write__seq(io)
        _io__raw_header = KaitaiStream(BytesIO(bytearray(32)))
        self._io.add_child_stream(_io__raw_header)
        _pos2 = self._io.pos()
        self._io.seek(self._io.pos() + (32))
        def handler(parent, _io__raw_header=_io__raw_header):
            self._raw_header = _io__raw_header.to_byte_array()
            if len(self._raw_header) != 32:
                raise kaitaistruct.ConsistencyError(u"raw(header)", 32, len(self._raw_header))
            parent.write_bytes(self._raw_header)
        _io__raw_header.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
        self.header._write__seq(_io__raw_header)
        if len(self.payload) != self._io.size() - 40:
            raise kaitaistruct.ConsistencyError(u"payload", self._io.size() - 40, len(self.payload))
        self._io.write_bytes(self.payload)
        _io__raw_footer = KaitaiStream(BytesIO(bytearray(8)))
        self._io.add_child_stream(_io__raw_footer)
        _pos2 = self._io.pos()
        self._io.seek(self._io.pos() + (8))
        def handler(parent, _io__raw_footer=_io__raw_footer):
            self._raw_footer = _io__raw_footer.to_byte_array()
            if len(self._raw_footer) != 8:
                raise kaitaistruct.ConsistencyError(u"raw(footer)", 8, len(self._raw_footer))
            parent.write_bytes(self._raw_footer)
        _io__raw_footer.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
        self.footer._write__seq(_io__raw_footer)


    def _check(self):
        if self.header._root != self._root:
            raise kaitaistruct.ConsistencyError(u"header", self._root, self.header._root)
        if self.header._parent != self:
            raise kaitaistruct.ConsistencyError(u"header", self, self.header._parent)
        if self.footer._root != self._root:
            raise kaitaistruct.ConsistencyError(u"footer", self._root, self.footer._root)
        if self.footer._parent != self:
            raise kaitaistruct.ConsistencyError(u"footer", self, self.footer._parent)
        self._dirty = False

    class Footer(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["crc32", "end_magic"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(RbakSegment.Footer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['crc32']['start'] = self._io.pos()
            self.crc32 = self._io.read_u4le()
            self._debug['crc32']['end'] = self._io.pos()
            self._debug['end_magic']['start'] = self._io.pos()
            self.end_magic = self._io.read_bytes(4)
            self._debug['end_magic']['end'] = self._io.pos()
            if not self.end_magic == b"\x4B\x41\x42\x52":
                raise kaitaistruct.ValidationNotEqualError(b"\x4B\x41\x42\x52", self.end_magic, self._io, u"/types/footer/seq/1")
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(RbakSegment.Footer, self)._write__seq(io)
            self._io.write_u4le(self.crc32)
            self._io.write_bytes(self.end_magic)


        def _check(self):
            if len(self.end_magic) != 4:
                raise kaitaistruct.ConsistencyError(u"end_magic", 4, len(self.end_magic))
            if not self.end_magic == b"\x4B\x41\x42\x52":
                raise kaitaistruct.ValidationNotEqualError(b"\x4B\x41\x42\x52", self.end_magic, None, u"/types/footer/seq/1")
            self._dirty = False


    class Header(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["magic", "version", "compression", "reserved", "num_records", "first_timestamp", "last_timestamp"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(RbakSegment.Header, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_bytes(4)
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == b"\x52\x42\x41\x4B":
                raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x41\x4B", self.magic, self._io, u"/types/header/seq/0")
            self._debug['version']['start'] = self._io.pos()
            self.version = self._io.read_u1()
            self._debug['version']['end'] = self._io.pos()
            if not self.version == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/types/header/seq/1")
            self._debug['compression']['start'] = self._io.pos()
            self.compression = KaitaiStream.resolve_enum(RbakSegment.Compression, self._io.read_u1())
            self._debug['compression']['end'] = self._io.pos()
            if not isinstance(self.compression, RbakSegment.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, self._io, u"/types/header/seq/2")
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_bytes(2)
            self._debug['reserved']['end'] = self._io.pos()
            self._debug['num_records']['start'] = self._io.pos()
            self.num_records = self._io.read_u8le()
            self._debug['num_records']['end'] = self._io.pos()
            self._debug['first_timestamp']['start'] = self._io.pos()
            self.first_timestamp = self._io.read_s8le()
            self._debug['first_timestamp']['end'] = self._io.pos()
            self._debug['last_timestamp']['start'] = self._io.pos()
            self.last_timestamp = self._io.read_s8le()
            self._debug['last_timestamp']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(RbakSegment.Header, self)._write__seq(io)
            self._io.write_bytes(self.magic)
            self._io.write_u1(self.version)
            self._io.write_u1(int(self.compression))
            self._io.write_bytes(self.reserved)
            self._io.write_u8le(self.num_records)
            self._io.write_s8le(self.first_timestamp)
            self._io.write_s8le(self.last_timestamp)


        def _check(self):
            if len(self.magic) != 4:
                raise kaitaistruct.ConsistencyError(u"magic", 4, len(self.magic))
            if not self.magic == b"\x52\x42\x41\x4B":
                raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x41\x4B", self.magic, None, u"/types/header/seq/0")
            if not self.version == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.version, None, u"/types/header/seq/1")
            if not isinstance(self.compression, RbakSegment.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, None, u"/types/header/seq/2")
            if len(self.reserved) != 2:
                raise kaitaistruct.ConsistencyError(u"reserved", 2, len(self.reserved))
            self._dirty = False



