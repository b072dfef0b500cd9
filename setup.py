"""Build of the native module; everything else about the package is in pyproject.toml.

The module is optional: without a C compiler the install succeeds without it, and the plain parsers give the same rows.
`THAWLINE_SANITIZE=1` builds it with bounds checks and the address sanitizer, for `make sanitize`.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import setuptools.command.build_ext
from setuptools import Extension, setup

SANITIZE = os.environ.get("THAWLINE_SANITIZE") == "1"
SANITIZER = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
NATIVE, BUILD = Path("src/thawline/native"), Path("build/cython")
KERNELS, ENCODERS = Path("generated/kernels"), Path("generated/encoders")
SOURCES = NATIVE / "sources"
CONSTANTS = [*sorted((NATIVE / "constants").glob("[!_]*.py")), KERNELS / "constants.py"]
NEEDED = re.compile(r"from thawline\.native\.sources\.(\w+) import")


def modules() -> list[Path]:
    """What the module is made of, each source after those that it imports from when it runs uncompiled."""
    found: dict[str, Path] = {}

    def add(path: Path) -> None:
        for name in NEEDED.findall(path.read_text(encoding="utf-8")):
            add(SOURCES / f"{name}.py")
        found[path.stem] = path

    for path in sorted(SOURCES.glob("[!_]*.py")):
        if path.stem not in found:
            add(path)
    kernels = (KERNELS / f"{name}.py" for name in ("scans", "probes", "readers"))
    return [*found.values(), *kernels, ENCODERS / "encodings.py"]


def constants() -> str:
    """A C enum of all names of the modules of constants, so that a name costs no more than its number."""
    found: dict[str, int] = {}
    for path in CONSTANTS:
        values = {name: value for name, value in runpy.run_path(str(path)).items() if type(value) is int}
        if again := sorted(found.keys() & values.keys()):
            raise ValueError(f"{path}: another module of constants has {again[0]}, too")
        found |= values
    return "cdef enum:\n" + "".join(f"    {name} = {value}\n" for name, value in found.items())


native = Extension(
    "thawline.native.fast",
    [str(SOURCES / "fast.pyx")],
    depends=[str(path) for path in [*modules(), *CONSTANTS, *sorted(SOURCES.glob("*.h"))]],
    include_dirs=[str(SOURCES)],
    extra_compile_args=["-O1", "-g", *SANITIZER] if SANITIZE else ["-O3", "-g0"],
    extra_link_args=SANITIZER if SANITIZE else [],
    optional=True,
)


class build_ext(setuptools.command.build_ext.build_ext):  # noqa: N801 - the name of the command
    """A build that imports Cython only where the module is built: the sdist and the metadata need none."""

    def build_extension(self, ext: Extension) -> None:
        """Translate the module, which includes the constants and all sources, into C, and compile that."""
        from Cython.Build import cythonize  # noqa: PLC0415 - as above

        BUILD.mkdir(parents=True, exist_ok=True)
        (BUILD / "constants.pxi").write_text(constants(), encoding="utf-8")
        (BUILD / "sources.pxi").write_text("".join(f'include "{path.name}"\n' for path in modules()), encoding="utf-8")
        (translated,) = cythonize(
            [ext],
            include_path=[str(SOURCES), str(KERNELS), str(ENCODERS), str(BUILD)],
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
