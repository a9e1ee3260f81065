"""Find the packages, and pack the vectors: the root of the repository is the package `grucible` itself."""

import importlib
import importlib.util
import sys
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

ROOMS = ["cases", "gen", "vectors", "check"]
found = find_namespace_packages(include=[*ROOMS, *(f"{room}.*" for room in ROOMS)])


class PackingBuild(build_py):
    """A build of the package with packed vectors, which would be three quarters of a wheel of 13 MB."""

    def run(self) -> None:
        """Copy the files, and pack the vectors; an editable installation has them as they are."""
        super().run()
        if self.editable_mode:
            return
        places = {"submodule_search_locations": ["."]}
        spec = importlib.util.spec_from_file_location("grucible", "__init__.py", **places)
        sys.modules["grucible"] = importlib.util.module_from_spec(spec)
        pack = importlib.import_module("grucible.vectors.packed").pack
        for path in Path(self.build_lib).rglob("*.h5"):
            pack(path)


setup(
    cmdclass={"build_py": PackingBuild},
    packages=["grucible", *(f"grucible.{package}" for package in found)],
    package_dir={"grucible": "."},
    script_name="setup.py",  # no module of the package, then
)
