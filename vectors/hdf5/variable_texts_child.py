"""Print, as JSON, the scalar texts of variable length among the attributes of an HDF5 file, by object.

A program of its own, not a module: HDF5 may crash over them. It may take two seconds of CPU time.
"""

import json
import resource
import sys

sys.path[:] = json.loads(sys.argv[2])  # the modules of its parent are within reach

import h5py  # noqa: E402

BYTES, SECONDS, TEXT, ALL, TOO_LONG = 1 << 30, 2, 1 << 12, 1 << 20, 3


def texts_of(node: h5py.HLObject) -> dict[str, str]:
    """The texts among the attributes of an object."""
    found = {}
    for name in node.attrs:
        if h5py.check_string_dtype(node.attrs.get_id(name).dtype):
            value = node.attrs[name]
            if isinstance(value, str):
                found[name] = value[:TEXT]
    return found


def main() -> None:
    """Read the file that is named."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + SECONDS, int(used) + SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: dict[str, dict[str, str]] = {}
    length = 0
    with h5py.File(sys.argv[1], "r") as file:

        def visit(name: str, node: h5py.HLObject) -> None:
            nonlocal length
            whole = isinstance(node, (h5py.File, h5py.Dataset))
            if whole and (texts := texts_of(node)):
                found[f"/{name}"] = texts
                length += len(name) + sum(map(len, texts.values()))
                if length > ALL:
                    sys.exit(TOO_LONG)

        visit("", file)
        file.visititems(visit)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
