# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeHeader(ReadWriteKaitaiStruct):
    """First line of the file. 3.0 knows no escapes, 3.1 is what every tool writes,
    3.2 adds expression indexes and is written by backup-go only.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#backup-file-format
    """
    SEQ_FIELDS = ["magic", "version", "lf"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeHeader, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['magic']['start'] = self._io.pos()
        self.magic = self._io.read_bytes(8)
        self._debug['magic']['end'] = self._io.pos()
        if not self.magic == b"\x56\x65\x72\x73\x69\x6F\x6E\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x56\x65\x72\x73\x69\x6F\x6E\x20", self.magic, self._io, u"/seq/0")
        self._debug['version']['start'] = self._io.pos()
        self.version = (self._io.read_bytes(3)).decode(u"ASCII")
        self._debug['version']['end'] = self._io.pos()
        if not  ((self.version == u"3.0") or (self.version == u"3.1") or (self.version == u"3.2")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.version, self._io, u"/seq/1")
        self._debug['lf']['start'] = self._io.pos()
        self.lf = self._io.read_bytes(1)
        self._debug['lf']['end'] = self._io.pos()
        if not self.lf == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/seq/2")
        self._dirty = False


    def _fetch_instances(self):
        pass


    def _write__seq(self, io=None):
        super(AerospikeHeader, self)._write__seq(io)
        self._io.write_bytes(self.magic)
        self._io.write_bytes((self.version).encode(u"ASCII"))
        self._io.write_bytes(self.lf)


    def _check(self):
        if len(self.magic) != 8:
            raise kaitaistruct.ConsistencyError(u"magic", 8, len(self.magic))
        if not self.magic == b"\x56\x65\x72\x73\x69\x6F\x6E\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x56\x65\x72\x73\x69\x6F\x6E\x20", self.magic, None, u"/seq/0")
        if len((self.version).encode(u"ASCII")) != 3:
            raise kaitaistruct.ConsistencyError(u"version", 3, len((self.version).encode(u"ASCII")))
        if not  ((self.version == u"3.0") or (self.version == u"3.1") or (self.version == u"3.2")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.version, None, u"/seq/1")
        if len(self.lf) != 1:
            raise kaitaistruct.ConsistencyError(u"lf", 1, len(self.lf))
        if not self.lf == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, None, u"/seq/2")
        self._dirty = False


