# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgIndex(KaitaiStruct):
    """Where each chunk lies: a serialised borghash table, as found under `index/`.
    Plain up to 2.0.0b24; since b25 in the envelope of the repository's key, so
    that in encrypted repositories it cannot be read.
    
    .. seealso::
       Source - https://github.com/borgbackup/borghash
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(BorgIndex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.magic = self._io.read_bytes(8)
        if not self.magic == b"\x42\x4F\x52\x47\x48\x41\x53\x48":
            raise kaitaistruct.ValidationNotEqualError(b"\x42\x4F\x52\x47\x48\x41\x53\x48", self.magic, self._io, u"/seq/0")
        self.version = self._io.read_u4le()
        if not self.version == 1:
            raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/seq/1")
        self.len_description = self._io.read_u4le()
        self.description = self._io.read_bytes(self.len_description)
        self.entries = []
        i = 0
        while not self._io.is_eof():
            self.entries.append(BorgIndex.Entry(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()


    class Entry(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(BorgIndex.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.chunk_id = self._io.read_bytes(32)
            self.flags = self._io.read_u4le()
            self.size = self._io.read_u4le()
            self.pack_id = self._io.read_bytes(32)
            self.ofs_blob = self._io.read_u4le()
            self.len_blob = self._io.read_u4le()


        def _fetch_instances(self):
            pass



