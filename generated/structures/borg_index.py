# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgIndex(ReadWriteKaitaiStruct):
    """Where each chunk lies: a serialised borghash table, as found under `index/`.
    Plain up to 2.0.0b24; since b25 in the envelope of the repository's key, so
    that in encrypted repositories it cannot be read.
    
    .. seealso::
       Source - https://github.com/borgbackup/borghash
    """
    SEQ_FIELDS = ["magic", "version", "len_description", "description", "entries"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(BorgIndex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['magic']['start'] = self._io.pos()
        self.magic = self._io.read_bytes(8)
        self._debug['magic']['end'] = self._io.pos()
        if not self.magic == b"\x42\x4F\x52\x47\x48\x41\x53\x48":
            raise kaitaistruct.ValidationNotEqualError(b"\x42\x4F\x52\x47\x48\x41\x53\x48", self.magic, self._io, u"/seq/0")
        self._debug['version']['start'] = self._io.pos()
        self.version = self._io.read_u4le()
        self._debug['version']['end'] = self._io.pos()
        if not self.version == 1:
            raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/seq/1")
        self._debug['len_description']['start'] = self._io.pos()
        self.len_description = self._io.read_u4le()
        self._debug['len_description']['end'] = self._io.pos()
        self._debug['description']['start'] = self._io.pos()
        self.description = self._io.read_bytes(self.len_description)
        self._debug['description']['end'] = self._io.pos()
        self._debug['entries']['start'] = self._io.pos()
        self._debug['entries']['arr'] = []
        self.entries = []
        i = 0
        while not self._io.is_eof():
            self._debug['entries']['arr'].append({'start': self._io.pos()})
            _t_entries = BorgIndex.Entry(self._io, self, self._root)
            try:
                _t_entries._read()
            finally:
                self.entries.append(_t_entries)
            self._debug['entries']['arr'][len(self.entries) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['entries']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(BorgIndex, self)._write__seq(io)
        self._io.write_bytes(self.magic)
        self._io.write_u4le(self.version)
        self._io.write_u4le(self.len_description)
        self._io.write_bytes(self.description)
        for i in range(len(self.entries)):
            pass
            if self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"entries", 0, self._io.size() - self._io.pos())
            self.entries[i]._write__seq(self._io)

        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"entries", 0, self._io.size() - self._io.pos())


    def _check(self):
        if len(self.magic) != 8:
            raise kaitaistruct.ConsistencyError(u"magic", 8, len(self.magic))
        if not self.magic == b"\x42\x4F\x52\x47\x48\x41\x53\x48":
            raise kaitaistruct.ValidationNotEqualError(b"\x42\x4F\x52\x47\x48\x41\x53\x48", self.magic, None, u"/seq/0")
        if not self.version == 1:
            raise kaitaistruct.ValidationNotEqualError(1, self.version, None, u"/seq/1")
        if len(self.description) != self.len_description:
            raise kaitaistruct.ConsistencyError(u"description", self.len_description, len(self.description))
        for i in range(len(self.entries)):
            pass
            if self.entries[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"entries", self._root, self.entries[i]._root)
            if self.entries[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"entries", self, self.entries[i]._parent)

        self._dirty = False

    class Entry(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["chunk_id", "flags", "size", "pack_id", "ofs_blob", "len_blob"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(BorgIndex.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['chunk_id']['start'] = self._io.pos()
            self.chunk_id = self._io.read_bytes(32)
            self._debug['chunk_id']['end'] = self._io.pos()
            self._debug['flags']['start'] = self._io.pos()
            self.flags = self._io.read_u4le()
            self._debug['flags']['end'] = self._io.pos()
            self._debug['size']['start'] = self._io.pos()
            self.size = self._io.read_u4le()
            self._debug['size']['end'] = self._io.pos()
            self._debug['pack_id']['start'] = self._io.pos()
            self.pack_id = self._io.read_bytes(32)
            self._debug['pack_id']['end'] = self._io.pos()
            self._debug['ofs_blob']['start'] = self._io.pos()
            self.ofs_blob = self._io.read_u4le()
            self._debug['ofs_blob']['end'] = self._io.pos()
            self._debug['len_blob']['start'] = self._io.pos()
            self.len_blob = self._io.read_u4le()
            self._debug['len_blob']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(BorgIndex.Entry, self)._write__seq(io)
            self._io.write_bytes(self.chunk_id)
            self._io.write_u4le(self.flags)
            self._io.write_u4le(self.size)
            self._io.write_bytes(self.pack_id)
            self._io.write_u4le(self.ofs_blob)
            self._io.write_u4le(self.len_blob)


        def _check(self):
            if len(self.chunk_id) != 32:
                raise kaitaistruct.ConsistencyError(u"chunk_id", 32, len(self.chunk_id))
            if len(self.pack_id) != 32:
                raise kaitaistruct.ConsistencyError(u"pack_id", 32, len(self.pack_id))
            self._dirty = False



