"""Records as columns: the fields of a `BackupRecord`, and its JSON documents decoded into Arrow arrays.

"Wire columns" have the names and the meaning of the JSON: `schemas/rbak_record.document.yaml`.
"""

from __future__ import annotations

from functools import partial

from thawline.engine import decoding
from thawline.generated.kernels.constants import RBAK_PAYLOAD_RECORD_HEAD_SIZE
from thawline.generated.kernels.documents import DOCUMENTS

RECORD = DOCUMENTS["rbak_record"]
FIELDS = tuple(field.name for field in RECORD.fields)
PROPERTIES = tuple(field.name for field in RECORD.members("properties"))
FIRST_KEY = f'{{"{FIELDS[0]}":'.encode()
"""How rabbitmq-backup begins a record. Framing resynchronises at one of these after a length that fits."""
MOST_HEADERS = RECORD.most_pairs
HEAD: int = RBAK_PAYLOAD_RECORD_HEAD_SIZE
"""Bytes of the length before each document."""
WIRE = decoding.columns_of(RECORD)
decode = partial(decoding.decode, RECORD, HEAD)
"""The documents of a chunk as the wanted wire columns."""
