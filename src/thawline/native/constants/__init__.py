"""Constants of native code: characters, state slots, field positions and limits.

A module here, and `thawline.generated.kernels.constants`, holds nothing but `NAME = integer`. The build turns each name
into a C constant, so names are unique over all modules; the uncompiled sources and other callers import them.
"""
