# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgBlob(KaitaiStruct):
    """One chunk: a 49-byte header that needs no key, a meta slot and a data slot,
    each in the envelope of the repository's key. How an envelope is laid out
    follows from the object version and the slot's first byte; which mode that
    byte names depends on the repository version too.
    
    .. seealso::
       Source - https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(BorgBlob, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.magic = self._io.read_bytes(8)
        if not self.magic == b"\x42\x4F\x52\x47\x5F\x4F\x42\x4A":
            raise kaitaistruct.ValidationNotEqualError(b"\x42\x4F\x52\x47\x5F\x4F\x42\x4A", self.magic, self._io, u"/seq/0")
        self.version = self._io.read_u1()
        if not  ((self.version == 1) or (self.version == 2)) :
            raise kaitaistruct.ValidationNotAnyOfError(self.version, self._io, u"/seq/1")
        self.chunk_id = self._io.read_bytes(32)
        self.len_meta = self._io.read_u4le()
        if not self.len_meta <= 20971430:
            raise kaitaistruct.ValidationGreaterThanError(20971430, self.len_meta, self._io, u"/seq/3")
        self.len_data = self._io.read_u4le()
        _ = self.len_data
        if not self.len_meta + _ <= 20971430:
            raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/seq/4")
        self._raw_meta = self._io.read_bytes(self.len_meta)
        _io__raw_meta = KaitaiStream(BytesIO(self._raw_meta))
        self.meta = BorgBlob.Slot(_io__raw_meta, self, self._root)
        self._raw_data = self._io.read_bytes(self.len_data)
        _io__raw_data = KaitaiStream(BytesIO(self._raw_data))
        self.data = BorgBlob.Slot(_io__raw_data, self, self._root)


    def _fetch_instances(self):
        pass
        self.meta._fetch_instances()
        self.data._fetch_instances()

    class Aead(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(BorgBlob.Aead, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.reserved = self._io.read_bytes(1)
            if not self.reserved == b"\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00", self.reserved, self._io, u"/types/aead/seq/0")
            self.iv_high = self._io.read_u2be()
            self.iv_low = self._io.read_u4be()
            self.session_id = self._io.read_bytes(24)
            self.mac = self._io.read_bytes(16)


        def _fetch_instances(self):
            pass

        @property
        def iv(self):
            """A counter that the key takes further with each slot it seals, the data slot first."""
            if hasattr(self, '_m_iv'):
                return self._m_iv

            self._m_iv = self.iv_high * 4294967296 + self.iv_low
            return getattr(self, '_m_iv', None)


    class Slot(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(BorgBlob.Slot, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key_type = self._io.read_u1()
            if self.is_encrypted:
                pass
                self.aead = BorgBlob.Aead(self._io, self, self._root)

            if self.is_tagged:
                pass
                self.stamp = BorgBlob.Stamp(self._io, self, self._root)

            self.payload = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass
            if self.is_encrypted:
                pass
                self.aead._fetch_instances()

            if self.is_tagged:
                pass
                self.stamp._fetch_instances()


        @property
        def is_encrypted(self):
            """aes256-ocb and chacha20-poly1305, with ids by SHA-256 or by BLAKE3."""
            if hasattr(self, '_m_is_encrypted'):
                return self._m_is_encrypted

            self._m_is_encrypted =  ((self.key_type == 16) or (self.key_type == 32) or (self.key_type == 48) or (self.key_type == 64)) 
            return getattr(self, '_m_is_encrypted', None)

        @property
        def is_tagged(self):
            """Since version 2, modes without encryption carry a tag of 32 bytes."""
            if hasattr(self, '_m_is_tagged'):
                return self._m_is_tagged

            self._m_is_tagged =  ((self._parent.version == 2) and ((not (self.is_encrypted)))) 
            return getattr(self, '_m_is_tagged', None)


    class Stamp(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(BorgBlob.Stamp, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.reserved = self._io.read_bytes(1)
            if not self.reserved == b"\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x00", self.reserved, self._io, u"/types/stamp/seq/0")
            self.tag = self._io.read_bytes(32)


        def _fetch_instances(self):
            pass



