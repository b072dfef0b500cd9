"""Encoders of specs that are not ours: what they write reads as the same columns, or the compiler refuses the spec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from engines import calling
from workshop import SAMPLES, Workshop, viewed

from thawline import native
from thawline.compiler.encoder_emission import HEADER, emit_encoder
from thawline.compiler.encoding import encoder_of
from thawline.compiler.subset import tables
from thawline.engine import encoding
from thawline.engine.chunks import Chunk
from thawline.ksy.documents import Spec, SpecError, TypeDef, load_specs
from thawline.native.plain.cython_names import executed

REFUSED = {
    "checked": "what a checksum covers may not depend on len_covered",
    "elsewhere": "an encoder has to know from a rule which fields these bytes are",
    "in_blocks": "an encoder has to know from a rule which fields these bytes are",
    "nested": "an encoder has to know this before it knows num_items",
    "parents": "_io.size of the whole file is not known inside a row",
    "plain_lists": "an encoder needs to know the fields of what is repeated",
}
"""Toys whose columns do not tell what was in the file, and why."""
HIDDEN = {"optional": {"flags": [3, 0, 0, 0]}}
"""What no table has and an encoder has to be given."""


def type_of(name: str, specs: dict[str, Spec]) -> TypeDef:
    return dict(tables(specs))[name]


@contextmanager
def made(name: str, specs: dict[str, Spec]) -> Iterator[None]:
    """The encoder of a toy, uncompiled, among those that `encode` finds."""
    encoder, source = emit_encoder(encoder_of(name, type_of(name, specs), specs))
    run: Any = viewed(executed(HEADER + source)[f"encode_{name}"])
    encoding.ENCODERS[name] = encoder
    try:
        with calling(SimpleNamespace(**vars(native.functions) | {f"encode_{name}": run})):
            yield
    finally:
        del encoding.ENCODERS[name]


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - REFUSED.keys()))
def test_what_an_encoder_writes_reads_as_the_columns_that_it_was_given(shop: Workshop, name: str) -> None:
    (given,) = (found for found in shop.chunks(name, SAMPLES[name]) if isinstance(found, Chunk))
    batch = given.batch
    for column, values in HIDDEN.get(name, {}).items():
        batch = batch.append_column(column, pa.array(values[: len(batch)], pa.int64()))
    with made(name, load_specs(shop.folder)):
        written = encoding.encode(name, batch).data.to_pybytes()
    (again,) = shop.chunks(name, written)
    assert isinstance(again, Chunk)
    assert again.batch.equals(given.batch)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_spec_without_an_inverse_is_refused_where_it_has_none(shop: Workshop, name: str) -> None:
    specs = load_specs(shop.folder)
    with pytest.raises(SpecError) as caught:
        encoder_of(name, type_of(name, specs), specs)
    assert REFUSED[name] in str(caught.value)
