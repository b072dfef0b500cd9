# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeHeader(KaitaiStruct):
    """First line of the file. 3.0 knows no escapes, 3.1 is what every tool writes,
    3.2 adds expression indexes and is written by backup-go only.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#backup-file-format
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeHeader, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.magic = self._io.read_bytes(8)
        if not self.magic == b"\x56\x65\x72\x73\x69\x6F\x6E\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x56\x65\x72\x73\x69\x6F\x6E\x20", self.magic, self._io, u"/seq/0")
        self.version = (self._io.read_bytes(3)).decode(u"ASCII")
        if not  ((self.version == u"3.0") or (self.version == u"3.1") or (self.version == u"3.2")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.version, self._io, u"/seq/1")
        self.lf = self._io.read_bytes(1)
        if not self.lf == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/seq/2")


    def _fetch_instances(self):
        pass


