"""Check what a wheel and an sdist hold: python .ci/contents.py DIST, in a checkout."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOMS = ["cases", "gen", "vectors", "check", "__init__.py", "__main__.py", "py.typed"]
MOST_BYTES = 7_000_000
"""Maximum bytes of a wheel; one with packed vectors (vectors/packed.py) has 4.7 MB, another 13."""
NOT_IN_SDIST = (".ci/", ".git", ".pre-commit-config.yaml")


def tracked(*paths: str) -> set[str]:
    """List the files of the repository."""
    listed = subprocess.run(["git", "ls-files", *paths], capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


def main(dist: Path) -> None:
    """Compare the files of both archives with those of the repository."""
    [wheel], [sdist] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = [name.partition("/") for name in archive.namelist()]
    installed = {name for package, _, name in names if package == "grucible"}
    with tarfile.open(sdist) as archive:
        shipped = {one.name.partition("/")[2] for one in archive if one.isfile()}
    source = {name for name in tracked() if not name.startswith(NOT_IN_SDIST)}
    wrong = [
        *(f"the wheel lacks {name}" for name in tracked(*ROOMS) - installed),
        *(f"the wheel has {name}" for name in installed - tracked(*ROOMS)),
        *(f"the sdist lacks {name}" for name in source - shipped),
    ]
    if (size := wheel.stat().st_size) > MOST_BYTES:
        wrong.append(f"the wheel has {size:,} bytes; expected at most {MOST_BYTES:,}")
    print("\n".join(sorted(wrong)) or f"{wheel.name} and {sdist.name} hold what they must")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
