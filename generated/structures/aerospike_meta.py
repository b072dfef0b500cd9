# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import escaped_token
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeMeta(ReadWriteKaitaiStruct):
    """A line after the header that starts with a number sign: the namespace the
    file comes from, or the mark of the first file of a set.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#meta-data-section
    """
    SEQ_FIELDS = ["lead", "keyword", "namespace", "lf"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeMeta, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['lead']['start'] = self._io.pos()
        self.lead = self._io.read_bytes(2)
        self._debug['lead']['end'] = self._io.pos()
        if not self.lead == b"\x23\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x23\x20", self.lead, self._io, u"/seq/0")
        self._debug['keyword']['start'] = self._io.pos()
        self.keyword = (self._io.read_bytes(10)).decode(u"ASCII")
        self._debug['keyword']['end'] = self._io.pos()
        if not  ((self.keyword == u"namespace ") or (self.keyword == u"first-file")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.keyword, self._io, u"/seq/1")
        if (not (self.is_first_file)):
            pass
            self._debug['namespace']['start'] = self._io.pos()
            self.namespace = escaped_token.EscapedToken(10, self._io)
            self.namespace._read()
            self._debug['namespace']['end'] = self._io.pos()

        if self.is_first_file:
            pass
            self._debug['lf']['start'] = self._io.pos()
            self.lf = self._io.read_bytes(1)
            self._debug['lf']['end'] = self._io.pos()
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/seq/3")

        self._dirty = False


    def _fetch_instances(self):
        pass
        if (not (self.is_first_file)):
            pass
            self.namespace._fetch_instances()

        if self.is_first_file:
            pass



    def _write__seq(self, io=None):
        super(AerospikeMeta, self)._write__seq(io)
        self._io.write_bytes(self.lead)
        self._io.write_bytes((self.keyword).encode(u"ASCII"))
        if (not (self.is_first_file)):
            pass
            self.namespace._write__seq(self._io)

        if self.is_first_file:
            pass
            self._io.write_bytes(self.lf)



    def _check(self):
        if len(self.lead) != 2:
            raise kaitaistruct.ConsistencyError(u"lead", 2, len(self.lead))
        if not self.lead == b"\x23\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x23\x20", self.lead, None, u"/seq/0")
        if len((self.keyword).encode(u"ASCII")) != 10:
            raise kaitaistruct.ConsistencyError(u"keyword", 10, len((self.keyword).encode(u"ASCII")))
        if not  ((self.keyword == u"namespace ") or (self.keyword == u"first-file")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.keyword, None, u"/seq/1")
        if (not (self.is_first_file)):
            pass
            if self.namespace.terminator != 10:
                raise kaitaistruct.ConsistencyError(u"namespace", 10, self.namespace.terminator)

        if self.is_first_file:
            pass
            if len(self.lf) != 1:
                raise kaitaistruct.ConsistencyError(u"lf", 1, len(self.lf))
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, None, u"/seq/3")

        self._dirty = False

    @property
    def is_first_file(self):
        if hasattr(self, '_m_is_first_file'):
            return self._m_is_first_file

        self._m_is_first_file = self.keyword == u"first-file"
        return getattr(self, '_m_is_first_file', None)

    def _invalidate_is_first_file(self):
        del self._m_is_first_file

