# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DecimalWord(KaitaiStruct):
    """A signed decimal integer that fits 64 bits, an optional `-`, digits, and the
    space that ends them. Leading zeros are accepted, a `+`, blanks and an
    empty number are not.
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(DecimalWord, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.text = (self._io.read_bytes_term(32, False, True, True)).decode(u"ASCII")
        _ = self.text
        if not  ((int(_) >= -9223372036854775808) and (int(_) <= 9223372036854775807)) :
            raise kaitaistruct.ValidationExprError(self.text, self._io, u"/seq/0")


    def _fetch_instances(self):
        pass

    @property
    def value(self):
        if hasattr(self, '_m_value'):
            return self._m_value

        self._m_value = int(self.text)
        return getattr(self, '_m_value', None)


