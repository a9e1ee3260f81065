"""Imports of small files that were made to do harm: each is refused in one line, soon and in little memory."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from grucible.check.importing.foreign import ForeignCase, each_once
from grucible.check.importing.webnn_tests import suite_of_webnn
from grucible.vectors.exchange import sums
from grucible.vectors.exchange.export import export_vectors
from grucible.vectors.exchange.manifest import ExportError, Place
from grucible.vectors.exchange.npz_arrays import read_npz
from grucible.vectors.exchange.sums import read_sums
from grucible.vectors.exchange.tensors import read

from .conftest import Command
from .suites import OF_CELL, forged


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., Path]:
    """A folder whose list of digests names some files, with the digest of the text "outside"."""

    def make(*names: str) -> Path:
        folder = tmp_path / "export"
        folder.mkdir()
        digest = hashlib.sha256(b"outside").hexdigest()
        (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name in names))
        return folder

    return make


def test_no_symlink_leads_out_of_an_export(export: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/x.bin").write_text("outside")
    folder = export("px/x.bin", "y.bin")
    (folder / "px").symlink_to(tmp_path / "there")
    (folder / "y.bin").symlink_to(tmp_path / "there/x.bin")
    for name in ("px/x.bin", "y.bin"):
        with pytest.raises(ExportError, match=f"names no file '{name}'"):
            read_sums(folder).check([name])
    (folder / "SHA256SUMS").rename(tmp_path / "there/sums")
    (folder / "SHA256SUMS").symlink_to(tmp_path / "there/sums")
    with pytest.raises(ExportError, match="is no list of digests"):
        read_sums(folder)


def test_the_bytes_that_are_read_count(
    export: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some files say that they are empty, and never end."""
    folder = export("zeros")
    (folder / "zeros").touch()
    real = Path.open

    def endless(path: Path, *given: Any, **named: Any) -> Any:
        return real(Path("/dev/zero") if path.name == "zeros" else path, *given, **named)

    monkeypatch.setattr(Path, "open", endless)
    monkeypatch.setattr(sums, "MOST_EXPORT_BYTES", 3 << 20)
    with pytest.raises(ExportError, match="with it the export has more than"):
        read_sums(folder).check(["zeros"])


@contextlib.contextmanager
def at_most(mebibytes: int) -> Iterator[None]:
    """What runs inside has no more memory at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < mebibytes << 20
    finally:
        tracemalloc.stop()


def tensor(*shape: int) -> dict[str, Any]:
    return {"data": 0.5, "descriptor": {"shape": shape, "dataType": "float32"}}


def webnn(
    path: Path, inputs: dict[str, Any], hidden: int, name: str = "gru", tests: int = 1
) -> Path:
    """Tests whose operator takes x, w and r of some inputs."""
    arguments = [{"input": "x"}, {"weight": "w"}, {"recurrentWeight": "r"}, {"hiddenSize": hidden}]
    more = {"steps": 1} if name == "gru" else {"hiddenState": "h"}
    call = {"name": name, "arguments": [*arguments, more], "outputs": ["o"]}
    graph = {"inputs": inputs, "operators": [call], "expectedOutputs": {}}
    path.write_text(json.dumps([{"name": "t", "graph": graph}] * tests))
    return path


SMALL = {"x": tensor(1, 1, 3), "w": tensor(1, 12, 3), "r": tensor(1, 12, 4)}


def test_webnn_tensors_that_no_operator_takes_are_not_made(tmp_path: Path) -> None:
    unused = {f"a{i}": tensor(1 << 22) for i in range(8)}
    with at_most(16):
        suite = suite_of_webnn(webnn(tmp_path / "t.json", SMALL | unused, 4))
    assert len(suite.cases) == 1
    large = {"x": tensor(1 << 22), "w": tensor(1 << 22), "r": tensor(1 << 22)}
    with at_most(16):
        suite = suite_of_webnn(webnn(tmp_path / "t.json", large, 4))
    assert [*suite.left_out] == [
        "holds what no GRU takes: tensors of 12582912 numbers; expected at most 4194304"
    ]


def test_webnn_tensors_are_not_kept(tmp_path: Path) -> None:
    inputs = {"x": tensor(1, 1, 2000), "w": tensor(1, 1536, 2000), "r": tensor(1, 1536, 512)}
    file = webnn(tmp_path / "t.json", inputs, 512, tests=6)
    with at_most(64):
        cases = suite_of_webnn(file).cases
        assert [case.question().inputs["W"].shape for case in cases] == [(1, 1536, 2000)] * 6
    assert cases[0].question().id == cases[0].id == "onnx.GRU-14/t/float32/t"


def test_webnn_tensors_that_no_operator_takes_are_not_kept(tmp_path: Path) -> None:
    unused = {
        "data": [0.5 + number for number in range(100_000)],
        "descriptor": tensor(100_000)["descriptor"],
    }
    for number in range(8):
        webnn(tmp_path / f"{number}.json", SMALL | {"unused": unused}, 4)
    tracemalloc.start()
    try:
        suite = suite_of_webnn(tmp_path)
        assert len(suite.cases) == 8
        assert tracemalloc.get_traced_memory()[0] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("most", [4000, 4500])
def test_cases_that_are_too_large_together_are_refused(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """By their inputs, 4,176 bytes, before one is answered; or by all that is to be written."""
    file = webnn(tmp_path / "t.json", SMALL, 4, tests=12)
    from grucible.gen import posed

    monkeypatch.setattr(posed, "MOST_BYTES", most)
    if most < 4176:
        monkeypatch.setattr(posed, "_answered", None)
    words = ["import", file, "--from", "webnn", "-o", tmp_path / "v.h5"]
    said = command(*words).said_in_one_line()
    assert f"{tmp_path / 'v.h5'}: would hold more than 0 MiB; import the cases in parts, " in said
    assert not (tmp_path / "v.h5").exists()
    monkeypatch.undo()
    assert command(*words).status == 0


@pytest.mark.parametrize(("name", "inputs", "says"), [
    ("gru", SMALL | {"w": tensor(3)}, "weight of 1 axes; expected 2 or more"),
    ("gruCell", dict.fromkeys("xwrh", tensor()), "weight of 0 axes; expected 1 or more"),
])  # fmt: skip
def test_webnn_weights_of_too_few_axes(
    name: str, inputs: dict[str, Any], says: str, tmp_path: Path
) -> None:
    suite = suite_of_webnn(webnn(tmp_path / "t.json", inputs, 4, name))
    assert [*suite.left_out] == [f"holds what no GRU takes: {says}"]


@pytest.mark.parametrize("header", [
    "{'descr': (",
    "{'descr': (), 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '( ,)f4', 'fortran_order': False, 'shape': (1,)}",
    "{\n  1\n 2\n",
])  # fmt: skip
def test_headers_that_are_no_python(header: str, tmp_path: Path) -> None:
    text = header.encode().ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr(
            "X.npy", b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(4)
        )
    cannot_be_read(tmp_path)


def test_a_damaged_array_in_lzma(tmp_path: Path) -> None:
    with io.BytesIO() as buffer:
        np.save(buffer, np.arange(99.0))
        with zipfile.ZipFile(tmp_path / "bad.npz", "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("X.npy", buffer.getvalue())
    raw = bytearray((tmp_path / "bad.npz").read_bytes())
    raw[raw.index(b"X.npy") + len("X.npy") + 4] = 0xFF  # the properties of the stream
    (tmp_path / "bad.npz").write_bytes(raw)
    cannot_be_read(tmp_path)


def cannot_be_read(folder: Path, why: str = ".+") -> None:
    """Neither as somebody's bad.npz, nor as a part of an export."""
    with pytest.raises(ExportError, match=rf"bad.npz: is no .npz file that can be read \({why}\)"):
        read_npz(folder / "bad.npz")
    place = Place(dtype="float64", shape=[99], file="bad.npz")
    with pytest.raises(ExportError, match=rf"bad.npz: X cannot be read \({why}\)"):
        read(folder, {"X": place})


ONNX = "onnx.GRU-14/core/float32/nodir-noact-nohidden_size"


def test_onnx_initializers_are_not_kept_for_each_data_set(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from grucible.check.importing.onnx_tests import suite_of_onnx

    weights = {"W": (1, 1536, 1000), "R": (1, 1536, 512)}
    floats = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("GRU", ["X", *weights], ["", "Y_h"], hidden_size=512)],
        "g",
        [onnx.helper.make_tensor_value_info("X", floats, [1, 1, 1000])],
        [onnx.helper.make_tensor_value_info("Y_h", floats, [1, 1, 512])],
        [onnx.numpy_helper.from_array(np.ones(s, "f4"), n) for n, s in weights.items()],
    )
    opset = [onnx.helper.make_opsetid("", 14)]
    (tmp_path / "model.onnx").write_bytes(
        onnx.helper.make_model(graph, opset_imports=opset).SerializeToString()
    )
    x = onnx.numpy_helper.from_array(np.ones((1, 1, 1000), "f4")).SerializeToString()
    for number in range(8):
        (tmp_path / f"test_data_set_{number}").mkdir()
        (tmp_path / f"test_data_set_{number}/input_0.pb").write_bytes(x)
    with at_most(64):
        cases = suite_of_onnx(tmp_path).cases
        assert [case.question().inputs["R"].shape for case in cases] == [weights["R"]] * 8
    assert cases[3].question().id == cases[3].id


@pytest.mark.parametrize(("dims", "numbers", "says"), [
    ([3, 5, 4], 4_000_000, "says [3, 5, 4], and holds something else"),
    ([5_000_000], 5_000_000, "has tensors of more than 4194304 numbers"),
])  # fmt: skip
def test_an_onnx_tensor_that_lies(dims: list[int], numbers: int, says: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from grucible.check.importing.onnx_tests import suite_of_onnx

    export_vectors(None, tmp_path / "x", "onnx", select=[ONNX])
    [path] = (tmp_path / "x").rglob("input_0.pb")
    packed, length = b"\x2a", numbers  # int32_data, each of one byte
    while length > 127:
        packed, length = packed + bytes([length & 127 | 128]), length >> 7
    head = onnx.TensorProto(data_type=onnx.TensorProto.FLOAT16, dims=dims).SerializeToString()
    path.write_bytes(head + packed + bytes([length]) + b"\1" * numbers)
    with at_most(40):
        [why] = suite_of_onnx(tmp_path / "x").left_out
    assert says in why


def test_an_onnx_attribute_stands_once(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from grucible.check.importing.onnx_tests import suite_of_onnx

    export_vectors(None, tmp_path / "x", "onnx", select=[ONNX])
    [path] = (tmp_path / "x").rglob("model.onnx")
    model = onnx.load_model_from_string(path.read_bytes())
    for clip in (1.0, 2.0):
        model.graph.node[0].attribute.append(onnx.helper.make_attribute("clip", clip))
    path.write_bytes(model.SerializeToString())
    assert [*suite_of_onnx(tmp_path / "x").left_out] == ["gives the attribute 'clip' twice"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="has no file that cannot be read")
def test_what_cannot_be_read_is_named(tmp_path: Path, command: Command) -> None:
    np.savez(tmp_path / "a.npz", X=np.zeros(1))
    (tmp_path / "a.json").symlink_to("/proc/self/mem")
    for source in ("npz", "webnn"):
        asked = ["import", "--from", source, tmp_path, "-o", tmp_path / "v.h5"]
        assert f"{tmp_path / 'a.json'}: cannot be read (" in command(*asked).said_in_one_line()


def test_many_reasons_are_told_in_few_lines(tmp_path: Path, command: Command) -> None:
    [test] = json.loads(webnn(tmp_path / "t.json", SMALL, 4).read_text())
    tests = [test, *({**test, "graph": test["graph"] | {"operators": []}} for _ in range(3))]
    for number in range(30):
        wrong = json.loads(json.dumps(test))
        wrong["graph"]["operators"][0]["arguments"][3]["hiddenSize"] = f"h{number}"
        tests.append(wrong)
    (tmp_path / "t.json").write_text(json.dumps(tests))
    ended = command("import", "--from", "webnn", tmp_path / "t.json", "-o", tmp_path / "v.h5")
    said = [line for line in ended.out.splitlines() if "left out" in line]
    assert (ended.status, len(said)) == (0, 21)
    assert said[0] == "left out: 3: is not one gru or gruCell"
    assert said[20] == "left out: 11 more, for 11 other reasons"


@pytest.mark.parametrize("name", ["v.h5", "v.outputs.h5", "v", "v-outputs"])
def test_the_place_is_looked_at_before_all_else(
    name: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / name).write_text("my thesis")
    out = tmp_path / ("v.h5" if name.endswith(".h5") else "v")
    (tmp_path / "nothing").mkdir()
    said = command("import", tmp_path / "nothing", "-o", out).said_in_one_line()
    assert f"{tmp_path / name}: is " in said
    assert "name another place" in said
    assert (tmp_path / name).read_text() == "my thesis"


def test_a_file_of_very_many_tests(tmp_path: Path, command: Command) -> None:
    (tmp_path / "t.json").write_text(json.dumps([[]] * 10_001))
    said = command("import", tmp_path / "t.json", "--from", "webnn", "-o", tmp_path / "v.h5")
    assert "t.json: has 10,001 tests; expected at most 10,000" in said.said_in_one_line()


def test_only_files_that_are_needed_are_digested(tmp_path: Path, command: Command) -> None:
    """Each once, and no more than an export can have."""
    folder = forged(tmp_path / "x", lambda _: None, "0" * 64 + "  huge\n")
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert command("import", folder, "-o", tmp_path / "v.h5").status == 0
    [binary] = folder.rglob("*.bin")
    os.truncate(binary, 5 << 30)
    said = command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()
    assert "with it the export has more than 4 GiB" in said


@pytest.mark.parametrize(("item", "count", "says"), [
    ("{}", 400_000, "cases.0.id: Field required"),
    ("{}", 4_100_000, "has more parts than any export"),
    ("1", 8_100_000, "has more parts than any export"),
    ("1", 100_000, "cases.0: Input should be"),
])  # fmt: skip
def test_a_manifest_of_very_many(
    item: str, count: int, says: str, tmp_path: Path, command: Command
) -> None:
    def many(manifest: Any) -> None:
        manifest["cases"] = [json.loads(item)] * count

    folder = forged(tmp_path / "x", many)
    assert says in command("import", folder, "-o", tmp_path / "v.h5").said_in_one_line()


def test_archives_that_grow_too_much(tmp_path: Path, command: Command) -> None:
    np.savez_compressed(tmp_path / "a.npz", W=np.zeros((12, 500_000), ">f4"))
    options = ["--operator", "openvino.GRUCell-3", "--attributes", '{"hidden_size":4}']
    said = command("answer", tmp_path / "a.npz", *options).said_in_one_line()
    assert "has an array that is compressed too well" in said


def test_json_of_very_many(tmp_path: Path, command: Command) -> None:
    (tmp_path / "w.json").write_text("[" + "[]," * 8_100_000 + "[]]")
    arguments = ["import", tmp_path / "w.json", "--from", "webnn", "-o", tmp_path / "v.h5"]
    assert "has more parts than any export or test" in command(*arguments).said_in_one_line()


def sparse_contents(path: Path) -> None:
    """A sparse archive whose table of contents says that it has 64 MiB."""
    size, start = 64 << 20, 4
    with path.open("wb") as file:
        file.write(b"PK\3\4")
        at = file.seek(start + size)
        file.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, start))
        file.write(struct.pack("<4sLQL", b"PK\6\7", 0, at, 1))
        most = [2**16 - 1] * 2 + [2**32 - 1] * 2
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *most, 0))


def many_members(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(5000):
            archive.writestr(zipfile.ZipInfo(f"{number:08}"), b"")


@pytest.mark.parametrize(("make", "kibibytes"), [(sparse_contents, 64 << 10), (many_members, 263)])
def test_archives_whose_table_of_contents_is_large(
    make: Callable[[Path], None], kibibytes: int, tmp_path: Path, command: Command
) -> None:
    make(tmp_path / "bad.npz")
    np.savez(tmp_path / "good.npz", X=np.zeros(1))
    said = f"its table of contents has {kibibytes} KiB; expected at most 256"
    with at_most(16):
        cannot_be_read(tmp_path, said)
        words = ["answer", tmp_path / "good.npz", *OF_CELL, "-o", tmp_path / "bad.npz"]
        assert "holds something else" in command(*words).said_in_one_line()


class Told(str):
    """An id that counts how often a number is added to it."""

    times = 0

    def __format__(self, how: str) -> str:
        Told.times += 1
        return super().__format__(how)


def test_cases_of_one_id_are_numbered_from_the_last_number_on() -> None:
    def case(at: str) -> ForeignCase:
        return ForeignCase(at, cast("Any", None), dict)

    named = each_once([case("a-3"), *(case(Told("a")) for _ in range(100)), case("a-2"), case("b")])
    assert [one.id for one in named[:4]] == ["a-3", "a", "a-2", "a-4"]
    assert [one.id for one in named[-3:]] == ["a-101", "a-2-2", "b"]
    assert Told.times == 100
