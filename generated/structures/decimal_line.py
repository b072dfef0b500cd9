# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DecimalLine(ReadWriteKaitaiStruct):
    """A signed decimal integer that fits 64 bits, an optional `-`, digits, and the
    line feed that ends them. Leading zeros are accepted, a `+`, blanks and an
    empty number are not.
    """
    SEQ_FIELDS = ["text"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(DecimalLine, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['text']['start'] = self._io.pos()
        self.text = (self._io.read_bytes_term(10, False, True, True)).decode(u"ASCII")
        self._debug['text']['end'] = self._io.pos()
        _ = self.text
        if not  ((int(_) >= -9223372036854775808) and (int(_) <= 9223372036854775807)) :
            raise kaitaistruct.ValidationExprError(self.text, self._io, u"/seq/0")
        self._dirty = False


    def _fetch_instances(self):
        pass


    def _write__seq(self, io=None):
        super(DecimalLine, self)._write__seq(io)
        self._io.write_bytes((self.text).encode(u"ASCII"))
        self._io.write_u1(10)


    def _check(self):
        if KaitaiStream.byte_array_index_of((self.text).encode(u"ASCII"), 10) != -1:
            raise kaitaistruct.ConsistencyError(u"text", -1, KaitaiStream.byte_array_index_of((self.text).encode(u"ASCII"), 10))
        _ = self.text
        if not  ((int(_) >= -9223372036854775808) and (int(_) <= 9223372036854775807)) :
            raise kaitaistruct.ValidationExprError(self.text, None, u"/seq/0")
        self._dirty = False

    @property
    def value(self):
        if hasattr(self, '_m_value'):
            return self._m_value

        self._m_value = int(self.text)
        return getattr(self, '_m_value', None)

    def _invalidate_value(self):
        del self._m_value

