# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import escaped_token
from thawline.generated.parsers import decimal_word
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeUdf(KaitaiStruct):
    """A file of user-defined functions, copied as it is: the "line" spans as many
    lines as the file has.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#global-section
    """

    class UdfType(IntEnum):
        lua = 76
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeUdf, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.lead = self._io.read_bytes(4)
        if not self.lead == b"\x2A\x20\x75\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2A\x20\x75\x20", self.lead, self._io, u"/seq/0")
        self.udf_type = KaitaiStream.resolve_enum(AerospikeUdf.UdfType, self._io.read_u1())
        if not isinstance(self.udf_type, AerospikeUdf.UdfType):
            raise kaitaistruct.ValidationNotInEnumError(self.udf_type, self._io, u"/seq/1")
        self.sp_udf_type = self._io.read_bytes(1)
        if not self.sp_udf_type == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_udf_type, self._io, u"/seq/2")
        self.name = escaped_token.EscapedToken(32, self._io)
        self.len_content = decimal_word.DecimalWord(self._io)
        _ = self.len_content
        if not  ((_.value >= 0) and (_.value <= 4294967295)) :
            raise kaitaistruct.ValidationExprError(self.len_content, self._io, u"/seq/4")
        self.content = self._io.read_bytes(self.len_content.value)
        self.lf = self._io.read_bytes(1)
        if not self.lf == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/seq/6")


    def _fetch_instances(self):
        pass
        self.name._fetch_instances()
        self.len_content._fetch_instances()


