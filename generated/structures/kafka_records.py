# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import ReadWriteKaitaiStruct, KaitaiStream, BytesIO
from thawline.generated.structures import zigzag_varlong
from thawline.generated.structures import zigzag_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class KafkaRecords(ReadWriteKaitaiStruct):
    """The records of one batch, as many as its head counts. Offsets and timestamps
    are deltas to the batch's.
    
    .. seealso::
       Source - https://github.com/apache/kafka/blob/1eb7644/clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java
    """
    SEQ_FIELDS = ["records", "end_of_records"]
    def __init__(self, num_records, _io=None, _parent=None, _root=None):
        super(KafkaRecords, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.num_records = num_records
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['records']['start'] = self._io.pos()
        self._debug['records']['arr'] = []
        self.records = []
        for i in range(self.num_records):
            self._debug['records']['arr'].append({'start': self._io.pos()})
            _t_records = KafkaRecords.Record(self._io, self, self._root)
            try:
                _t_records._read()
            finally:
                self.records.append(_t_records)
            self._debug['records']['arr'][i]['end'] = self._io.pos()

        self._debug['records']['end'] = self._io.pos()
        self._debug['end_of_records']['start'] = self._io.pos()
        self.end_of_records = self._io.read_bytes(0)
        self._debug['end_of_records']['end'] = self._io.pos()
        _ = self.end_of_records
        if not self._io.is_eof():
            raise kaitaistruct.ValidationExprError(self.end_of_records, self._io, u"/seq/1")
        self._dirty = False


    def _fetch_instances(self):
        pass
        for i in range(len(self.records)):
            pass
            self.records[i]._fetch_instances()



    def _write__seq(self, io=None):
        super(KafkaRecords, self)._write__seq(io)
        for i in range(len(self.records)):
            pass
            self.records[i]._write__seq(self._io)

        self._io.write_bytes(self.end_of_records)


    def _check(self):
        if len(self.records) != self.num_records:
            raise kaitaistruct.ConsistencyError(u"records", self.num_records, len(self.records))
        for i in range(len(self.records)):
            pass
            if self.records[i]._root != self._root:
                raise kaitaistruct.ConsistencyError(u"records", self._root, self.records[i]._root)
            if self.records[i]._parent != self:
                raise kaitaistruct.ConsistencyError(u"records", self, self.records[i]._parent)

        if len(self.end_of_records) != 0:
            raise kaitaistruct.ConsistencyError(u"end_of_records", 0, len(self.end_of_records))
        self._dirty = False

    class Body(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["attributes", "timestamp_delta", "offset_delta", "len_key", "key", "len_value", "value", "num_headers", "headers", "end_of_record"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaRecords.Body, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['attributes']['start'] = self._io.pos()
            self.attributes = self._io.read_s1()
            self._debug['attributes']['end'] = self._io.pos()
            self._debug['timestamp_delta']['start'] = self._io.pos()
            self.timestamp_delta = zigzag_varlong.ZigzagVarlong(self._io)
            self.timestamp_delta._read()
            self._debug['timestamp_delta']['end'] = self._io.pos()
            self._debug['offset_delta']['start'] = self._io.pos()
            self.offset_delta = zigzag_varint.ZigzagVarint(self._io)
            self.offset_delta._read()
            self._debug['offset_delta']['end'] = self._io.pos()
            self._debug['len_key']['start'] = self._io.pos()
            self.len_key = zigzag_varint.ZigzagVarint(self._io)
            self.len_key._read()
            self._debug['len_key']['end'] = self._io.pos()
            _ = self.len_key
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_key, self._io, u"/types/body/seq/3")
            if self.len_key.value >= 0:
                pass
                self._debug['key']['start'] = self._io.pos()
                self.key = self._io.read_bytes(self.len_key.value)
                self._debug['key']['end'] = self._io.pos()

            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = zigzag_varint.ZigzagVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()
            _ = self.len_value
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/body/seq/5")
            if self.len_value.value >= 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = self._io.read_bytes(self.len_value.value)
                self._debug['value']['end'] = self._io.pos()

            self._debug['num_headers']['start'] = self._io.pos()
            self.num_headers = zigzag_varint.ZigzagVarint(self._io)
            self.num_headers._read()
            self._debug['num_headers']['end'] = self._io.pos()
            _ = self.num_headers
            if not _.value >= 0:
                raise kaitaistruct.ValidationExprError(self.num_headers, self._io, u"/types/body/seq/7")
            self._debug['headers']['start'] = self._io.pos()
            self._debug['headers']['arr'] = []
            self.headers = []
            for i in range(self.num_headers.value):
                self._debug['headers']['arr'].append({'start': self._io.pos()})
                _t_headers = KafkaRecords.Header(self._io, self, self._root)
                try:
                    _t_headers._read()
                finally:
                    self.headers.append(_t_headers)
                self._debug['headers']['arr'][i]['end'] = self._io.pos()

            self._debug['headers']['end'] = self._io.pos()
            self._debug['end_of_record']['start'] = self._io.pos()
            self.end_of_record = self._io.read_bytes(0)
            self._debug['end_of_record']['end'] = self._io.pos()
            _ = self.end_of_record
            if not self._io.is_eof():
                raise kaitaistruct.ValidationExprError(self.end_of_record, self._io, u"/types/body/seq/9")
            self._dirty = False


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



        def _write__seq(self, io=None):
            super(KafkaRecords.Body, self)._write__seq(io)
            self._io.write_s1(self.attributes)
            self.timestamp_delta._write__seq(self._io)
            self.offset_delta._write__seq(self._io)
            self.len_key._write__seq(self._io)
            if self.len_key.value >= 0:
                pass
                self._io.write_bytes(self.key)

            self.len_value._write__seq(self._io)
            if self.len_value.value >= 0:
                pass
                self._io.write_bytes(self.value)

            self.num_headers._write__seq(self._io)
            for i in range(len(self.headers)):
                pass
                self.headers[i]._write__seq(self._io)

            self._io.write_bytes(self.end_of_record)


        def _check(self):
            _ = self.len_key
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_key, None, u"/types/body/seq/3")
            if self.len_key.value >= 0:
                pass
                if len(self.key) != self.len_key.value:
                    raise kaitaistruct.ConsistencyError(u"key", self.len_key.value, len(self.key))

            _ = self.len_value
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_value, None, u"/types/body/seq/5")
            if self.len_value.value >= 0:
                pass
                if len(self.value) != self.len_value.value:
                    raise kaitaistruct.ConsistencyError(u"value", self.len_value.value, len(self.value))

            _ = self.num_headers
            if not _.value >= 0:
                raise kaitaistruct.ValidationExprError(self.num_headers, None, u"/types/body/seq/7")
            if len(self.headers) != self.num_headers.value:
                raise kaitaistruct.ConsistencyError(u"headers", self.num_headers.value, len(self.headers))
            for i in range(len(self.headers)):
                pass
                if self.headers[i]._root != self._root:
                    raise kaitaistruct.ConsistencyError(u"headers", self._root, self.headers[i]._root)
                if self.headers[i]._parent != self:
                    raise kaitaistruct.ConsistencyError(u"headers", self, self.headers[i]._parent)

            if len(self.end_of_record) != 0:
                raise kaitaistruct.ConsistencyError(u"end_of_record", 0, len(self.end_of_record))
            self._dirty = False


    class Header(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_key", "key", "len_value", "value"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaRecords.Header, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_key']['start'] = self._io.pos()
            self.len_key = zigzag_varint.ZigzagVarint(self._io)
            self.len_key._read()
            self._debug['len_key']['end'] = self._io.pos()
            _ = self.len_key
            if not _.value >= 0:
                raise kaitaistruct.ValidationExprError(self.len_key, self._io, u"/types/header/seq/0")
            self._debug['key']['start'] = self._io.pos()
            self.key = self._io.read_bytes(self.len_key.value)
            self._debug['key']['end'] = self._io.pos()
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = zigzag_varint.ZigzagVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()
            _ = self.len_value
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/header/seq/2")
            if self.len_value.value >= 0:
                pass
                self._debug['value']['start'] = self._io.pos()
                self.value = self._io.read_bytes(self.len_value.value)
                self._debug['value']['end'] = self._io.pos()

            self._dirty = False


        def _fetch_instances(self):
            pass
            self.len_key._fetch_instances()
            self.len_value._fetch_instances()
            if self.len_value.value >= 0:
                pass



        def _write__seq(self, io=None):
            super(KafkaRecords.Header, self)._write__seq(io)
            self.len_key._write__seq(self._io)
            self._io.write_bytes(self.key)
            self.len_value._write__seq(self._io)
            if self.len_value.value >= 0:
                pass
                self._io.write_bytes(self.value)



        def _check(self):
            _ = self.len_key
            if not _.value >= 0:
                raise kaitaistruct.ValidationExprError(self.len_key, None, u"/types/header/seq/0")
            if len(self.key) != self.len_key.value:
                raise kaitaistruct.ConsistencyError(u"key", self.len_key.value, len(self.key))
            _ = self.len_value
            if not _.value >= -1:
                raise kaitaistruct.ValidationExprError(self.len_value, None, u"/types/header/seq/2")
            if self.len_value.value >= 0:
                pass
                if len(self.value) != self.len_value.value:
                    raise kaitaistruct.ConsistencyError(u"value", self.len_value.value, len(self.value))

            self._dirty = False


    class Record(ReadWriteKaitaiStruct):
        SEQ_FIELDS = ["len_record", "body"]
        def __init__(self, _io=None, _parent=None, _root=None):
            super(KafkaRecords.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_record']['start'] = self._io.pos()
            self.len_record = zigzag_varint.ZigzagVarint(self._io)
            self.len_record._read()
            self._debug['len_record']['end'] = self._io.pos()
            self._debug['body']['start'] = self._io.pos()
            self._raw_body = self._io.read_bytes(self.len_record.value)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = KafkaRecords.Body(_io__raw_body, self, self._root)
            self.body._read()
            self._debug['body']['end'] = self._io.pos()
            self._dirty = False


        def _fetch_instances(self):
            pass
            self.len_record._fetch_instances()
            self.body._fetch_instances()


        def _write__seq(self, io=None):
            super(KafkaRecords.Record, self)._write__seq(io)
            self.len_record._write__seq(self._io)
            _io__raw_body = KaitaiStream(BytesIO(bytearray(self.len_record.value)))
            self._io.add_child_stream(_io__raw_body)
            _pos2 = self._io.pos()
            self._io.seek(self._io.pos() + (self.len_record.value))
            def handler(parent, _io__raw_body=_io__raw_body):
                self._raw_body = _io__raw_body.to_byte_array()
                if len(self._raw_body) != self.len_record.value:
                    raise kaitaistruct.ConsistencyError(u"raw(body)", self.len_record.value, len(self._raw_body))
                parent.write_bytes(self._raw_body)
            _io__raw_body.write_back_handler = KaitaiStream.WriteBackHandler(_pos2, handler)
            self.body._write__seq(_io__raw_body)


        def _check(self):
            if self.body._root != self._root:
                raise kaitaistruct.ConsistencyError(u"body", self._root, self.body._root)
            if self.body._parent != self:
                raise kaitaistruct.ConsistencyError(u"body", self, self.body._parent)
            self._dirty = False



