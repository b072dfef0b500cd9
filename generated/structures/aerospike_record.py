# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import escaped_token
from thawline.generated.structures import decimal_word
from thawline.generated.structures import decimal_line
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeRecord(ReadWriteKaitaiStruct):
    """A record: header lines in fixed order, then as many bin lines as they count.
    Values carry their length and may hold line feeds, so it is no text to be
    split by lines.
    
    .. seealso::
       Source - https://github.com/aerospike/aerospike-tools-backup#records-section
    """

    class BinType(IntEnum):
        bytes = 66
        csharp = 67
        double = 68
        erlang = 69
        geojson = 71
        php = 72
        integer = 73
        java = 74
        list = 76
        map = 77
        nil = 78
        python = 80
        ruby = 82
        string = 83
        base64_string = 88
        hll = 89
        boolean = 90

    class FirstLine(IntEnum):
        key = 107
        namespace = 110

    class FourthLine(IntEnum):
        generation = 103
        set = 115

    class KeyType(IntEnum):
        bytes = 66
        double = 68
        integer = 73
        string = 83
        base64_string = 88
    SEQ_FIELDS = ["lead", "first_line", "sp_first_line", "key", "lead_namespace", "namespace", "lead_digest", "digest", "lf_digest", "lead_fourth_line", "fourth_line", "sp_fourth_line", "set", "lead_generation", "generation", "lead_expiration", "expiration", "lead_num_bins", "num_bins", "bins"]
    def __init__(self, _io=None, _parent=None, _root=None):
        super(AerospikeRecord, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['lead']['start'] = self._io.pos()
        self.lead = self._io.read_bytes(2)
        self._debug['lead']['end'] = self._io.pos()
        if not self.lead == b"\x2B\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20", self.lead, self._io, u"/seq/0")
        self._debug['first_line']['start'] = self._io.pos()
        self.first_line = KaitaiStream.resolve_enum(AerospikeRecord.FirstLine, self._io.read_u1())
        self._debug['first_line']['end'] = self._io.pos()
        if not isinstance(self.first_line, AerospikeRecord.FirstLine):
            raise kaitaistruct.ValidationNotInEnumError(self.first_line, self._io, u"/seq/1")
        self._debug['sp_first_line']['start'] = self._io.pos()
        self.sp_first_line = self._io.read_bytes(1)
        self._debug['sp_first_line']['end'] = self._io.pos()
        if not self.sp_first_line == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_first_line, self._io, u"/seq/2")
        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self._debug['key']['start'] = self._io.pos()
            self.key = AerospikeRecord.Key(self._io, self, self._root)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()

        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self._debug['lead_namespace']['start'] = self._io.pos()
            self.lead_namespace = self._io.read_bytes(4)
            self._debug['lead_namespace']['end'] = self._io.pos()
            if not self.lead_namespace == b"\x2B\x20\x6E\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x6E\x20", self.lead_namespace, self._io, u"/seq/4")

        self._debug['namespace']['start'] = self._io.pos()
        self.namespace = escaped_token.EscapedToken(10, self._io)
        self.namespace._read()
        self._debug['namespace']['end'] = self._io.pos()
        self._debug['lead_digest']['start'] = self._io.pos()
        self.lead_digest = self._io.read_bytes(4)
        self._debug['lead_digest']['end'] = self._io.pos()
        if not self.lead_digest == b"\x2B\x20\x64\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x64\x20", self.lead_digest, self._io, u"/seq/6")
        self._debug['digest']['start'] = self._io.pos()
        self.digest = self._io.read_bytes(28)
        self._debug['digest']['end'] = self._io.pos()
        self._debug['lf_digest']['start'] = self._io.pos()
        self.lf_digest = self._io.read_bytes(1)
        self._debug['lf_digest']['end'] = self._io.pos()
        if not self.lf_digest == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf_digest, self._io, u"/seq/8")
        self._debug['lead_fourth_line']['start'] = self._io.pos()
        self.lead_fourth_line = self._io.read_bytes(2)
        self._debug['lead_fourth_line']['end'] = self._io.pos()
        if not self.lead_fourth_line == b"\x2B\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20", self.lead_fourth_line, self._io, u"/seq/9")
        self._debug['fourth_line']['start'] = self._io.pos()
        self.fourth_line = KaitaiStream.resolve_enum(AerospikeRecord.FourthLine, self._io.read_u1())
        self._debug['fourth_line']['end'] = self._io.pos()
        if not isinstance(self.fourth_line, AerospikeRecord.FourthLine):
            raise kaitaistruct.ValidationNotInEnumError(self.fourth_line, self._io, u"/seq/10")
        self._debug['sp_fourth_line']['start'] = self._io.pos()
        self.sp_fourth_line = self._io.read_bytes(1)
        self._debug['sp_fourth_line']['end'] = self._io.pos()
        if not self.sp_fourth_line == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_fourth_line, self._io, u"/seq/11")
        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self._debug['set']['start'] = self._io.pos()
            self.set = escaped_token.EscapedToken(10, self._io)
            self.set._read()
            self._debug['set']['end'] = self._io.pos()

        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self._debug['lead_generation']['start'] = self._io.pos()
            self.lead_generation = self._io.read_bytes(4)
            self._debug['lead_generation']['end'] = self._io.pos()
            if not self.lead_generation == b"\x2B\x20\x67\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x67\x20", self.lead_generation, self._io, u"/seq/13")

        self._debug['generation']['start'] = self._io.pos()
        self.generation = decimal_line.DecimalLine(self._io)
        self.generation._read()
        self._debug['generation']['end'] = self._io.pos()
        _ = self.generation
        if not  ((_.value >= 0) and (_.value <= 65535)) :
            raise kaitaistruct.ValidationExprError(self.generation, self._io, u"/seq/14")
        self._debug['lead_expiration']['start'] = self._io.pos()
        self.lead_expiration = self._io.read_bytes(4)
        self._debug['lead_expiration']['end'] = self._io.pos()
        if not self.lead_expiration == b"\x2B\x20\x74\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x74\x20", self.lead_expiration, self._io, u"/seq/15")
        self._debug['expiration']['start'] = self._io.pos()
        self.expiration = decimal_line.DecimalLine(self._io)
        self.expiration._read()
        self._debug['expiration']['end'] = self._io.pos()
        _ = self.expiration
        if not _.value >= 0:
            raise kaitaistruct.ValidationExprError(self.expiration, self._io, u"/seq/16")
        self._debug['lead_num_bins']['start'] = self._io.pos()
        self.lead_num_bins = self._io.read_bytes(4)
        self._debug['lead_num_bins']['end'] = self._io.pos()
        if not self.lead_num_bins == b"\x2B\x20\x62\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x62\x20", self.lead_num_bins, self._io, u"/seq/17")
        self._debug['num_bins']['start'] = self._io.pos()
        self.num_bins = decimal_line.DecimalLine(self._io)
        self.num_bins._read()
        self._debug['num_bins']['end'] = self._io.pos()
        _ = self.num_bins
        if not  ((_.value >= 0) and (_.value <= 65535)) :
            raise kaitaistruct.ValidationExprError(self.num_bins, self._io, u"/seq/18")
        self._debug['bins']['start'] = self._io.pos()
        self._debug['bins']['arr'] = []
        self.bins = []
        for i in range(self.num_bins.value):
            self._debug['bins']['arr'].append({'start': self._io.pos()})
            _t_bins = AerospikeRecord.Bin(self._io, self, self._root)
            try:
                _t_bins._read()
            finally:
                self.bins.append(_t_bins)
            self._debug['bins']['arr'][i]['end'] = self._io.pos()

        self._debug['bins']['end'] = self._io.pos()
        self._dirty = False


    def _fetch_instances(self):
        pass
        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self.key._fetch_instances()

        if self.first_line == AerospikeRecord.FirstLine.key:
            pass

        self.namespace._fetch_instances()
        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self.set._fetch_instances()

        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass

        self.generation._fetch_instances()
        self.expiration._fetch_instances()
        self.num_bins._fetch_instances()
        for i in range(len(self.bins)):
            pass
            self.bins[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(AerospikeRecord, self)._write__seq(io)
        self._io.write_bytes(self.lead)
        self._io.write_u1(int(self.first_line))
        self._io.write_bytes(self.sp_first_line)
        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self.key._write__seq(self._io)

        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self._io.write_bytes(self.lead_namespace)

        self.namespace._write__seq(self._io)
        self._io.write_bytes(self.lead_digest)
        self._io.write_bytes(self.digest)
        self._io.write_bytes(self.lf_digest)
        self._io.write_bytes(self.lead_fourth_line)
        self._io.write_u1(int(self.fourth_line))
        self._io.write_bytes(self.sp_fourth_line)
        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self.set._write__seq(self._io)

        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self._io.write_bytes(self.lead_generation)

        self.generation._write__seq(self._io)
        self._io.write_bytes(self.lead_expiration)
        self.expiration._write__seq(self._io)
        self._io.write_bytes(self.lead_num_bins)
        self.num_bins._write__seq(self._io)
        for i in range(len(self.bins)):
            pass
            self.bins[i]._write__seq(self._io)



    def _check(self):
        if len(self.lead) != 2:
            raise kaitaistruct.ConsistencyError(u"lead", 2, len(self.lead))
        if not self.lead == b"\x2B\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20", self.lead, None, u"/seq/0")
        if not isinstance(self.first_line, AerospikeRecord.FirstLine):
            raise kaitaistruct.ValidationNotInEnumError(self.first_line, None, u"/seq/1")
        if len(self.sp_first_line) != 1:
            raise kaitaistruct.ConsistencyError(u"sp_first_line", 1, len(self.sp_first_line))
        if not self.sp_first_line == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_first_line, None, u"/seq/2")
        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            if self.key._root != self._root:
                raise kaitaistruct.ConsistencyError(u"key", self._root, self.key._root)
            if self.key._parent != self:
                raise kaitaistruct.ConsistencyError(u"key", self, self.key._parent)

        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            if len(self.lead_namespace) != 4:
                raise kaitaistruct.ConsistencyError(u"lead_namespace", 4, len(self.lead_namespace))
            if not self.lead_namespace == b"\x2B\x20\x6E\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x6E\x20", self.lead_namespace, None, u"/seq/4")

        if self.namespace.terminator != 10:
            raise kaitaistruct.ConsistencyError(u"namespace", 10, self.namespace.terminator)
        if len(self.lead_digest) != 4:
            raise kaitaistruct.ConsistencyError(u"lead_digest", 4, len(self.lead_digest))
        if not self.lead_digest == b"\x2B\x20\x64\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x64\x20", self.lead_digest, None, u"/seq/6")
        if len(self.digest) != 28:
            raise kaitaistruct.ConsistencyError(u"digest", 28, len(self.digest))
        if len(self.lf_digest) != 1:
            raise kaitaistruct.ConsistencyError(u"lf_digest", 1, len(self.lf_digest))
        if not self.lf_digest == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf_digest, None, u"/seq/8")
        if len(self.lead_fourth_line) != 2:
            raise kaitaistruct.ConsistencyError(u"lead_fourth_line", 2, len(self.lead_fourth_line))
        if not self.lead_fourth_line == b"\x2B\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20", self.lead_fourth_line, None, u"/seq/9")
        if not isinstance(self.fourth_line, AerospikeRecord.FourthLine):
            raise kaitaistruct.ValidationNotInEnumError(self.fourth_line, None, u"/seq/10")
        if len(self.sp_fourth_line) != 1:
            raise kaitaistruct.ConsistencyError(u"sp_fourth_line", 1, len(self.sp_fourth_line))
        if not self.sp_fourth_line == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_fourth_line, None, u"/seq/11")
        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            if self.set.terminator != 10:
                raise kaitaistruct.ConsistencyError(u"set", 10, self.set.terminator)

        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            if len(self.lead_generation) != 4:
                raise kaitaistruct.ConsistencyError(u"lead_generation", 4, len(self.lead_generation))
            if not self.lead_generation == b"\x2B\x20\x67\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x67\x20", self.lead_generation, None, u"/seq/13")

        _ = self.generation
        if not  ((_.value >= 0) and (_.value <= 65535)) :
            raise kaitaistruct.ValidationExprError(self.generation, None, u"/seq/14")
        if len(self.lead_expiration) != 4:
            raise kaitaistruct.ConsistencyError(u"lead_expiration", 4, len(self.lead_expiration))
        if not self.lead_expiration == b"\x2B\x20\x74\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x74\x20", self.lead_expiration, None, u"/seq/15")
        _ = self.expiration
        if not _.value >= 0:
            raise kaitaistruct.ValidationExprError(self.expiration, None, u"/seq/16")
        if len(self.lead_num_bins) != 4:
            raise kaitaistruct.ConsistencyError(u"lead_num_bins", 4, len(self.lead_num_bins))
        if not self.lead_num_bins == b"\x2B\x20\x62\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x62\x20", self.lead_num_bins, None, u"/seq/17")
        _ = self.num_bins
        if not  ((_.value >= 0) and (_.value <= 65535)) :
            raise kaitaistruct.ValidationExprError(self.num_bins, None, u"/seq/18")
        if len(self.bins) != self.num_bins.value:
            raise kaitaistruct.ConsistencyError(u"bins", self.num_bins.value, len(self.bins))
        for i in range(len(self.bins)):
            pass
            if self.bins[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"bins", self._root, self.bins[i]._root)
            if self.bins[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"bins", self, self.bins[i]._parent)

        self._dirty = False

    class Bin(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["lead", "type", "after_type", "sp_type", "name", "boolean", "integer", "double", "sized"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeRecord.Bin, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['lead']['start'] = self._io.pos()
            self.lead = self._io.read_bytes(2)
            self._debug['lead']['end'] = self._io.pos()
            if not self.lead == b"\x2D\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2D\x20", self.lead, self._io, u"/types/bin/seq/0")
            self._debug['type']['start'] = self._io.pos()
            self.type = KaitaiStream.resolve_enum(AerospikeRecord.BinType, self._io.read_u1())
            self._debug['type']['end'] = self._io.pos()
            if not isinstance(self.type, AerospikeRecord.BinType):
                raise kaitaistruct.ValidationNotInEnumError(self.type, self._io, u"/types/bin/seq/1")
            self._debug['after_type']['start'] = self._io.pos()
            self.after_type = self._io.read_u1()
            self._debug['after_type']['end'] = self._io.pos()
            if not  ((self.after_type == 32) or (self.after_type == 33)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.after_type, self._io, u"/types/bin/seq/2")
            if self.after_type == 33:
                pass
                self._debug['sp_type']['start'] = self._io.pos()
                self.sp_type = self._io.read_bytes(1)
                self._debug['sp_type']['end'] = self._io.pos()
                if not self.sp_type == b"\x20":
                    raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_type, self._io, u"/types/bin/seq/3")

            self._debug['name']['start'] = self._io.pos()
            self.name = escaped_token.EscapedToken((10 if self.type == AerospikeRecord.BinType.nil else 32), self._io)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            if self.type == AerospikeRecord.BinType.boolean:
                pass
                self._debug['boolean']['start'] = self._io.pos()
                self.boolean = AerospikeRecord.Boolean(self._io, self, self._root)
                self.boolean._read()
                self._debug['boolean']['end'] = self._io.pos()

            if self.type == AerospikeRecord.BinType.integer:
                pass
                self._debug['integer']['start'] = self._io.pos()
                self.integer = decimal_line.DecimalLine(self._io)
                self.integer._read()
                self._debug['integer']['end'] = self._io.pos()

            if self.type == AerospikeRecord.BinType.double:
                pass
                self._debug['double']['start'] = self._io.pos()
                self.double = self._io.read_bytes_term(10, False, True, True)
                self._debug['double']['end'] = self._io.pos()

            if  ((self.type != AerospikeRecord.BinType.nil) and (self.type != AerospikeRecord.BinType.boolean) and (self.type != AerospikeRecord.BinType.integer) and (self.type != AerospikeRecord.BinType.double)) :
                pass
                self._debug['sized']['start'] = self._io.pos()
                self.sized = AerospikeRecord.Sized(self._io, self, self._root)
                self.sized._read()
                self._debug['sized']['end'] = self._io.pos()

            self._dirty = False


        def _fetch_instances(self):
            pass
            if self.after_type == 33:
                pass

            self.name._fetch_instances()
            if self.type == AerospikeRecord.BinType.boolean:
                pass
                self.boolean._fetch_instances()

            if self.type == AerospikeRecord.BinType.integer:
                pass
                self.integer._fetch_instances()

            if self.type == AerospikeRecord.BinType.double:
                pass

            if  ((self.type != AerospikeRecord.BinType.nil) and (self.type != AerospikeRecord.BinType.boolean) and (self.type != AerospikeRecord.BinType.integer) and (self.type != AerospikeRecord.BinType.double)) :
                pass
                self.sized._fetch_instances()



        def _write__seq(self, io=None):
            super(AerospikeRecord.Bin, self)._write__seq(io)
            self._io.write_bytes(self.lead)
            self._io.write_u1(int(self.type))
            self._io.write_u1(self.after_type)
            if self.after_type == 33:
                pass
                self._io.write_bytes(self.sp_type)

            self.name._write__seq(self._io)
            if self.type == AerospikeRecord.BinType.boolean:
                pass
                self.boolean._write__seq(self._io)

            if self.type == AerospikeRecord.BinType.integer:
                pass
                self.integer._write__seq(self._io)

            if self.type == AerospikeRecord.BinType.double:
                pass
                self._io.write_bytes(self.double)
                self._io.write_u1(10)

            if  ((self.type != AerospikeRecord.BinType.nil) and (self.type != AerospikeRecord.BinType.boolean) and (self.type != AerospikeRecord.BinType.integer) and (self.type != AerospikeRecord.BinType.double)) :
                pass
                self.sized._write__seq(self._io)



        def _check(self):
            if len(self.lead) != 2:
                raise kaitaistruct.ConsistencyError(u"lead", 2, len(self.lead))
            if not self.lead == b"\x2D\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2D\x20", self.lead, None, u"/types/bin/seq/0")
            if not isinstance(self.type, AerospikeRecord.BinType):
                raise kaitaistruct.ValidationNotInEnumError(self.type, None, u"/types/bin/seq/1")
            if not  ((self.after_type == 32) or (self.after_type == 33)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.after_type, None, u"/types/bin/seq/2")
            if self.after_type == 33:
                pass
                if len(self.sp_type) != 1:
                    raise kaitaistruct.ConsistencyError(u"sp_type", 1, len(self.sp_type))
                if not self.sp_type == b"\x20":
                    raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_type, None, u"/types/bin/seq/3")

            if self.name.terminator != (10 if self.type == AerospikeRecord.BinType.nil else 32):
                raise kaitaistruct.ConsistencyError(u"name", (10 if self.type == AerospikeRecord.BinType.nil else 32), self.name.terminator)
            if self.type == AerospikeRecord.BinType.boolean:
                pass
                if self.boolean._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"boolean", self._root, self.boolean._root)
                if self.boolean._parent != self:
                    raise kaitaistruct.ConsistencyError(u"boolean", self, self.boolean._parent)

            if self.type == AerospikeRecord.BinType.integer:
                pass

            if self.type == AerospikeRecord.BinType.double:
                pass
                if KaitaiStream.byte_array_index_of(self.double, 10) != -1:
                    raise kaitaistruct.ConsistencyError(u"double", -1, KaitaiStream.byte_array_index_of(self.double, 10))

            if  ((self.type != AerospikeRecord.BinType.nil) and (self.type != AerospikeRecord.BinType.boolean) and (self.type != AerospikeRecord.BinType.integer) and (self.type != AerospikeRecord.BinType.double)) :
                pass
                if self.sized._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"sized", self._root, self.sized._root)
                if self.sized._parent != self:
                    raise kaitaistruct.ConsistencyError(u"sized", self, self.sized._parent)

            self._dirty = False

        @property
        def is_compact(self):
            """The bytes follow as they are, not in base-64."""
            if hasattr(self, '_m_is_compact'):
                return self._m_is_compact

            self._m_is_compact = self.after_type == 33
            return getattr(self, '_m_is_compact', None)

        def _invalidate_is_compact(self):
            del self._m_is_compact
        @property
        def letter(self):
            """The type as it is written."""
            if hasattr(self, '_m_letter'):
                return self._m_letter

            self._m_letter = int(self.type)
            return getattr(self, '_m_letter', None)

        def _invalidate_letter(self):
            del self._m_letter

    class Boolean(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["letter", "lf"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeRecord.Boolean, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['letter']['start'] = self._io.pos()
            self.letter = self._io.read_u1()
            self._debug['letter']['end'] = self._io.pos()
            if not  ((self.letter == 70) or (self.letter == 84)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.letter, self._io, u"/types/boolean/seq/0")
            self._debug['lf']['start'] = self._io.pos()
            self.lf = self._io.read_bytes(1)
            self._debug['lf']['end'] = self._io.pos()
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/types/boolean/seq/1")
            self._dirty = False


        def _fetch_instances(self):
            pass


        def _write__seq(self, io=None):
            super(AerospikeRecord.Boolean, self)._write__seq(io)
            self._io.write_u1(self.letter)
            self._io.write_bytes(self.lf)


        def _check(self):
            if not  ((self.letter == 70) or (self.letter == 84)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.letter, None, u"/types/boolean/seq/0")
            if len(self.lf) != 1:
                raise kaitaistruct.ConsistencyError(u"lf", 1, len(self.lf))
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, None, u"/types/boolean/seq/1")
            self._dirty = False

        @property
        def boolean(self):
            if hasattr(self, '_m_boolean'):
                return self._m_boolean

            self._m_boolean = self.letter == 84
            return getattr(self, '_m_boolean', None)

        def _invalidate_boolean(self):
            del self._m_boolean

    class Key(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["type", "after_type", "sp_type", "integer", "double", "sized"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeRecord.Key, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['type']['start'] = self._io.pos()
            self.type = KaitaiStream.resolve_enum(AerospikeRecord.KeyType, self._io.read_u1())
            self._debug['type']['end'] = self._io.pos()
            if not isinstance(self.type, AerospikeRecord.KeyType):
                raise kaitaistruct.ValidationNotInEnumError(self.type, self._io, u"/types/key/seq/0")
            self._debug['after_type']['start'] = self._io.pos()
            self.after_type = self._io.read_u1()
            self._debug['after_type']['end'] = self._io.pos()
            if not  ((self.after_type == 32) or (self.after_type == 33)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.after_type, self._io, u"/types/key/seq/1")
            if self.after_type == 33:
                pass
                self._debug['sp_type']['start'] = self._io.pos()
                self.sp_type = self._io.read_bytes(1)
                self._debug['sp_type']['end'] = self._io.pos()
                if not self.sp_type == b"\x20":
                    raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_type, self._io, u"/types/key/seq/2")

            if self.type == AerospikeRecord.KeyType.integer:
                pass
                self._debug['integer']['start'] = self._io.pos()
                self.integer = decimal_line.DecimalLine(self._io)
                self.integer._read()
                self._debug['integer']['end'] = self._io.pos()

            if self.type == AerospikeRecord.KeyType.double:
                pass
                self._debug['double']['start'] = self._io.pos()
                self.double = self._io.read_bytes_term(10, False, True, True)
                self._debug['double']['end'] = self._io.pos()

            if  ((self.type != AerospikeRecord.KeyType.integer) and (self.type != AerospikeRecord.KeyType.double)) :
                pass
                self._debug['sized']['start'] = self._io.pos()
                self.sized = AerospikeRecord.Sized(self._io, self, self._root)
                self.sized._read()
                self._debug['sized']['end'] = self._io.pos()

            self._dirty = False


        def _fetch_instances(self):
            pass
            if self.after_type == 33:
                pass

            if self.type == AerospikeRecord.KeyType.integer:
                pass
                self.integer._fetch_instances()

            if self.type == AerospikeRecord.KeyType.double:
                pass

            if  ((self.type != AerospikeRecord.KeyType.integer) and (self.type != AerospikeRecord.KeyType.double)) :
                pass
                self.sized._fetch_instances()



        def _write__seq(self, io=None):
            super(AerospikeRecord.Key, self)._write__seq(io)
            self._io.write_u1(int(self.type))
            self._io.write_u1(self.after_type)
            if self.after_type == 33:
                pass
                self._io.write_bytes(self.sp_type)

            if self.type == AerospikeRecord.KeyType.integer:
                pass
                self.integer._write__seq(self._io)

            if self.type == AerospikeRecord.KeyType.double:
                pass
                self._io.write_bytes(self.double)
                self._io.write_u1(10)

            if  ((self.type != AerospikeRecord.KeyType.integer) and (self.type != AerospikeRecord.KeyType.double)) :
                pass
                self.sized._write__seq(self._io)



        def _check(self):
            if not isinstance(self.type, AerospikeRecord.KeyType):
                raise kaitaistruct.ValidationNotInEnumError(self.type, None, u"/types/key/seq/0")
            if not  ((self.after_type == 32) or (self.after_type == 33)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.after_type, None, u"/types/key/seq/1")
            if self.after_type == 33:
                pass
                if len(self.sp_type) != 1:
                    raise kaitaistruct.ConsistencyError(u"sp_type", 1, len(self.sp_type))
                if not self.sp_type == b"\x20":
                    raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_type, None, u"/types/key/seq/2")

            if self.type == AerospikeRecord.KeyType.integer:
                pass

            if self.type == AerospikeRecord.KeyType.double:
                pass
                if KaitaiStream.byte_array_index_of(self.double, 10) != -1:
                    raise kaitaistruct.ConsistencyError(u"double", -1, KaitaiStream.byte_array_index_of(self.double, 10))

            if  ((self.type != AerospikeRecord.KeyType.integer) and (self.type != AerospikeRecord.KeyType.double)) :
                pass
                if self.sized._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"sized", self._root, self.sized._root)
                if self.sized._parent != self:
                    raise kaitaistruct.ConsistencyError(u"sized", self, self.sized._parent)

            self._dirty = False

        @property
        def is_compact(self):
            """The bytes follow as they are, not in base-64."""
            if hasattr(self, '_m_is_compact'):
                return self._m_is_compact

            self._m_is_compact = self.after_type == 33
            return getattr(self, '_m_is_compact', None)

        def _invalidate_is_compact(self):
            del self._m_is_compact
        @property
        def letter(self):
            """The type as it is written."""
            if hasattr(self, '_m_letter'):
                return self._m_letter

            self._m_letter = int(self.type)
            return getattr(self, '_m_letter', None)

        def _invalidate_letter(self):
            del self._m_letter

    class Sized(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_data", "data", "lf"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(AerospikeRecord.Sized, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = decimal_word.DecimalWord(self._io)
            self.len_data._read()
            self._debug['len_data']['end'] = self._io.pos()
            _ = self.len_data
            if not  ((_.value >= 0) and (_.value <= 4294967295)) :
                raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/types/sized/seq/0")
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.len_data.value)
            self._debug['data']['end'] = self._io.pos()
            self._debug['lf']['start'] = self._io.pos()
            self.lf = self._io.read_bytes(1)
            self._debug['lf']['end'] = self._io.pos()
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/types/sized/seq/2")
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.len_data._fetch_instances()


        def _write__seq(self, io=None):
            super(AerospikeRecord.Sized, self)._write__seq(io)
            self.len_data._write__seq(self._io)
            self._io.write_bytes(self.data)
            self._io.write_bytes(self.lf)


        def _check(self):
            _ = self.len_data
            if not  ((_.value >= 0) and (_.value <= 4294967295)) :
                raise kaitaistruct.ValidationExprError(self.len_data, None, u"/types/sized/seq/0")
            if len(self.data) != self.len_data.value:
                raise kaitaistruct.ConsistencyError(u"data", self.len_data.value, len(self.data))
            if len(self.lf) != 1:
                raise kaitaistruct.ConsistencyError(u"lf", 1, len(self.lf))
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, None, u"/types/sized/seq/2")
            self._dirty = False



