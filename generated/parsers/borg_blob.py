# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgBlob(KaitaiStruct):
    """One chunk: a 49-byte header that needs no key, a meta slot and a data slot.
    What the slots hold depends on object version, repository version and the
    slot's first byte.
    
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
        self.meta = self._io.read_bytes(self.len_meta)
        self.data = self._io.read_bytes(self.len_data)


    def _fetch_instances(self):
        pass


