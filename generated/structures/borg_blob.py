# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgBlob(ReadWriteKaitaiStruct):
    """One chunk: a 49-byte header that needs no key, a meta slot and a data slot.
    What the slots hold depends on object version, repository version and the
    slot's first byte.
    
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
        self.meta = self._io.read_bytes(self.len_meta)
        self._debug['meta']['end'] = self._io.pos()
        self._debug['data']['start'] = self._io.pos()
        self.data = self._io.read_bytes(self.len_data)
        self._debug['data']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass


    def _write__seq(self, io=None):
        super(BorgBlob, self)._write__seq(io)
        self._io.write_bytes(self.magic)
        self._io.write_u1(self.version)
        self._io.write_bytes(self.chunk_id)
        self._io.write_u4le(self.len_meta)
        self._io.write_u4le(self.len_data)
        self._io.write_bytes(self.meta)
        self._io.write_bytes(self.data)


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
        if len(self.meta) != self.len_meta:
            raise kaitaistruct.ConsistencyError(u"meta", self.len_meta, len(self.meta))
        if len(self.data) != self.len_data:
            raise kaitaistruct.ConsistencyError(u"data", self.len_data, len(self.data))
        self._dirty = False


