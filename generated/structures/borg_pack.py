# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import borg_blob
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgPack(ReadWriteKaitaiStruct):
    """Blobs back to back; no file header, no padding, no trailer. The file is named
    after its content: the chunk_id of its only blob in development versions of
    June 2026, SHA-256 of the bytes in 2.0.0b22 to b24, BLAKE3 since b25.
    
    .. seealso::
       Source - https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
    """
    SEQ_FIELDS = ["blobs"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(BorgPack, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['blobs']['start'] = self._io.pos()
        self._debug['blobs']['arr'] = []
        self.blobs = []
        i = 0
        while not self._io.is_eof():
            self._debug['blobs']['arr'].append({'start': self._io.pos()})
            _t_blobs = borg_blob.BorgBlob(self._io)
            try:
                _t_blobs._read()
            finally:
                self.blobs.append(_t_blobs)
            self._debug['blobs']['arr'][len(self.blobs) - 1]['end'] = self._io.pos()
            i += 1

        self._debug['blobs']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.blobs)):
            pass
            self.blobs[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(BorgPack, self)._write__seq(io)
        for i in range(len(self.blobs)):
            pass
            if self._io.is_eof():
                raise kaitaistruct.ConsistencyError(u"blobs", 0, self._io.size() - self._io.pos())
            self.blobs[i]._write__seq(self._io)

        if not self._io.is_eof():
            raise kaitaistruct.ConsistencyError(u"blobs", 0, self._io.size() - self._io.pos())


    def _check(self):
        for i in range(len(self.blobs)):
            pass

        self._dirty = False


