"""What can be done with a cold file: one verb, one module, each a short fold over its scan."""

from __future__ import annotations
