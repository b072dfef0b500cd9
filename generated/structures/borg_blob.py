# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgBlob(ReadWriteKaitaiStruct):
    """One chunk: a 49-byte header that needs no key, a meta slot and a data slot,
    each in the envelope of the repository's key. How an envelope is laid out
    follows from the object version and the slot's first byte; which mode that
    byte names depends on the repository version too.
    
    .. seealso::
       Source - https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
    """
    SEQ_FIELDS = ["magic", "version", "chunk_id", "len_meta", "len_data", "meta", "data"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(BorgBlob, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['magic']['start'] = self._io.pos()
        self.magic = self._io.read_bytes(8)
        self._debug['magic']['end'] = self._io.pos()
        if not self.magic == b"\x42\x4F\x52\x47\x5F\x4F\x42\x4A":
            raise kaitaistruct.ValidationNotEqualError(b"\x42\x4F\x52\x47\x5F\x4F\x42\x4A", self.magic, self._io, u"/seq/0")
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_u1()
        self._debug['version']['end'] = self._io.pos()
        if not  ((self.version == 1) or (self.version == 2)) :
            raise kaitaistruct.ValidationNotAnyOfError(self.version, self._io, u"/seq/1")
        self._debug['chunk_id']['start'] = self._io.pos()
        self.chunk_id = self._io.read_bytes(32)
        self._debug['chunk_id']['end'] = self._io.pos()
        self._debug['len_meta']['start'] = self._io.pos()
        self.len_meta = self._io.read_u4le()
        self._debug['len_meta']['end'] = self._io.pos()
        if not self.len_meta <= 20971430:
            raise kaitaistruct.ValidationGreaterThanError(20971430, self.len_meta, self._io, u"/seq/3")
        self._debug['len_data']['start'] = self._io.pos()
        self.len_data = self._io.read_u4le()
        self._debug['len_data']['end'] = self._io.pos()
        _ = self.len_data
        if not self.len_meta + _ <= 20971430:
            raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/seq/4")
        self._debug['meta']['start'] = self._io.pos()
        self._raw_meta = self._io.read_bytes(self.len_meta)
        _io__raw_meta = KaitaiStream(BytesIO(self._raw_meta))
        self.meta = BorgBlob.Slot(_io__raw_meta, self, self._root)
        self.meta._read()
        self._debug['meta']['end'] = self._io.pos()
        self._debug['data']['start'] = self._io.pos()
        self._raw_data = self._io.read_bytes(self.len_data)
        _io__raw_data = KaitaiStream(BytesIO(self._raw_data))
        self.data = BorgBlob.Slot(_io__raw_data, self, self._root)
        self.data._read()
        self._debug['data']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.meta._fetch_instances()
        self.data._fetch_instances()


    def _write__seq(self, io=None):
        super(BorgBlob, self)._write__seq(io)
        self._io.write_bytes(self.magic)
        self._io.write_u1(self.version)
        self._io.write_bytes(self.chunk_id)
        self._io.write_u4le(self.len_meta)
        self._io.write_u4le(self.len_data)
        _io__raw_meta = KaitaiStream(BytesIO(bytearray(self.len_meta)))
        self._io.add_child_stream(_io__raw_meta)
        _pos2 = self._io.pos()
        self._io.seek(self._io.pos() + (self.len_meta))
        def handler(parent, _io__raw_meta=_io__raw_meta):
            self._raw_meta = _io__raw_meta.to_byte_array()
            if len(self._raw_meta) != self.len_meta:
                raise kaitaistruct.ConsistencyError(u"raw(meta)", self.len_meta, len(self._raw_meta))
            parent.write_bytes(self._raw_meta)
        _io__raw_meta.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
        self.meta._write__seq(_io__raw_meta)
        _io__raw_data = KaitaiStream(BytesIO(bytearray(self.len_data)))
        self._io.add_child_stream(_io__raw_data)
        _pos2 = self._io.pos()
        self._io.seek(self._io.pos() + (self.len_data))
        def handler(parent, _io__raw_data=_io__raw_data):
            self._raw_data = _io__raw_data.to_byte_array()
            if len(self._raw_data) != self.len_data:
                raise kaitaistruct.ConsistencyError(u"raw(data)", self.len_data, len(self._raw_data))
            parent.write_bytes(self._raw_data)
        _io__raw_data.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
        self.data._write__seq(_io__raw_data)


    def _check(self):
        if len(self.magic) != 8:
            raise kaitaistruct.ConsistencyError(u"magic", 8, len(self.magic))
        if not self.magic == b"\x42\x4F\x52\x47\x5F\x4F\x42\x4A":
            raise kaitaistruct.ValidationNotEqualError(b"\x42\x4F\x52\x47\x5F\x4F\x42\x4A", self.magic, None, u"/seq/0")
        if not  ((self.version == 1) or (self.version == 2)) :
            raise kaitaistruct.ValidationNotAnyOfError(self.version, None, u"/seq/1")
        if len(self.chunk_id) != 32:
            raise kaitaistruct.ConsistencyError(u"chunk_id", 32, len(self.chunk_id))
        if not self.len_meta <= 20971430:
            raise kaitaistruct.ValidationGreaterThanError(20971430, self.len_meta, None, u"/seq/3")
        _ = self.len_data
        if not self.len_meta + _ <= 20971430:
            raise kaitaistruct.ValidationExprError(self.len_data, None, u"/seq/4")
        if self.meta._root != self._root:
            raise kaitaistruct.ConsistencyError(u"meta", self._root, self.meta._root)
        if self.meta._parent != self:
            raise kaitaistruct.ConsistencyError(u"meta", self, self.meta._parent)
        if self.data._root != self._root:
            raise kaitaistruct.ConsistencyError(u"data", self._root, self.data._root)
        if self.data._parent != self:
            raise kaitaistruct.ConsistencyError(u"data", self, self.data._parent)
        self._dirty = False

    class Aead(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["reserved", "iv_high", "iv_low", "session_id", "mac"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(BorgBlob.Aead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_bytes(1)
            self._debug['reserved']['end'] = self._io.pos()
            if not self.reserved == b"\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00", self.reserved, self._io, u"/types/aead/seq/0")
            self._debug['iv_high']['start'] = self._io.pos()
            self.iv_high = self._io.read_u2be()
            self._debug['iv_high']['end'] = self._io.pos()
            self._debug['iv_low']['start'] = self._io.pos()
            self.iv_low = self._io.read_u4be()
            self._debug['iv_low']['end'] = self._io.pos()
            self._debug['session_id']['start'] = self._io.pos()
            self.session_id = self._io.read_bytes(24)
            self._debug['session_id']['end'] = self._io.pos()
            self._debug['mac']['start'] = self._io.pos()
            self.mac = self._io.read_bytes(16)
            self._debug['mac']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(BorgBlob.Aead, self)._write__seq(io)
            self._io.write_bytes(self.reserved)
            self._io.write_u2be(self.iv_high)
            self._io.write_u4be(self.iv_low)
            self._io.write_bytes(self.session_id)
            self._io.write_bytes(self.mac)


        def _check(self):
            if len(self.reserved) != 1:
                raise kaitaistruct.ConsistencyError(u"reserved", 1, len(self.reserved))
            if not self.reserved == b"\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00", self.reserved, None, u"/types/aead/seq/0")
            if len(self.session_id) != 24:
                raise kaitaistruct.ConsistencyError(u"session_id", 24, len(self.session_id))
            if len(self.mac) != 16:
                raise kaitaistruct.ConsistencyError(u"mac", 16, len(self.mac))
            self._dirty = False

        @property
        def iv(self):
            """A counter that the key takes further with each slot it seals, the data slot first."""
            if hasattr(self, '_m_iv'):
                return self._m_iv

            self._m_iv = self.iv_high * 4294967296 + self.iv_low
            return getattr(self, '_m_iv', None)

        def _invalidate_iv(self):
            del self._m_iv

    class Slot(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["key_type", "aead", "stamp", "payload"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(BorgBlob.Slot, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['key_type']['start'] = self._io.pos()
            self.key_type = self._io.read_u1()
            self._debug['key_type']['end'] = self._io.pos()
            if self.is_encrypted:
                pass
                self._debug['aead']['start'] = self._io.pos()
                self.aead = BorgBlob.Aead(self._io, self, self._root)
                self.aead._read()
                self._debug['aead']['end'] = self._io.pos()

            if self.is_tagged:
                pass
                self._debug['stamp']['start'] = self._io.pos()
                self.stamp = BorgBlob.Stamp(self._io, self, self._root)
                self.stamp._read()
                self._debug['stamp']['end'] = self._io.pos()

            self._debug['payload']['start'] = self._io.pos()
            self.payload = self._io.read_bytes_full()
            self._debug['payload']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            if self.is_encrypted:
                pass
                self.aead._fetch_instances()

            if self.is_tagged:
                pass
                self.stamp._fetch_instances()



        def _write__seq(self, io=None):
            super(BorgBlob.Slot, self)._write__seq(io)
            self._io.write_u1(self.key_type)
            if self.is_encrypted:
                pass
                self.aead._write__seq(self._io)

            if self.is_tagged:
                pass
                self.stamp._write__seq(self._io)

            self._io.write_bytes(self.payload)
            if not self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"payload", 0, self._io.size() - self._io.pos())


        def _check(self):
            if self.is_encrypted:
                pass
                if self.aead._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"aead", self._root, self.aead._root)
                if self.aead._parent != self:
                    raise kaitaistruct.ConsistencyError(u"aead", self, self.aead._parent)

            if self.is_tagged:
                pass
                if self.stamp._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"stamp", self._root, self.stamp._root)
                if self.stamp._parent != self:
                    raise kaitaistruct.ConsistencyError(u"stamp", self, self.stamp._parent)

            self._dirty = False

        @property
        def is_encrypted(self):
            """aes256-ocb and chacha20-poly1305, with ids by SHA-256 or by BLAKE3."""
            if hasattr(self, '_m_is_encrypted'):
                return self._m_is_encrypted

            self._m_is_encrypted =  ((self.key_type == 16) or (self.key_type == 32) or (self.key_type == 48) or (self.key_type == 64)) 
            return getattr(self, '_m_is_encrypted', None)

        def _invalidate_is_encrypted(self):
            del self._m_is_encrypted
        @property
        def is_tagged(self):
            """Since version 2, modes without encryption carry a tag of 32 bytes."""
            if hasattr(self, '_m_is_tagged'):
                return self._m_is_tagged

            self._m_is_tagged =  ((self._parent.version == 2) and ((not (self.is_encrypted)))) 
            return getattr(self, '_m_is_tagged', None)

        def _invalidate_is_tagged(self):
            del self._m_is_tagged

    class Stamp(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["reserved", "tag"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(BorgBlob.Stamp, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_bytes(1)
            self._debug['reserved']['end'] = self._io.pos()
            if not self.reserved == b"\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00", self.reserved, self._io, u"/types/stamp/seq/0")
            self._debug['tag']['start'] = self._io.pos()
            self.tag = self._io.read_bytes(32)
            self._debug['tag']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(BorgBlob.Stamp, self)._write__seq(io)
            self._io.write_bytes(self.reserved)
            self._io.write_bytes(self.tag)


        def _check(self):
            if len(self.reserved) != 1:
                raise kaitaistruct.ConsistencyError(u"reserved", 1, len(self.reserved))
            if not self.reserved == b"\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00", self.reserved, None, u"/types/stamp/seq/0")
            if len(self.tag) != 32:
                raise kaitaistruct.ConsistencyError(u"tag", 32, len(self.tag))
            self._dirty = False



