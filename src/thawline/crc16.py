"""CRCs of 16 bits, by the names of the catalogue of parametrised CRC algorithms, in lower case.

https://reveng.sourceforge.io/crc-catalogue/16.htm
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from functools import cache

CCITT = 0x1021
MASK = 0xFFFF


@dataclass(frozen=True, slots=True)
class Crc16:
    """A CRC of 16 bits."""

    polynomial: int
    first: int
    """What the register starts with."""
    is_reflected: bool
    last: int
    """What the register is combined with at the end."""

    def of(self, data: bytes | memoryview) -> int:
        """The checksum of some bytes."""
        if self.polynomial != CCITT:
            return self._by_table(data)
        if not self.is_reflected:
            return binascii.crc_hqx(data, self.first) ^ self.last
        mirrored = bytes(data).translate(_mirrored_bytes())
        return _mirrored(binascii.crc_hqx(mirrored, _mirrored(self.first))) ^ self.last

    def _by_table(self, data: bytes | memoryview) -> int:
        """The checksum of a polynomial that Python has no function for; all of those are reflected."""
        table, register = _table(self.polynomial), self.first
        for byte in data:
            register = register >> 8 ^ table[(register ^ byte) & 0xFF]
        return register ^ self.last


CRC16 = {
    "arc": Crc16(0x8005, first=0, is_reflected=True, last=0),
    "modbus": Crc16(0x8005, first=MASK, is_reflected=True, last=0),
    "usb": Crc16(0x8005, first=MASK, is_reflected=True, last=MASK),
    "xmodem": Crc16(CCITT, first=0, is_reflected=False, last=0),
    "ibm-3740": Crc16(CCITT, first=MASK, is_reflected=False, last=0),
    "genibus": Crc16(CCITT, first=MASK, is_reflected=False, last=MASK),
    "kermit": Crc16(CCITT, first=0, is_reflected=True, last=0),
    "ibm-sdlc": Crc16(CCITT, first=MASK, is_reflected=True, last=MASK),
}


def crc16(data: bytes | memoryview, name: str) -> int:
    """The checksum of some bytes by the CRC of this name.

    >>> [hex(crc16(b"123456789", name)) for name in ("arc", "modbus", "xmodem", "ibm-3740", "kermit")]
    ['0xbb3d', '0x4b37', '0x31c3', '0x29b1', '0x2189']
    """
    return CRC16[name].of(data)


def _mirrored(number: int) -> int:
    return int(f"{number:016b}"[::-1], 2)


@cache
def _mirrored_bytes() -> bytes:
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@cache
def _table(polynomial: int) -> tuple[int, ...]:
    """The registers that each byte gives, of a reflected CRC."""
    mirrored, table = _mirrored(polynomial), []
    for register in range(256):
        for _ in range(8):
            register = register >> 1 ^ (mirrored if register & 1 else 0)  # noqa: PLW2901 - shifted bit by bit
        table.append(register)
    return tuple(table)
