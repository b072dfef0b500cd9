"""Build of the native module; everything else about the package stands in pyproject.toml.

The module is optional: where there is no C compiler the install succeeds without it, and the
plain parsers serve the same rows. `THAWLINE_SANITIZE=1` builds it with bounds checks and the
address sanitizer, for `make sanitize`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import setuptools.command.build_ext
from setuptools import Extension, setup

SANITIZE = os.environ.get("THAWLINE_SANITIZE") == "1"
SANITIZER = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
SOURCES, KERNELS, BUILD = Path("src/thawline/native/sources"), Path("generated/kernels/scans.py"), Path("build/cython")
NEEDED = re.compile(r"from thawline\.native\.sources\.(\w+) import")


def modules() -> list[Path]:
    """What the module is made of, each source behind those whose names it uses, as an uncompiled one imports them."""
    found: dict[str, Path] = {}

    def add(path: Path) -> None:
        for name in NEEDED.findall(path.read_text(encoding="utf-8")):
            add(SOURCES / f"{name}.py")
        found[path.stem] = path

    for path in sorted(SOURCES.glob("[!_]*.py")):
        if path.stem not in found:
            add(path)
    return [*found.values(), KERNELS]


native = Extension(
    "thawline.native.fast",
    [str(SOURCES / "fast.pyx")],
    depends=[*map(str, modules()), *map(str, sorted(SOURCES.glob("*.h")))],
    include_dirs=[str(SOURCES)],
    extra_compile_args=["-O1", "-g", *SANITIZER] if SANITIZE else ["-O3", "-g0"],
    extra_link_args=SANITIZER if SANITIZE else [],
    optional=True,
)


class build_ext(setuptools.command.build_ext.build_ext):  # noqa: N801 - the name of the command
    """Cython at work only where the module is built: the sdist and the metadata do without."""

    def build_extension(self, ext: Extension) -> None:
        """Translate the module, which includes all sources, into C, and compile that."""
        from Cython.Build import cythonize  # noqa: PLC0415 - as above

        BUILD.mkdir(parents=True, exist_ok=True)
        (BUILD / "sources.pxi").write_text("".join(f'include "{path.name}"\n' for path in modules()), encoding="utf-8")
        (translated,) = cythonize(
            [ext],
            include_path=[str(SOURCES), str(KERNELS.parent), str(BUILD)],
            build_dir=str(BUILD),
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
