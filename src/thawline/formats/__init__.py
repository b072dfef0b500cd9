"""The formats: `contract` says what one offers, `registry` which there are, `recognition` what else files may be."""

from __future__ import annotations

from thawline.formats.contract import Claim, Format, Kind
from thawline.formats.registry import FORMATS, declare, get, identify, identify_folder, resolve

__all__ = ["FORMATS", "Claim", "Format", "Kind", "declare", "get", "identify", "identify_folder", "resolve"]
