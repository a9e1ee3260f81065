"""Reading an export: its questions, and the outputs that it expects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ...cases.dtypes import Arrays
from ...cases.operators.known import OPERATORS
from ...cases.pose import QuestionError, pose
from ...cases.question import Question
from ..block import attributes_from_json
from .manifest import MANIFEST, Entry, ExportError, Manifest, read_manifest
from .sums import read_sums
from .tensors import read


@dataclass(frozen=True)
class Export:
    """An export whose digests have been verified."""

    folder: Path
    manifest: Manifest
    root_sha256: str

    def question(self, entry: Entry) -> Question:
        """The question of a case; ExportError where its tensors or attributes make none."""
        inputs = self._arrays(entry, "inputs/")
        operator = OPERATORS[entry.operator]
        try:
            given = attributes_from_json(json.dumps(entry.attributes), operator)
            question = pose(operator, given, inputs, case_id=entry.id, outputs=list(entry.outputs))
        except (QuestionError, ValueError) as error:
            raise ExportError(f"{self.folder}: {entry.id}: {error}") from None
        if question.dtype != entry.dtype:
            raise ExportError(f"{self.folder}: {entry.id}: is {question.dtype}, not {entry.dtype}")
        return question

    def outputs(self, entry: Entry) -> Arrays:
        """The outputs that a case expects; nothing where the export holds questions alone."""
        return self._arrays(entry, "outputs/")

    def _arrays(self, entry: Entry, below: str) -> Arrays:
        wanted = {path: at for path, at in entry.tensors.items() if path.startswith(below)}
        found = read(self.folder, wanted)
        return {path.removeprefix(below): array for path, array in found.items()}


def open_export(folder: Path) -> Export:
    """The export in `folder`. Raises ExportError where it was changed, was not finished, is none of ours,
    or holds answers alone."""
    if not (folder / MANIFEST).exists():
        raise ExportError(
            f"{folder}: holds no {MANIFEST}, so it is no export of grucible; for others' cases see --from"
        )
    sums = read_sums(folder)
    sums.check([MANIFEST])
    manifest = read_manifest(folder)
    files = {place.file for entry in manifest.cases for place in entry.tensors.values()}
    sums.check(sorted(files))
    if manifest.contents == "answers":
        raise ExportError(f"{folder}: holds answers alone; import the questions they belong to")
    return Export(folder, manifest, sums.root_sha256)
