"""The specs and the users' pages, as files of the installed package."""

from __future__ import annotations
