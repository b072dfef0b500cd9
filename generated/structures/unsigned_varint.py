# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class UnsignedVarint(ReadWriteKaitaiStruct):
    """An unsigned 32-bit integer in at most 5 bytes: groups of 7 bits, least
    significant first. Protobuf calls it `uint32`, Kafka's flexible messages
    `UNSIGNED_VARINT`. Encodings longer than necessary are accepted, as Kafka
    accepts them; bits beyond the 32nd are not.
    
    .. seealso::
       Source - https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields
    """
    SEQ_FIELDS = ["groups"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(UnsignedVarint, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['groups']['start'] = self._io.pos()
        self._debug['groups']['arr'] = []
        self.groups = []
        i = 0
        while True:
            self._debug['groups']['arr'].append({'start': self._io.pos()})
            _t_groups = UnsignedVarint.Group(i, (0 if i == 0 else self.groups[i - 1].sum), self._io, self, self._root)
            try:
                _t_groups._read()
            finally:
                _ = _t_groups
                self.groups.append(_)
            self._debug['groups']['arr'][len(self.groups) - 1]['end'] = self._io.pos()
            if (not (_.has_next)):
                break
            i += 1
        self._debug['groups']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.groups)):
            pass
            self.groups[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(UnsignedVarint, self)._write__seq(io)
        for i in range(len(self.groups)):
            pass
            self.groups[i]._write__seq(self._io)



    def _check(self):
        if len(self.groups) == 0:
            raise kaitaistruct.ConsistencyError(u"groups", 0, len(self.groups))
        for i in range(len(self.groups)):
            pass
            if self.groups[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"groups", self._root, self.groups[i]._root)
            if self.groups[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"groups", self, self.groups[i]._parent)
            if self.groups[i].index != i:
                raise kaitaistruct.ConsistencyError(u"groups", i, self.groups[i].index)
            if self.groups[i].sum_before != (0 if i == 0 else self.groups[i - 1].sum):
                raise kaitaistruct.ConsistencyError(u"groups", (0 if i == 0 else self.groups[i - 1].sum), self.groups[i].sum_before)
            _ = self.groups[i]
            if (not (_.has_next)) != (i == len(self.groups) - 1):
                raise kaitaistruct.ConsistencyError(u"groups", i == len(self.groups) - 1, (not (_.has_next)))

        self._dirty = False

    class Group(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["has_next", "bits"]
        def __init__(self, index, sum_before, _io=None, _parent=None, _root=None):
            super(UnsignedVarint.Group, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.index = index
            self.sum_before = sum_before
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['has_next']['start'] = self._io.pos()
            self.has_next = self._io.read_bits_int_be(1) != 0
            self._debug['has_next']['end'] = self._io.pos()
            _ = self.has_next
            if not  (((not (self.has_next))) or (self.index < 4)) :
                raise kaitaistruct.ValidationExprError(self.has_next, self._io, u"/types/group/seq/0")
            self._debug['bits']['start'] = self._io.pos()
            self.bits = self._io.read_bits_int_be(7)
            self._debug['bits']['end'] = self._io.pos()
            _ = self.bits
            if not  ((self.index < 4) or (self.bits < 16)) :
                raise kaitaistruct.ValidationExprError(self.bits, self._io, u"/types/group/seq/1")
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(UnsignedVarint.Group, self)._write__seq(io)
            self._io.write_bits_int_be(1, int(self.has_next))
            self._io.write_bits_int_be(7, self.bits)


        def _check(self):
            _ = self.has_next
            if not  (((not (self.has_next))) or (self.index < 4)) :
                raise kaitaistruct.ValidationExprError(self.has_next, None, u"/types/group/seq/0")
            _ = self.bits
            if not  ((self.index < 4) or (self.bits < 16)) :
                raise kaitaistruct.ValidationExprError(self.bits, None, u"/types/group/seq/1")
            self._dirty = False

        @property
        def sum(self):
            if hasattr(self, '_m_sum'):
                return self._m_sum

            self._m_sum = self.sum_before | self.bits << 7 * self.index
            return getattr(self, '_m_sum', None)

        def _invalidate_sum(self):
            del self._m_sum

    @property
    def value(self):
        if hasattr(self, '_m_value'):
            return self._m_value

        self._m_value = self.groups[-1].sum
        return getattr(self, '_m_value', None)

    def _invalidate_value(self):
        del self._m_value

