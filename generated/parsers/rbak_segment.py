# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbakSegment(KaitaiStruct):
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
    def __init__(self, _io, _parent=None, _root=None):
        super(RbakSegment, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self._raw_header = self._io.read_bytes(32)
        _io__raw_header = KaitaiStream(BytesIO(self._raw_header))
        self.header = RbakSegment.Header(_io__raw_header, self, self._root)
        self.payload = self._io.read_bytes(self._io.size() - 40)
        self._raw_footer = self._io.read_bytes(8)
        _io__raw_footer = KaitaiStream(BytesIO(self._raw_footer))
        self.footer = RbakSegment.Footer(_io__raw_footer, self, self._root)


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        self.footer._fetch_instances()
        _ = self.crc32_input
        if hasattr(self, '_m_crc32_input'):
            pass


    class Footer(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(RbakSegment.Footer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.crc32 = self._io.read_u4le()
            self.end_magic = self._io.read_bytes(4)
            if not self.end_magic == b"\x4B\x41\x42\x52":
                raise kaitaistruct.ValidationNotEqualError(b"\x4B\x41\x42\x52", self.end_magic, self._io, u"/types/footer/seq/1")


        def _fetch_instances(self):
            pass


    class Header(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(RbakSegment.Header, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_bytes(4)
            if not self.magic == b"\x52\x42\x41\x4B":
                raise kaitaistruct.ValidationNotEqualError(b"\x52\x42\x41\x4B", self.magic, self._io, u"/types/header/seq/0")
            self.version = self._io.read_u1()
            if not self.version == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/types/header/seq/1")
            self.compression = KaitaiStream.resolve_enum(RbakSegment.Compression, self._io.read_u1())
            if not isinstance(self.compression, RbakSegment.Compression):
                raise kaitaistruct.ValidationNotInEnumError(self.compression, self._io, u"/types/header/seq/2")
            self.reserved = self._io.read_bytes(2)
            self.num_records = self._io.read_u8le()
            self.first_timestamp = self._io.read_s8le()
            self.last_timestamp = self._io.read_s8le()


        def _fetch_instances(self):
            pass


    @property
    def crc32_input(self):
        """What `footer.crc32` covers: header and compressed payload. The polynomial
        is the IEEE one (crc32fast knows no other), although the format's page
        also says Castagnoli.
        """
        if hasattr(self, '_m_crc32_input'):
            return self._m_crc32_input

        _pos = self._io.pos()
        self._io.seek(0)
        self._m_crc32_input = self._io.read_bytes(self._io.size() - 8)
        self._io.seek(_pos)
        return getattr(self, '_m_crc32_input', None)


