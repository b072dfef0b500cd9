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

class AerospikeUdf(ReadWriteKaitaiStruct):
    """A file of user-defined functions, copied as it is: the "line" spans as many
    lines as the file has.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#global-section
    """

    class UdfType(IntEnum):
        lua = 76
    SEQ_FIELDS = ["lead", "udf_type", "sp_udf_type", "name", "len_content", "content", "lf"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeUdf, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['lead']['start'] = self._io.pos()
        self.lead = self._io.read_bytes(4)
        self._debug['lead']['end'] = self._io.pos()
        if not self.lead == b"\x2A\x20\x75\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2A\x20\x75\x20", self.lead, self._io, u"/seq/0")
        self._debug['udf_type']['start'] = self._io.pos()
        self.udf_type = KaitaiStream.resolve_enum(AerospikeUdf.UdfType, self._io.read_u1())
        self._debug['udf_type']['end'] = self._io.pos()
        if not isinstance(self.udf_type, AerospikeUdf.UdfType):
            raise kaitaistruct.ValidationNotInEnumError(self.udf_type, self._io, u"/seq/1")
        self._debug['sp_udf_type']['start'] = self._io.pos()
        self.sp_udf_type = self._io.read_bytes(1)
        self._debug['sp_udf_type']['end'] = self._io.pos()
        if not self.sp_udf_type == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_udf_type, self._io, u"/seq/2")
        self._debug['name']['start'] = self._io.pos()
        self.name = escaped_token.EscapedToken(32, self._io)
        self.name._read()
        self._debug['name']['end'] = self._io.pos()
        self._debug['len_content']['start'] = self._io.pos()
        self.len_content = decimal_word.DecimalWord(self._io)
        self.len_content._read()
        self._debug['len_content']['end'] = self._io.pos()
        _ = self.len_content
        if not  ((_.value >= 0) and (_.value <= 4294967295)) :
            raise kaitaistruct.ValidationExprError(self.len_content, self._io, u"/seq/4")
        self._debug['content']['start'] = self._io.pos()
        self.content = self._io.read_bytes(self.len_content.value)
        self._debug['content']['end'] = self._io.pos()
        self._debug['lf']['start'] = self._io.pos()
        self.lf = self._io.read_bytes(1)
        self._debug['lf']['end'] = self._io.pos()
        if not self.lf == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/seq/6")
        self._dirty = False


    def _fetch_instances(self):
        pass
        self.name._fetch_instances()
        self.len_content._fetch_instances()


    def _write__seq(self, io=None):
        super(AerospikeUdf, self)._write__seq(io)
        self._io.write_bytes(self.lead)
        self._io.write_u1(int(self.udf_type))
        self._io.write_bytes(self.sp_udf_type)
        self.name._write__seq(self._io)
        self.len_content._write__seq(self._io)
        self._io.write_bytes(self.content)
        self._io.write_bytes(self.lf)


    def _check(self):
        if len(self.lead) != 4:
            raise kaitaistruct.ConsistencyError(u"lead", 4, len(self.lead))
        if not self.lead == b"\x2A\x20\x75\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2A\x20\x75\x20", self.lead, None, u"/seq/0")
        if not isinstance(self.udf_type, AerospikeUdf.UdfType):
            raise kaitaistruct.ValidationNotInEnumError(self.udf_type, None, u"/seq/1")
        if len(self.sp_udf_type) != 1:
            raise kaitaistruct.ConsistencyError(u"sp_udf_type", 1, len(self.sp_udf_type))
        if not self.sp_udf_type == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_udf_type, None, u"/seq/2")
        if self.name.terminator != 32:
            raise kaitaistruct.ConsistencyError(u"name", 32, self.name.terminator)
        _ = self.len_content
        if not  ((_.value >= 0) and (_.value <= 4294967295)) :
            raise kaitaistruct.ValidationExprError(self.len_content, None, u"/seq/4")
        if len(self.content) != self.len_content.value:
            raise kaitaistruct.ConsistencyError(u"content", self.len_content.value, len(self.content))
        if len(self.lf) != 1:
            raise kaitaistruct.ConsistencyError(u"lf", 1, len(self.lf))
        if not self.lf == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, None, u"/seq/6")
        self._dirty = False


