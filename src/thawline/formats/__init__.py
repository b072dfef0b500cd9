"""The formats: `contract` defines what one offers, `registry` lists them, `recognition` describes unclaimed files."""

from __future__ import annotations

from thawline.formats.contract import Claim, Format, Kind
from thawline.formats.registry import FORMATS, declare, get, identify, identify_folder, resolve

__all__ = ["FORMATS", "Claim", "Format", "Kind", "declare", "get", "identify", "identify_folder", "resolve"]
