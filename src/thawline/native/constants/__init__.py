"""Constants of native code that no spec states: characters, state slots and limits.

A module here holds nothing but `NAME = integer`. The build turns each name, and each integer of
`thawline.generated.kernels.constants`, into a C constant, so names are unique over all modules; the uncompiled sources
and other callers import them.
"""
