# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import borg_blob


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class BorgPack(KaitaiStruct):
    """Blobs back to back; no file header, no padding, no trailer. The file is named
    after its content: the chunk_id of its only blob in development versions of
    June 2026, SHA-256 of the bytes in 2.0.0b22 to b24, BLAKE3 since b25.
    
    .. seealso::
       Source - https://github.com/borgbackup/borg/blob/4d19b91a6/docs/internals/packs.rst
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(BorgPack, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.blobs = []
        i = 0
        while not self._io.is_eof():
            self.blobs.append(borg_blob.BorgBlob(self._io))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.blobs)):
            pass
            self.blobs[i]._fetch_instances()



