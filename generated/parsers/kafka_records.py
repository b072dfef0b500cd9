# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.parsers import zigzag_varlong
from thawline.generated.parsers import zigzag_varint


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaRecords(KaitaiStruct):
    """The records of one batch, as many as its head counts. Offsets and timestamps
    are deltas to the batch's.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java
    """
    def __init__(self, num_records, _io, _parent=None, _root=None):
        super(KafkaRecords, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.num_records = num_records
        self._read()

    def _read(self):
        self.records = []
        for i in range(self.num_records):
            self.records.append(KafkaRecords.Record(self._io, self, self._root))

        self.end_of_records = self._io.read_bytes(0)
        _ = self.end_of_records
        if not self._io.is_eof():
            raise kaitaistruct.ValidationExprError(self.end_of_records, self._io, u"/seq/1")


    def _fetch_instances(self):
        pass
        for i in range(len(self.records)):
            pass
            self.records[i]._fetch_instances()


    class Body(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaRecords.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.attributes = self._io.read_s1()
            self.timestamp_delta = zigzag_varlong.ZigzagVarlong(self._io)
            self.offset_delta = zigzag_varint.ZigzagVarint(self._io)
            self.len_key = zigzag_varint.ZigzagVarint(self._io)
            _ = self.len_key
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_key, self._io, u"/types/body/seq/3")
            if self.len_key.value >= 0:
                pass
                self.key = self._io.read_bytes(self.len_key.value)

            self.len_value = zigzag_varint.ZigzagVarint(self._io)
            _ = self.len_value
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/body/seq/5")
            if self.len_value.value >= 0:
                pass
                self.value = self._io.read_bytes(self.len_value.value)

            self.num_headers = zigzag_varint.ZigzagVarint(self._io)
            _ = self.num_headers
            if not _.value >= 0:
                raise kaitaistruct.ValidationExprError(self.num_headers, self._io, u"/types/body/seq/7")
            self.headers = []
            for i in range(self.num_headers.value):
                self.headers.append(KafkaRecords.Header(self._io, self, self._root))

            self.end_of_record = self._io.read_bytes(0)
            _ = self.end_of_record
            if not self._io.is_eof():
                raise kaitaistruct.ValidationExprError(self.end_of_record, self._io, u"/types/body/seq/9")


        def _fetch_instances(self):
            pass
            self.timestamp_delta._fetch_instances()
            self.offset_delta._fetch_instances()
            self.len_key._fetch_instances()
            if self.len_key.value >= 0:
                pass

            self.len_value._fetch_instances()
            if self.len_value.value >= 0:
                pass

            self.num_headers._fetch_instances()
            for i in range(len(self.headers)):
                pass
                self.headers[i]._fetch_instances()



    class Header(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaRecords.Header, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_key = zigzag_varint.ZigzagVarint(self._io)
            _ = self.len_key
            if not _.value >= 0:
                raise kaitaistruct.ValidationExprError(self.len_key, self._io, u"/types/header/seq/0")
            self.key = self._io.read_bytes(self.len_key.value)
            self.len_value = zigzag_varint.ZigzagVarint(self._io)
            _ = self.len_value
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/header/seq/2")
            if self.len_value.value >= 0:
                pass
                self.value = self._io.read_bytes(self.len_value.value)



        def _fetch_instances(self):
            pass
            self.len_key._fetch_instances()
            self.len_value._fetch_instances()
            if self.len_value.value >= 0:
                pass



    class Record(KaitaiStruct):
        def __init__(self, _io, _parent=None, _root=None):
            super(KafkaRecords.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_record = zigzag_varint.ZigzagVarint(self._io)
            self._raw_body = self._io.read_bytes(self.len_record.value)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = KafkaRecords.Body(_io__raw_body, self, self._root)


        def _fetch_instances(self):
            pass
            self.len_record._fetch_instances()
            self.body._fetch_instances()



