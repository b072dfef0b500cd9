# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class UnsignedVarint(KaitaiStruct):
    """An unsigned 32-bit integer in at most 5 bytes: groups of 7 bits, least
    significant first. Protobuf calls it `uint32`, Kafka's flexible messages
    `UNSIGNED_VARINT`. Encodings longer than necessary are accepted, as Kafka
    accepts them; bits beyond the 32nd are not.
    
    .. seealso::
       Source - https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(UnsignedVarint, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.groups = []
        i = 0
        while True:
            _ = UnsignedVarint.Group(i, (0 if i == 0 else self.groups[i - 1].sum), self._io, self, self._root)
            self.groups.append(_)
            if (not (_.has_next)):
                break
            i += 1


    def _fetch_instances(self):
        pass
        for i in range(len(self.groups)):
            pass
            self.groups[i]._fetch_instances()


    class Group(KaitaiStruct):
        def __init__(self, index, sum_before, _io, _parent=None, _root=None):
            super(UnsignedVarint.Group, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.index = index
            self.sum_before = sum_before
            self._read()

        def _read(self):
            self.has_next = self._io.read_bits_int_be(1) != 0
            _ = self.has_next
            if not  (((not (self.has_next))) or (self.index < 4)) :
                raise kaitaistruct.ValidationExprError(self.has_next, self._io, u"/types/group/seq/0")
            self.bits = self._io.read_bits_int_be(7)
            _ = self.bits
            if not  ((self.index < 4) or (self.bits < 16)) :
                raise kaitaistruct.ValidationExprError(self.bits, self._io, u"/types/group/seq/1")


        def _fetch_instances(self):
            pass

        @property
        def sum(self):
            if hasattr(self, '_m_sum'):
                return self._m_sum

            self._m_sum = self.sum_before | self.bits << 7 * self.index
            return getattr(self, '_m_sum', None)


    @property
    def value(self):
        if hasattr(self, '_m_value'):
            return self._m_value

        self._m_value = self.groups[-1].sum
        return getattr(self, '_m_value', None)


