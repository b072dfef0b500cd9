# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class RbfAddress(KaitaiStruct):
    """File offset of a frame's HeadLen field, as upper layers store it in payloads.
    
    .. seealso::
       Source - https://github.com/Atelia-org/atelia/blob/76f827f82ecd247db938c8754ca941811087a1d2/docs/Rbf/rbf-format.md
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(RbfAddress, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.offset = self._io.read_u8le()
        _ = self.offset
        if not _ % 4 == 0:
            raise kaitaistruct.ValidationExprError(self.offset, self._io, u"/seq/0")


    def _fetch_instances(self):
        pass

    @property
    def is_null(self):
        if hasattr(self, '_m_is_null'):
            return self._m_is_null

        self._m_is_null = self.offset == 0
        return getattr(self, '_m_is_null', None)


