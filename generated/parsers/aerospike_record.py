# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import escaped_token
from thawline.generated.parsers import decimal_word
from thawline.generated.parsers import decimal_line
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class AerospikeRecord(KaitaiStruct):
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
    def __init__(self, _io, _parent=None, _root=None):
        super(AerospikeRecord, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.lead = self._io.read_bytes(2)
        if not self.lead == b"\x2B\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20", self.lead, self._io, u"/seq/0")
        self.first_line = KaitaiStream.resolve_enum(AerospikeRecord.FirstLine, self._io.read_u1())
        if not isinstance(self.first_line, AerospikeRecord.FirstLine):
            raise kaitaistruct.ValidationNotInEnumError(self.first_line, self._io, u"/seq/1")
        self.sp_first_line = self._io.read_bytes(1)
        if not self.sp_first_line == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_first_line, self._io, u"/seq/2")
        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self.key = AerospikeRecord.Key(self._io, self, self._root)

        if self.first_line == AerospikeRecord.FirstLine.key:
            pass
            self.lead_namespace = self._io.read_bytes(4)
            if not self.lead_namespace == b"\x2B\x20\x6E\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x6E\x20", self.lead_namespace, self._io, u"/seq/4")

        self.namespace = escaped_token.EscapedToken(10, self._io)
        self.lead_digest = self._io.read_bytes(4)
        if not self.lead_digest == b"\x2B\x20\x64\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x64\x20", self.lead_digest, self._io, u"/seq/6")
        self.digest = self._io.read_bytes(28)
        self.lf_digest = self._io.read_bytes(1)
        if not self.lf_digest == b"\x0A":
            raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf_digest, self._io, u"/seq/8")
        self.lead_fourth_line = self._io.read_bytes(2)
        if not self.lead_fourth_line == b"\x2B\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20", self.lead_fourth_line, self._io, u"/seq/9")
        self.fourth_line = KaitaiStream.resolve_enum(AerospikeRecord.FourthLine, self._io.read_u1())
        if not isinstance(self.fourth_line, AerospikeRecord.FourthLine):
            raise kaitaistruct.ValidationNotInEnumError(self.fourth_line, self._io, u"/seq/10")
        self.sp_fourth_line = self._io.read_bytes(1)
        if not self.sp_fourth_line == b"\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_fourth_line, self._io, u"/seq/11")
        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self.set = escaped_token.EscapedToken(10, self._io)

        if self.fourth_line == AerospikeRecord.FourthLine.set:
            pass
            self.lead_generation = self._io.read_bytes(4)
            if not self.lead_generation == b"\x2B\x20\x67\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x67\x20", self.lead_generation, self._io, u"/seq/13")

        self.generation = decimal_line.DecimalLine(self._io)
        _ = self.generation
        if not  ((_.value >= 0) and (_.value <= 65535)) :
            raise kaitaistruct.ValidationExprError(self.generation, self._io, u"/seq/14")
        self.lead_expiration = self._io.read_bytes(4)
        if not self.lead_expiration == b"\x2B\x20\x74\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x74\x20", self.lead_expiration, self._io, u"/seq/15")
        self.expiration = decimal_line.DecimalLine(self._io)
        _ = self.expiration
        if not _.value >= 0:
            raise kaitaistruct.ValidationExprError(self.expiration, self._io, u"/seq/16")
        self.lead_num_bins = self._io.read_bytes(4)
        if not self.lead_num_bins == b"\x2B\x20\x62\x20":
            raise kaitaistruct.ValidationNotEqualError(b"\x2B\x20\x62\x20", self.lead_num_bins, self._io, u"/seq/17")
        self.num_bins = decimal_line.DecimalLine(self._io)
        _ = self.num_bins
        if not  ((_.value >= 0) and (_.value <= 65535)) :
            raise kaitaistruct.ValidationExprError(self.num_bins, self._io, u"/seq/18")
        self.bins = []
        for i in range(self.num_bins.value):
            self.bins.append(AerospikeRecord.Bin(self._io, self, self._root))



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


    class Bin(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeRecord.Bin, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.lead = self._io.read_bytes(2)
            if not self.lead == b"\x2D\x20":
                raise kaitaistruct.ValidationNotEqualError(b"\x2D\x20", self.lead, self._io, u"/types/bin/seq/0")
            self.type = KaitaiStream.resolve_enum(AerospikeRecord.BinType, self._io.read_u1())
            if not isinstance(self.type, AerospikeRecord.BinType):
                raise kaitaistruct.ValidationNotInEnumError(self.type, self._io, u"/types/bin/seq/1")
            self.after_type = self._io.read_u1()
            if not  ((self.after_type == 32) or (self.after_type == 33)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.after_type, self._io, u"/types/bin/seq/2")
            if self.after_type == 33:
                pass
                self.sp_type = self._io.read_bytes(1)
                if not self.sp_type == b"\x20":
                    raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_type, self._io, u"/types/bin/seq/3")

            self.name = escaped_token.EscapedToken((10 if self.type == AerospikeRecord.BinType.nil else 32), self._io)
            if self.type == AerospikeRecord.BinType.boolean:
                pass
                self.boolean = AerospikeRecord.Boolean(self._io, self, self._root)

            if self.type == AerospikeRecord.BinType.integer:
                pass
                self.integer = decimal_line.DecimalLine(self._io)

            if self.type == AerospikeRecord.BinType.double:
                pass
                self.double = self._io.read_bytes_term(10, False, True, True)

            if  ((self.type != AerospikeRecord.BinType.nil) and (self.type != AerospikeRecord.BinType.boolean) and (self.type != AerospikeRecord.BinType.integer) and (self.type != AerospikeRecord.BinType.double)) :
                pass
                self.sized = AerospikeRecord.Sized(self._io, self, self._root)



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


        @property
        def is_compact(self):
            """The bytes follow as they are, not in base-64."""
            if hasattr(self, '_m_is_compact'):
                return self._m_is_compact

            self._m_is_compact = self.after_type == 33
            return getattr(self, '_m_is_compact', None)

        @property
        def letter(self):
            """The type as it is written."""
            if hasattr(self, '_m_letter'):
                return self._m_letter

            self._m_letter = int(self.type)
            return getattr(self, '_m_letter', None)


    class Boolean(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeRecord.Boolean, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.letter = self._io.read_u1()
            if not  ((self.letter == 70) or (self.letter == 84)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.letter, self._io, u"/types/boolean/seq/0")
            self.lf = self._io.read_bytes(1)
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/types/boolean/seq/1")


        def _fetch_instances(self):
            pass

        @property
        def boolean(self):
            if hasattr(self, '_m_boolean'):
                return self._m_boolean

            self._m_boolean = self.letter == 84
            return getattr(self, '_m_boolean', None)


    class Key(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeRecord.Key, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.type = KaitaiStream.resolve_enum(AerospikeRecord.KeyType, self._io.read_u1())
            if not isinstance(self.type, AerospikeRecord.KeyType):
                raise kaitaistruct.ValidationNotInEnumError(self.type, self._io, u"/types/key/seq/0")
            self.after_type = self._io.read_u1()
            if not  ((self.after_type == 32) or (self.after_type == 33)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.after_type, self._io, u"/types/key/seq/1")
            if self.after_type == 33:
                pass
                self.sp_type = self._io.read_bytes(1)
                if not self.sp_type == b"\x20":
                    raise kaitaistruct.ValidationNotEqualError(b"\x20", self.sp_type, self._io, u"/types/key/seq/2")

            if self.type == AerospikeRecord.KeyType.integer:
                pass
                self.integer = decimal_line.DecimalLine(self._io)

            if self.type == AerospikeRecord.KeyType.double:
                pass
                self.double = self._io.read_bytes_term(10, False, True, True)

            if  ((self.type != AerospikeRecord.KeyType.integer) and (self.type != AerospikeRecord.KeyType.double)) :
                pass
                self.sized = AerospikeRecord.Sized(self._io, self, self._root)



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


        @property
        def is_compact(self):
            """The bytes follow as they are, not in base-64."""
            if hasattr(self, '_m_is_compact'):
                return self._m_is_compact

            self._m_is_compact = self.after_type == 33
            return getattr(self, '_m_is_compact', None)

        @property
        def letter(self):
            """The type as it is written."""
            if hasattr(self, '_m_letter'):
                return self._m_letter

            self._m_letter = int(self.type)
            return getattr(self, '_m_letter', None)


    class Sized(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(AerospikeRecord.Sized, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_data = decimal_word.DecimalWord(self._io)
            _ = self.len_data
            if not  ((_.value >= 0) and (_.value <= 4294967295)) :
                raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/types/sized/seq/0")
            self.data = self._io.read_bytes(self.len_data.value)
            self.lf = self._io.read_bytes(1)
            if not self.lf == b"\x0A":
                raise kaitaistruct.ValidationNotEqualError(b"\x0A", self.lf, self._io, u"/types/sized/seq/2")


        def _fetch_instances(self):
            pass
            self.len_data._fetch_instances()



