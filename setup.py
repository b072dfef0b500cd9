"""Build of the native module; everything else about the package stands in pyproject.toml.

The module is optional: where there is no C compiler the install succeeds without it, and the
plain parsers serve the same rows. `THAWLINE_SANITIZE=1` builds it with bounds checks and the
address sanitizer, for `make sanitize`.
"""

from __future__ import annotations

import os

import setuptools.command.build_ext
from setuptools import Extension, setup

SANITIZE = os.environ.get("THAWLINE_SANITIZE") == "1"
SANITIZER = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
INCLUDED = [
    "asb_scalars.py",
    "asb_msgpack.py",
    "asb_json.py",
    "asb_values.py",
    "asb_checks.py",
    "gather.py",
    "rbf_reverse.py",
    "kafka_units.py",
    "kafka_encode.py",
    "json_text.py",
    "rbak_headers.py",
    "rbak_rows.py",
    "bits.h",
    "bytes.h",
    "crc.h",
    "ripemd160.h",
    "faults.h",
]

native = Extension(
    "thawline._native",
    ["src/thawline/_native.pyx"],
    depends=["generated/kernels/scans.py", *(f"src/thawline/{name}" for name in INCLUDED)],
    include_dirs=["src/thawline"],
    extra_compile_args=["-O1", "-g", *SANITIZER] if SANITIZE else ["-O3", "-g0"],
    extra_link_args=SANITIZER if SANITIZE else [],
    optional=True,
)


class build_ext(setuptools.command.build_ext.build_ext):  # noqa: N801 - the name of the command
    """Cython at work only where the module is built: the sdist and the metadata do without."""

    def build_extension(self, ext: Extension) -> None:
        """Translate the module into C, and compile that."""
        from Cython.Build import cythonize  # noqa: PLC0415 - as above

        (translated,) = cythonize(
            [ext],
            include_path=["src/thawline", "generated/kernels"],
            build_dir="build/cython",
            compiler_directives={
                "boundscheck": SANITIZE,
                "wraparound": False,
                "initializedcheck": SANITIZE,
                "cdivision": False,
            },
        )
        ext.sources = translated.sources
        super().build_extension(ext)


setup(ext_modules=[native], cmdclass={"build_ext": build_ext})
