# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import escaped_token
from thawline.generated.parsers import decimal_word
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeIndex(KaitaiStruct):
    """A secondary index: `* i`, or `* e` for one over an expression (version 3.2).
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#global-section
    """

    class DataType(IntEnum):
        blob = 66
        geo2dsphere = 71
        numeric = 78
        string = 83

    class IndexType(IntEnum):
        map_keys = 75
        list_elements = 76
        bin = 78
        map_values = 86

    class Kind(IntEnum):
        expression = 101
        bins = 105
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeIndex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.lead = self._io.read_bytes(2)
        if not self.lead == b"\x2A\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2A\x20", self.lead, self._io, u"/seq/0")
        self.kind = KaitaiStream.resolve_enum(AerospikeIndex.Kind, self._io.read_u1())
        if not isinstance(self.kind, AerospikeIndex.Kind):
            raise kaitaistruct.ValidationNotInEnumError(self.kind, self._io, u"/seq/1")
        self.sp_kind = self._io.read_bytes(1)
        if not self.sp_kind == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_kind, self._io, u"/seq/2")
        self.namespace = escaped_token.EscapedToken(32, self._io)
        self.set = escaped_token.EscapedToken(32, self._io)
        self.name = escaped_token.EscapedToken(32, self._io)
        self.index_type = KaitaiStream.resolve_enum(AerospikeIndex.IndexType, self._io.read_u1())
        if not isinstance(self.index_type, AerospikeIndex.IndexType):
            raise kaitaistruct.ValidationNotInEnumError(self.index_type, self._io, u"/seq/6")
        self.sp_index_type = self._io.read_bytes(1)
        if not self.sp_index_type == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_index_type, self._io, u"/seq/7")
        self.num_paths = decimal_word.DecimalWord(self._io)
        _ = self.num_paths
        if not _.value == 1:
            raise kaitaistruct.ValidationExprError(self.num_paths, self._io, u"/seq/8")
        self.path = escaped_token.EscapedToken(32, self._io)
        self.data_type = KaitaiStream.resolve_enum(AerospikeIndex.DataType, self._io.read_u1())
        if not isinstance(self.data_type, AerospikeIndex.DataType):
            raise kaitaistruct.ValidationNotInEnumError(self.data_type, self._io, u"/seq/10")
        self.after_data_type = self._io.read_u1()
        if not  ((self.after_data_type == 10) or (self.after_data_type == 32)) :
            raise kaitaistruct.ValidationNotAnyOfError(self.after_data_type, self._io, u"/seq/11")
        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.bins)) :
            pass
            self.context = self._io.read_bytes_term(10, False, True, True)

        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.expression)) :
            pass
            self.expression = self._io.read_bytes_term(10, False, True, True)



    def _fetch_instances(self):
        pass
        self.namespace._fetch_instances()
        self.set._fetch_instances()
        self.name._fetch_instances()
        self.num_paths._fetch_instances()
        self.path._fetch_instances()
        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.bins)) :
            pass

        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.expression)) :
            pass



