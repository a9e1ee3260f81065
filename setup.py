"""Find the packages: the root of the repository is the package `grucible` itself."""

from setuptools import find_namespace_packages, setup

ROOMS = ["cases", "gen", "vectors", "check"]
found = find_namespace_packages(include=[*ROOMS, *(f"{room}.*" for room in ROOMS)])
setup(
    packages=["grucible", *(f"grucible.{package}" for package in found)],
    package_dir={"grucible": "."},
    script_name="setup.py",  # no module of the package, then
)
