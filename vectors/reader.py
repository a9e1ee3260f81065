"""Reading vector files, block by block, each block in slices of rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py

from ..cases.errors import VectorFileError
from ..cases.operators import OPERATORS
from ..cases.readings import READINGS
from ..cases.semantics import semantics
from ..cases.signature import Operator, Tensor
from .case import Arrays, Block, Case, attributes_from_json
from .digest import block_paths, content_digest
from .hdf5 import VECTORS, Stored, attribute, children, open_file, subgroup

CORE = Path(__file__).parent
SLICE_BYTES = 16 << 20
TIERS = ("required", "ambiguous", "nonportable", "invalid")


@dataclass(frozen=True)
class StoredBlock:
    """A block of an open vector file, checked; `read` gives its rows."""

    path: str
    operator: Operator
    dtype: str
    tier: str
    sizes: Mapping[str, int]
    ids: list[str]
    given: list[dict[str, Any]]
    inputs: Mapping[str, Stored]
    outputs: Mapping[str, Stored]
    readings: Mapping[str, Mapping[str, Stored]]

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, start: int, stop: int, *, inputs: bool = True) -> Block:
        """Rows start … stop; without `inputs`, where nobody looks at them, there are none."""

        def rows(stored: Mapping[str, Stored]) -> Arrays:
            return {name: data.read(start, stop) for name, data in stored.items()}

        return Block(
            self.path,
            self.operator.name,
            self.dtype,
            self.tier,
            self.ids[start:stop],
            self.given[start:stop],
            rows(self.inputs) if inputs else {},
            rows(self.outputs),
            {name: rows(outputs) for name, outputs in self.readings.items()},
        )

    def slices(self, *, inputs: bool = True) -> Iterator[Block]:
        """The block in slices of rows of some SLICE_BYTES."""
        row = sum(s.row_bytes for s in (*self.inputs.values(), *self.outputs.values()))
        step = max(1, SLICE_BYTES // max(1, row))
        return (
            self.read(start, start + step, inputs=inputs) for start in range(0, len(self), step)
        )


@dataclass(frozen=True)
class VectorFile:
    """An open vector file: `relative` is its path below the vectors asked for."""

    path: Path
    relative: str
    operator: str
    generator: str
    seed: int
    content_sha256: str
    file: Any
    datasets: dict[str, Stored] = field(default_factory=dict)

    def blocks(self) -> Iterator[StoredBlock]:
        """The blocks of the file, each checked against the operator's description."""
        paths = block_paths(self.file)
        if not paths:
            raise VectorFileError(f"{self.path}: holds no block of cases")
        seen: set[str] = set()
        for path in paths:
            block = _stored_block(self, path)
            if not seen.isdisjoint(block.ids):
                [twice, *_] = sorted(seen.intersection(block.ids))
                raise VectorFileError(
                    f"{self.path}: /{path}/id: {twice} is in another block already"
                )
            seen.update(block.ids)
            yield block

    def opened(self, group: Any, name: str, where: str) -> Stored:
        """The dataset `name` of `group`, opened and checked once."""
        key = f"{where}/{name}"
        if key not in self.datasets:
            self.datasets[key] = Stored(group, name, where)
        return self.datasets[key]

    def verify_content(self) -> None:
        """Raise VectorFileError unless the content is what `content_sha256` says."""
        if content_digest(self.file, self.opened) != self.content_sha256:
            raise VectorFileError(
                f"{self.path}: content does not match its content_sha256; generate the file again"
            )


@contextlib.contextmanager
def open_vectors(path: Path, relative: str = "") -> Iterator[VectorFile]:
    """The vector file at `path`, opened; VectorFileError if it is none."""
    with open_file(path, VECTORS) as file:
        operator = attribute(file, "operator")
        if operator not in OPERATORS:
            raise VectorFileError(
                f"{path}: operator is {operator!r}; expected one of {', '.join(OPERATORS)}"
            )
        seed = attribute(file, "seed")
        if not isinstance(seed, int) or seed < 0:
            raise VectorFileError(f"{path}: seed is {seed!r}; expected an integer, not negative")
        yield VectorFile(
            path,
            relative or path.name,
            operator,
            str(attribute(file, "generator")),
            seed,
            str(attribute(file, "content_sha256")),
            file,
        )


def find_vectors(path: Path | None) -> list[tuple[Path, str]]:
    """The vector files at `path`, a file or a directory, with their relative paths; None: the core.

    Raises VectorFileError where there is none.
    """
    root = CORE if path is None else path
    if not root.exists():
        raise VectorFileError(
            f"{root}: no such file or directory; make vectors with: grucible gen -o {root}"
        )
    if root.is_file():
        return [(root, root.name)]
    found = [(file, file.relative_to(root).as_posix()) for file in sorted(root.rglob("*.h5"))]
    if not found:
        raise VectorFileError(
            f"{root}: holds no vector file (*.h5); make some with: grucible gen -o {root}"
        )
    return found


def load_vectors(path: str | Path | None = None) -> Iterator[Case]:
    """The cases of a vector file or a directory of them; without a path, of the core vectors.

    Raises VectorFileError for anything that is not a vector file of this format version.
    """
    for file, relative in find_vectors(None if path is None else Path(path)):
        with open_vectors(file, relative) as vectors:
            for block in vectors.blocks():
                for rows in block.slices():
                    yield from rows.cases()


def case_ids(path: Path | None) -> Iterator[str]:
    """The ids of the cases of a vector file or a directory of them; None: of the core vectors."""
    for file, _ in find_vectors(path):
        with open_file(file, VECTORS) as opened:
            for block in block_paths(opened):
                ids = Stored(opened[block], "id", f"{file}: /{block}")
                yield from ids.texts(0, ids.shape[0])


def _stored_block(vectors: VectorFile, path: str) -> StoredBlock:
    operator = OPERATORS[vectors.operator]
    where = f"{vectors.path}: /{path}"
    dtype = path.partition("/")[0]
    if dtype not in operator.dtypes():
        raise VectorFileError(f"{where}: dtype is not one of {', '.join(operator.dtypes())}")
    group = vectors.file[path]
    tier = attribute(group, "tier")
    if tier not in TIERS:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected one of {', '.join(TIERS)}")
    named = next((t for t in TIERS if f"-{t}" in path), "required")  # the digest covers the path
    if tier != named:
        raise VectorFileError(
            f"{where}: tier is {tier!r}; expected {named!r} from the block's name"
        )
    if ("readings" in group) != (tier == "ambiguous"):
        raise VectorFileError(f"{where}: readings are there exactly where tier is ambiguous")
    sizes = {}
    for symbol in operator.sizes:
        sizes[symbol] = attribute(group, symbol)
        if not isinstance(sizes[symbol], int) or sizes[symbol] < 1:
            raise VectorFileError(
                f"{where}: {symbol} is {sizes[symbol]!r}; expected a positive integer"
            )
    id_data, attributes_data = (
        vectors.opened(group, "id", where),
        vectors.opened(group, "attributes", where),
    )
    ids = id_data.texts(0, id_data.shape[0])
    texts = attributes_data.texts(0, attributes_data.shape[0])
    if len(texts) != len(ids) or not ids or len(set(ids)) != len(ids):
        raise VectorFileError(f"{where}: id and attributes are not one row per case, each id once")
    parsed: dict[str, dict[str, Any]] = {}
    for text, case_id in zip(texts, ids, strict=True):
        if text not in parsed:
            parsed[text] = _given(text, case_id, operator, where)
    given = [parsed[text] for text in texts]
    first = operator.with_defaults(given[0])
    subgroup(group, "inputs", where)
    tensors = [
        t for t in (*operator.inputs, *operator.outputs) if t.required or t.name in group["inputs"]
    ]
    for one in parsed.values():
        attributes = operator.with_defaults(one)
        _check_agreement(operator, attributes, sizes, where)
        if any(t.form(attributes) is not t.form(first) for t in tensors):
            raise VectorFileError(f"{where}: the cases with attributes {one} need other shapes")

    def folder(parent: Any, name: str, below: str, wanted: tuple[Tensor, ...]) -> dict[str, Stored]:
        inside = subgroup(parent, name, below)
        names = list(inside)
        for found in names:
            if found not in [t.name for t in wanted]:
                raise VectorFileError(f"{below}/{name}/{found}: {operator.name} has no such tensor")
        stored = {}
        for tensor in wanted:
            if tensor.name in names or tensor.required:
                data = stored[tensor.name] = vectors.opened(inside, tensor.name, f"{below}/{name}")
                _check_tensor(data, tensor, operator, first, sizes, dtype, len(ids))
        return stored

    readings = {}
    if "readings" in group:
        inside = subgroup(group, "readings", where)
        for name in children(inside, h5py.Group, f"{where}/readings"):
            if name not in READINGS:
                raise VectorFileError(
                    f"{where}/readings/{name}: is not a reading this grucible knows"
                )
            below = f"{where}/readings/{name}"
            readings[name] = folder(inside[name], "outputs", below, operator.outputs)
    return StoredBlock(
        path,
        operator,
        dtype,
        tier,
        sizes,
        ids,
        given,
        folder(group, "inputs", where, operator.inputs),
        folder(group, "outputs", where, operator.outputs),
        readings,
    )


def _check_agreement(
    operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int], where: str
) -> None:
    """Raise VectorFileError unless the sizes are those that the attributes ask for."""
    symbols = {axis: symbol for symbol, axis in operator.sizes.items()}
    wanted = {"direction": len(semantics(operator, attributes).directions)}
    for attribute_ in operator.attributes:
        if attribute_.sets == "hidden":
            wanted["hidden"] = attributes[attribute_.name]
    for axis, length in wanted.items():
        symbol = symbols.get(axis)
        if symbol and sizes[symbol] != length:
            raise VectorFileError(
                f"{where}: {symbol} is {sizes[symbol]}; expected {length} from the attributes"
            )


def _given(text: str, case_id: str, operator: Operator, where: str) -> dict[str, Any]:
    try:
        return attributes_from_json(text, operator)
    except (ValueError, RecursionError) as error:
        raise VectorFileError(f"{where}: attributes of {case_id}: {error}") from None


def _check_tensor(
    data: Stored,
    tensor: Tensor,
    operator: Operator,
    attributes: Mapping[str, Any],
    sizes: Mapping[str, int],
    dtype: str,
    rows: int,
) -> None:
    shape = (rows, *operator.shape(tensor, attributes, sizes))
    allowed = operator.types[tensor.type]
    types = (dtype,) if allowed == operator.dtypes() else allowed
    if data.shape != shape or data.dtype not in types:
        raise VectorFileError(
            f"{data.where}: is {data.dtype} {data.shape}; expected {' or '.join(types)} {shape}"
        )
