"""What the project is built, sampled, damaged and measured with; not part of the package."""

from __future__ import annotations
