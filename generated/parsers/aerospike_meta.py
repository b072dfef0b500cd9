# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import escaped_token


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeMeta(KaitaiStruct):
    """A line after the header that starts with a number sign: the namespace the
    file comes from, or the mark of the first file of a set.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#meta-data-section
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeMeta, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.lead = self._io.read_bytes(2)
        if not self.lead == b"\x23\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x23\x20", self.lead, self._io, u"/seq/0")
        self.keyword = (self._io.read_bytes(10)).decode(u"ASCII")
        if not  ((self.keyword == u"namespace ") or (self.keyword == u"first-file")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.keyword, self._io, u"/seq/1")
        if (not (self.is_first_file)):
            pass
            self.namespace = escaped_token.EscapedToken(10, self._io)

        if self.is_first_file:
            pass
            self.lf = self._io.read_bytes(1)
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/seq/3")



    def _fetch_instances(self):
        pass
        if (not (self.is_first_file)):
            pass
            self.namespace._fetch_instances()

        if self.is_first_file:
            pass


    @property
    def is_first_file(self):
        if hasattr(self, '_m_is_first_file'):
            return self._m_is_first_file

        self._m_is_first_file = self.keyword == u"first-file"
        return getattr(self, '_m_is_first_file', None)


