# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import escaped_token
from thawline.generated.structures import decimal_word
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeIndex(ReadWriteKaitaiStruct):
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
    SEQ_FIELDS = ["lead", "kind", "sp_kind", "namespace", "set", "name", "index_type", "sp_index_type", "num_paths", "path", "data_type", "after_data_type", "context", "expression"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeIndex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['lead']['start'] = self._io.pos()
        self.lead = self._io.read_bytes(2)
        self._debug['lead']['end'] = self._io.pos()
        if not self.lead == b"\x2A\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2A\x20", self.lead, self._io, u"/seq/0")
        self._debug['kind']['start'] = self._io.pos()
        self.kind = KaitaiStream.resolve_enum(AerospikeIndex.Kind, self._io.read_u1())
        self._debug['kind']['end'] = self._io.pos()
        if not isinstance(self.kind, AerospikeIndex.Kind):
            raise kaitaistruct.ValidationNotInEnumError(self.kind, self._io, u"/seq/1")
        self._debug['sp_kind']['start'] = self._io.pos()
        self.sp_kind = self._io.read_bytes(1)
        self._debug['sp_kind']['end'] = self._io.pos()
        if not self.sp_kind == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_kind, self._io, u"/seq/2")
        self._debug['namespace']['start'] = self._io.pos()
        self.namespace = escaped_token.EscapedToken(32, self._io)
        self.namespace._read()
        self._debug['namespace']['end'] = self._io.pos()
        self._debug['set']['start'] = self._io.pos()
        self.set = escaped_token.EscapedToken(32, self._io)
        self.set._read()
        self._debug['set']['end'] = self._io.pos()
        self._debug['name']['start'] = self._io.pos()
        self.name = escaped_token.EscapedToken(32, self._io)
        self.name._read()
        self._debug['name']['end'] = self._io.pos()
        self._debug['index_type']['start'] = self._io.pos()
        self.index_type = KaitaiStream.resolve_enum(AerospikeIndex.IndexType, self._io.read_u1())
        self._debug['index_type']['end'] = self._io.pos()
        if not isinstance(self.index_type, AerospikeIndex.IndexType):
            raise kaitaistruct.ValidationNotInEnumError(self.index_type, self._io, u"/seq/6")
        self._debug['sp_index_type']['start'] = self._io.pos()
        self.sp_index_type = self._io.read_bytes(1)
        self._debug['sp_index_type']['end'] = self._io.pos()
        if not self.sp_index_type == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_index_type, self._io, u"/seq/7")
        self._debug['num_paths']['start'] = self._io.pos()
        self.num_paths = decimal_word.DecimalWord(self._io)
        self.num_paths._read()
        self._debug['num_paths']['end'] = self._io.pos()
        _ = self.num_paths
        if not _.value == 1:
            raise kaitaistruct.ValidationExprError(self.num_paths, self._io, u"/seq/8")
        self._debug['path']['start'] = self._io.pos()
        self.path = escaped_token.EscapedToken(32, self._io)
        self.path._read()
        self._debug['path']['end'] = self._io.pos()
        self._debug['data_type']['start'] = self._io.pos()
        self.data_type = KaitaiStream.resolve_enum(AerospikeIndex.DataType, self._io.read_u1())
        self._debug['data_type']['end'] = self._io.pos()
        if not isinstance(self.data_type, AerospikeIndex.DataType):
            raise kaitaistruct.ValidationNotInEnumError(self.data_type, self._io, u"/seq/10")
        self._debug['after_data_type']['start'] = self._io.pos()
        self.after_data_type = self._io.read_u1()
        self._debug['after_data_type']['end'] = self._io.pos()
        if not  ((self.after_data_type == 10) or (self.after_data_type == 32)) :
            raise kaitaistruct.ValidationNotAnyOfError(self.after_data_type, self._io, u"/seq/11")
        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.bins)) :
            pass
            self._debug['context']['start'] = self._io.pos()
            self.context = self._io.read_bytes_term(10, False, True, True)
            self._debug['context']['end'] = self._io.pos()

        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.expression)) :
            pass
            self._debug['expression']['start'] = self._io.pos()
            self.expression = self._io.read_bytes_term(10, False, True, True)
            self._debug['expression']['end'] = self._io.pos()

        self._dirty = False


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



    def _write__seq(self, io=None):
        super(AerospikeIndex, self)._write__seq(io)
        self._io.write_bytes(self.lead)
        self._io.write_u1(int(self.kind))
        self._io.write_bytes(self.sp_kind)
        self.namespace._write__seq(self._io)
        self.set._write__seq(self._io)
        self.name._write__seq(self._io)
        self._io.write_u1(int(self.index_type))
        self._io.write_bytes(self.sp_index_type)
        self.num_paths._write__seq(self._io)
        self.path._write__seq(self._io)
        self._io.write_u1(int(self.data_type))
        self._io.write_u1(self.after_data_type)
        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.bins)) :
            pass
            self._io.write_bytes(self.context)
            self._io.write_u1(10)

        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.expression)) :
            pass
            self._io.write_bytes(self.expression)
            self._io.write_u1(10)



    def _check(self):
        if len(self.lead) != 2:
            raise kaitaistruct.ConsistencyError(u"lead", 2, len(self.lead))
        if not self.lead == b"\x2A\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2A\x20", self.lead, None, u"/seq/0")
        if not isinstance(self.kind, AerospikeIndex.Kind):
            raise kaitaistruct.ValidationNotInEnumError(self.kind, None, u"/seq/1")
        if len(self.sp_kind) != 1:
            raise kaitaistruct.ConsistencyError(u"sp_kind", 1, len(self.sp_kind))
        if not self.sp_kind == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_kind, None, u"/seq/2")
        if self.namespace.terminator != 32:
            raise kaitaistruct.ConsistencyError(u"namespace", 32, self.namespace.terminator)
        if self.set.terminator != 32:
            raise kaitaistruct.ConsistencyError(u"set", 32, self.set.terminator)
        if self.name.terminator != 32:
            raise kaitaistruct.ConsistencyError(u"name", 32, self.name.terminator)
        if not isinstance(self.index_type, AerospikeIndex.IndexType):
            raise kaitaistruct.ValidationNotInEnumError(self.index_type, None, u"/seq/6")
        if len(self.sp_index_type) != 1:
            raise kaitaistruct.ConsistencyError(u"sp_index_type", 1, len(self.sp_index_type))
        if not self.sp_index_type == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_index_type, None, u"/seq/7")
        _ = self.num_paths
        if not _.value == 1:
            raise kaitaistruct.ValidationExprError(self.num_paths, None, u"/seq/8")
        if self.path.terminator != 32:
            raise kaitaistruct.ConsistencyError(u"path", 32, self.path.terminator)
        if not isinstance(self.data_type, AerospikeIndex.DataType):
            raise kaitaistruct.ValidationNotInEnumError(self.data_type, None, u"/seq/10")
        if not  ((self.after_data_type == 10) or (self.after_data_type == 32)) :
            raise kaitaistruct.ValidationNotAnyOfError(self.after_data_type, None, u"/seq/11")
        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.bins)) :
            pass
            if KaitaiStream.byte_array_index_of(self.context, 10) != -1:
                raise kaitaistruct.ConsistencyError(u"context", -1, KaitaiStream.byte_array_index_of(self.context, 10))

        if  ((self.after_data_type == 32) and (self.kind == AerospikeIndex.Kind.expression)) :
            pass
            if KaitaiStream.byte_array_index_of(self.expression, 10) != -1:
                raise kaitaistruct.ConsistencyError(u"expression", -1, KaitaiStream.byte_array_index_of(self.expression, 10))

        self._dirty = False


