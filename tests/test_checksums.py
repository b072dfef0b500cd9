from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from thawline import checksums

DIGITS = b"123456789"


def test_crcs_have_the_check_values_of_the_catalogue() -> None:
    assert checksums.crc32(DIGITS) == 0xCBF43926
    assert checksums.crc32c(DIGITS) == 0xE3069283
    assert checksums.crc32(b"") == checksums.crc32c(b"") == 0


def test_crc32c_of_32_zeros_and_ones_is_that_of_rfc_3720() -> None:
    assert checksums.crc32c(bytes(32)) == 0x8A9136AA
    assert checksums.crc32c(b"\xff" * 32) == 0x62A8AB43


def test_digests_of_nothing_and_of_abc_are_the_published_ones() -> None:
    assert checksums.sha256(b"").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert checksums.sha256(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert checksums.blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert checksums.blake3(b"abc").hex() == "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"


@pytest.mark.parametrize("name", checksums.__all__)
def test_a_range_is_what_the_slice_is(name: str, tmp_path: Path) -> None:
    checksum = getattr(checksums, name)
    file = tmp_path / "cold"
    file.write_bytes(b"<<" + DIGITS + b">>")
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert checksum(mapped, 2, 11) == checksum(DIGITS)
        assert checksum(mapped, 2) == checksum(DIGITS + b">>")
        assert checksum(mapped, end=11) == checksum(b"<<" + DIGITS)
        assert checksum(mapped, 13) == checksum(b"")
        assert checksum(bytearray(DIGITS)) == checksum(memoryview(DIGITS)) == checksum(DIGITS)


@pytest.mark.parametrize("name", checksums.__all__)
@pytest.mark.parametrize(("start", "end"), [(0, 10), (10, None), (-1, None), (5, 4), (0, -1)])
def test_a_range_outside_the_buffer_is_refused_not_clipped(name: str, start: int, end: int | None) -> None:
    with pytest.raises(ValueError, match="do not lie in a buffer of 9 bytes"):
        getattr(checksums, name)(DIGITS, start, end)


@pytest.mark.parametrize("name", ["crc32", "crc32c"])
def test_a_crc_goes_on_over_several_buffers(name: str) -> None:
    crc = getattr(checksums, name)
    for cut in range(len(DIGITS) + 1):
        assert crc(DIGITS, cut, value=crc(DIGITS, 0, cut)) == crc(DIGITS)
