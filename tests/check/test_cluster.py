"""A real scheduler and workers: what one machine makes and finds, whatever dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

from grucible import GrucibleError
from grucible.cases.question import Question
from grucible.cases.selection import WHOLE
from grucible.cases.specs.expand import expand
from grucible.cases.specs.random_space import usual_space
from grucible.cases.specs.spec_file import find_specs
from grucible.check.clustered import TASK, RuntimeThere, fuzz_there, remote_runtime
from grucible.check.fuzz import CHUNK, Fuzzed
from grucible.check.grouping import Findings
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.observed.pool import ASKED, RUN_BYTES
from grucible.check.protocol.header import Reply
from grucible.check.verdict import Demand, judge
from grucible.gen.cluster import AHEAD, Cluster, TaskLost, open_cluster
from grucible.gen.files import _made
from grucible.vectors.hdf5 import CORE
from grucible.vectors.vector_set import load_vectors, open_set

from .conftest import Command

HERE = Path(__file__).parent
RUNTIME = f"{HERE / 'numpy_gru.py'}:run"
SLOW = """\
import time
from pathlib import Path

from numpy_gru import run as right

def run(question):
    with Path(__file__).with_name("asked").open("ab") as asked:
        asked.write(b".")
    time.sleep(0.05 * ("/shrunk/" not in question.id))
    return right(question, "clip ignored")
"""
MINE = f"""\
import sys
from functools import partial
sys.path.insert(0, {str(HERE)!r})
from numpy_gru import run as right
run = partial(right, mistake={{!r}})
"""
SPEC = """\
operator: openvino.GRUSequence-5
about: some work
dtypes: [float32, float16]
sizes: {batch_size: 3, seq_length: 4, input_size: 5, hidden_size: 6}
cases:
  - product:
      hidden_size: [3, 5, 8, 17]
      input_size: [2, 6, 9]
      activations: [[sigmoid, tanh], [relu, tanh]]
      direction: [forward, bidirectional]
      sequence_lengths: [ragged, full]
"""


class Machines(NamedTuple):
    """A scheduler and its workers, each a process group of its own."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


def start(*words: str | Path, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", *map(str, words)]
    path = os.pathsep.join(filter(None, [environment.pop("PYTHONPATH", ""), str(HERE)]))
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
        env={**os.environ, **environment, "PYTHONPATH": path},
    )  # fmt: skip


def start_worker(address: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
    more = words or ("--no-nanny",)
    return start("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard",
                 "--host", "127.0.0.1", *more, **environment)  # fmt: skip


@contextlib.contextmanager
def machines(folder: Path, workers: int = 2, *words: str, **environment: str) -> Iterator[Machines]:
    file = folder / "scheduler.json"
    scheduler = start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                      "--no-dashboard", "--scheduler-file", file)  # fmt: skip
    started: list[subprocess.Popen[bytes]] = []
    try:
        until(file.exists)
        until(lambda: file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]
        started += [start_worker(address, *words, **environment) for _ in range(workers)]
        found = Machines(address, scheduler, started)
        until(lambda: threads(address) == workers)
        yield found
    finally:
        for process in (*started, scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def threads(address: str) -> int:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return sum(client.nthreads().values())


def until(there: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with two workers that live."""
    with machines(tmp_path_factory.mktemp("two")) as found:
        yield found.address


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "theme.yaml"
    file.write_text(SPEC)
    return file


def grucible(*words: str | Path | int, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "grucible", *map(str, words)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **more,
    )  # fmt: skip


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == status, (out, err)
    return out + err


def root(text: str) -> str:
    return re.findall("root digest: ([0-9a-f]{64})", text)[0]


def test_one_root_digest_however_the_work_was_cut(
    spec: Path, tmp_path: Path, command: Command
) -> None:
    alone = root(command("gen", spec, "-o", tmp_path / "one", "--jobs", 1).out)
    assert root(command("gen", spec, "-o", tmp_path / "two", "--jobs", 2).out) == alone

    rng, out = np.random.default_rng(0), tmp_path / "sixteen"
    for number in (rng.permutation(16) + 1).tolist():
        words = ("gen", spec, "-o", out, "--jobs", 1, "--shard", f"{number}/16")
        if number in (3, 11):
            process = grucible(*words)
            time.sleep(rng.uniform(0.5, 1.5))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.communicate()
        else:
            assert command(*words).status == 0
    assert root(command("gen", spec, "-o", out, "--jobs", 1).out) == alone

    with machines(tmp_path) as found:
        process = grucible("gen", spec, "-o", tmp_path / "dask", "--scheduler", found.address)
        time.sleep(2.5)
        os.killpg(found.workers[0].pid, signal.SIGKILL)
        assert root(ended(process)) == alone
    assert sum(1 for _ in load_vectors(tmp_path / "dask")) == 192


@pytest.mark.parametrize("mistake", ["", "clip ignored"])
def test_a_cluster_judges_and_explains_as_one_machine_does(
    mistake: str, two: str, tmp_path: Path, command: Command
) -> None:
    kernel = tmp_path / "mine.py"
    kernel.write_text(MINE.format(mistake))
    words = ("check", "--select", "openvino.GRUCell-3/*", "--dtype", "float32", "--json", "--strict",
             "--runtime", f"{kernel}:run")  # fmt: skip
    here, claim = command(*words), tmp_path / "claim.json"
    there = command(*words, "--scheduler", two, "--report", f"claim={claim}")
    assert there.status == here.status
    assert there.report == here.report
    assert bool(here.report["diagnosis"]) == bool(mistake)
    assert json.loads(claim.read_text())["machine"] is None  # the workers' may be another


def test_a_task_that_ends_as_the_wait_for_it_does_gives_its_result() -> None:
    class Late:
        waited = 0

        def result(self, timeout: float) -> str:
            self.waited += 1
            if self.waited == 1:
                raise TimeoutError(f"timed out after {timeout} s")
            return "1.0"

        def done(self) -> bool:
            return True

    class Client:
        def nthreads(self) -> dict[str, int]:
            return {"tcp://here": 1}

        def submit(self, *_: Any, **__: Any) -> Late:
            return Late()

    assert Cluster(Client()).on_each(str, "") == {"tcp://here": "1.0"}


def test_questions_of_a_lost_task_are_missing() -> None:
    lost, refused = TaskLost("workers died of it"), [Reply("unsupported", {}, "not here")]

    class Dying(Cluster):
        threads = 1

        def __init__(self) -> None:
            pass

        def on_each(self, *_: Any) -> dict[str, Any]:
            return {"tcp://here": ("mine", "1")}

        def in_order(self, tasks: Iterable[Any]) -> Iterator[Any]:
            for number, task in enumerate(tasks):
                yield task, refused * len(task[2]) if number else lost

    vectors = open_set(CORE / "openvino/gru_cell/plain.h5")
    there = RuntimeThere(Dying(), remote_runtime(RUNTIME, 60, None), len(vectors))
    report = judge(vectors, there, Demand())
    counts = Counter((one.verdict, one.message) for one in report.results)
    assert counts.keys() == {("missing", str(lost)), ("unsupported", "not here")}
    assert (report.verdict, report.exit_status) == ("incomplete", 1)


def test_the_first_tasks_of_fuzzing_are_small() -> None:
    spaces, criteria = [usual_space("openvino.GRUCell-3")], chosen_criteria()
    sizes, lost = list[int](), list[int]()

    class Idle(Cluster):
        threads = 2

        def __init__(self) -> None:
            pass

        def on_each(self, *_: Any) -> dict[str, Any]:
            return {"tcp://here": ("mine", "1")}

        def submit(self, _: Any, /, *given: Any) -> Future[Any]:  # type: ignore[override]
            [(start, stop)], future = given[3], Future[Any]()
            sizes.append(stop - start)
            future.set_result(Fuzzed("mine", "1", 0, (), {}, Findings(), ranges=[(0, start, stop)]))
            return future

    def advance(found: Fuzzed) -> None:
        lost.append(sum(sizes) - found.asked_to)
        assert lost[-1] <= (AHEAD * 2 + 1) * max(TASK, found.asked_to // 2)
        if sizes[-1] == CHUNK:
            raise KeyboardInterrupt

    found = fuzz_there(
        Idle(), remote_runtime(RUNTIME, 60, None), spaces, criteria, dtypes=(), seed=0, cases=None,
        seconds=None, shard=WHOLE, expectations=(), advance=advance,
    )  # fmt: skip
    assert found.interrupted
    assert lost[0] == AHEAD * 2 * TASK
    assert sizes == sorted(sizes)


def test_a_runtime_that_was_changed_is_loaded_anew(
    two: str, command: Command, tmp_path: Path
) -> None:
    kernel = tmp_path / "mine.py"
    words = ("check", "--select", "openvino.GRUCell-3/plain/float32/*", "--runtime", f"{kernel}:run",
             "--scheduler", two, "--quiet")  # fmt: skip
    for mistake, status in (("", 0), ("gates z and r exchanged", 1), ("", 0)):
        kernel.write_text(MINE.format(mistake))
        assert command(*words).status == status


def test_a_worker_that_dies_costs_no_question(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    runtime = f"{tmp_path / 'slow.py'}:run"
    words = ("fuzz", "--runtime", runtime, "--operator", "openvino.GRUCell-3", "--dtype", "float32",
             "--cases", 200, "-o")  # fmt: skip
    here = {**os.environ, "PYTHONPATH": str(HERE)}
    ended(grucible(*words, tmp_path / "a", "--report", f"json={tmp_path / 'a.json'}", env=here), 1)
    (tmp_path / "asked").unlink()
    with machines(tmp_path) as found:
        process = grucible(*words, tmp_path / "b", "--report", f"json={tmp_path / 'b.json'}",
                           "--scheduler", found.address, env=here)  # fmt: skip
        until((tmp_path / "asked").exists)
        time.sleep(1)
        os.killpg(found.workers[1].pid, signal.SIGKILL)
        text = ended(process, 1)
    alone, together = (json.loads((tmp_path / f"{one}.json").read_text()) for one in "ab")
    for key in ("tally", "ranges", "undrawn", "undeciding", "lost"):
        assert together[key] == alone[key]
    assert [one["about"] for one in together["findings"]] == ["clip ignored"]
    assert "/shrunk/" in text
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["openvino.GRUCell-3.h5"]


def test_ctrl_c_cancels_what_is_queued_and_reports(tmp_path: Path, two: str) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    process = grucible("fuzz", "--runtime", f"{tmp_path / 'slow.py'}:run", "--operator",
                       "openvino.GRUCell-3", "--cases", 400, "-o", tmp_path / "found", "--scheduler", two,
                       "--report", f"json={tmp_path / 'a.json'}")  # fmt: skip
    asked = (
        tmp_path / "asked"
    )  # two workers have ranges of 50: of 200 questions, two ranges are done
    until(lambda: asked.exists() and asked.stat().st_size >= 200)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in ended(process, 130)
    report = json.loads((tmp_path / "a.json").read_text())
    assert 0 < sum(stop - start for _, start, stop in report["ranges"]) < 400
    with open_cluster(two) as cluster:
        assert cluster is not None
        before = time.monotonic()
        assert [value for _, value in cluster.in_order([(pow, 2, 5)])] == [32]
        assert time.monotonic() - before < 60  # no other question is asked


def test_a_scheduler_that_is_lost_is_one_line(spec: Path, tmp_path: Path) -> None:
    with machines(tmp_path) as found:
        (tmp_path / "slow.py").write_text(SLOW)
        asking = grucible("fuzz", "--runtime", f"{tmp_path / 'slow.py'}:run", "--operator",
                          "openvino.GRUCell-3", "--cases", 400, "-o", tmp_path / "found",
                          "--scheduler", found.address)  # fmt: skip
        until((tmp_path / "asked").exists)
        time.sleep(5)
        os.killpg(found.scheduler.pid, signal.SIGKILL)
        text = " ".join(ended(asking, 1).split())
        assert "stopped: the scheduler was lost" in text
        assert "distributed" not in text
        words = ("gen", spec, "-o", tmp_path / "out", "--scheduler", found.address)
        assert "no scheduler answers" in ended(grucible(*words), 2)


def test_what_differs_is_said_before_any_work(
    spec: Path, two: str, tmp_path: Path, command: Command
) -> None:
    said = command(
        "fuzz", "--runtime", "nowhere:run", "--cases", 9, "--scheduler", two
    ).said_in_one_line()
    assert re.match(r"grucible: worker tcp://\S+ runtime nowhere", said)
    other = tmp_path / "site" / "grucible-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: grucible\nVersion: 9.9\n")
    worker = start_worker(two, PYTHONPATH=str(other.parent))
    try:
        until(lambda: threads(two) == 3)
        said = command("gen", spec, "-o", tmp_path / "out", "--scheduler", two).said_in_one_line()
        assert re.search(r"tcp://\S+ has grucible 9\.9; install", said)
        assert not (tmp_path / "out" / "theme.h5").exists()
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        until(lambda: threads(two) == 2)


def test_a_task_that_kills_workers_is_left_out(tmp_path: Path) -> None:
    with machines(tmp_path, 2, "--nanny") as found, open_cluster(found.address) as cluster:
        assert cluster is not None
        results = [value for _, value in cluster.in_order([(os._exit, 3), (pow, 2, 3)])]
    assert isinstance(results[0], TaskLost)
    assert results[1] == 8


class Racing:
    """A client of Dask's with one task, whose worker dies as the result comes: then it is pending again."""

    status = "pending"

    def __init__(self) -> None:
        self.loop = self

    def nthreads(self) -> dict[str, int]:
        return {"tcp://here": 1}

    def submit(self, *_: Any, **__: Any) -> Racing:
        return self

    async def _result(self, **_: Any) -> int:
        return 8

    def add_callback(self, function: Callable[..., Any], *given: Any) -> None:
        async def run() -> None:
            await function(*given)

        asyncio.run(run())


def test_a_result_is_no_error_if_its_worker_dies_as_it_comes() -> None:
    assert [*Cluster(Racing()).in_order([(pow, 2, 3)])] == [((pow, 2, 3), 8)]


def test_cases_of_a_lost_task_are_named(spec: Path) -> None:
    future: Future[Any] = Future()
    future.set_exception(type("KilledWorker", (Exception,), {})())
    [one] = find_specs((spec,))
    cases = expand(one)[:2]
    [(block, undrawn)] = _made([cases], future)
    assert block is None
    assert [one.case for one in undrawn] == cases
    other: Future[Any] = Future()
    other.cancel()
    with pytest.raises(GrucibleError, match="the scheduler was lost"):
        _made([cases], other)


def test_a_full_disk_loses_nothing_that_is_whole(
    spec: Path, tmp_path: Path, command: Command
) -> None:
    """A limit on the size of files stands for a disk that is full."""
    out = tmp_path / "out"
    small = spec.with_name("small.yaml")
    small.write_text(SPEC.replace("[3, 5, 8, 17]", "[3]").replace("[2, 6, 9]", "[2]"))
    size = 300_000
    process = grucible("gen", small, spec, "-o", out, "--jobs", 1,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))  # fmt: skip
    text = ended(process, 2)
    assert "theme.h5: cannot be written (File too large)" in text
    assert [path.name for path in out.iterdir()] == ["small.h5"]
    again = command("gen", small, spec, "-o", out, "--jobs", 1).out
    assert "1 was up to date" in again
    assert root(again) == root(command("gen", small, spec, "-o", tmp_path / "b").out)


def test_a_kernel_that_workers_do_not_find_gets_one_line(
    two: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MINE.format(""))
    monkeypatch.chdir(tmp_path)
    ended = command("check", "--runtime", "./mine.py:run", "--scheduler", two)
    told = ended.said_in_one_line()
    assert re.match(r"grucible: worker tcp://\S+: runtime ./mine.py:run: .* whole path, or", told)


@pytest.mark.parametrize("count", [1, 23, 195, 10**6])
def test_the_questions_of_a_case_that_is_asked_again_stay_on_one_worker(count: int) -> None:
    """Else kept state is never seen: another worker has none of it."""

    sizes = list[int]()

    class Workers:
        threads = 2

        def on_each(self, *_: object) -> dict[str, tuple[str, str]]:
            return {"one": ("kernel", "1"), "two": ("kernel", "1")}

        def in_order(self, tasks: Any) -> Iterator[tuple[Any, list[Reply]]]:
            for task in tasks:
                sizes.append(len(task[2]))
                yield task, [Reply("missing", {}, "")] * len(task[2])

    remote = remote_runtime("kernel.py:run", 1.0, None)
    runtime = RuntimeThere(cast("Cluster", Workers()), remote, count)
    large = np.zeros(RUN_BYTES // 4 + 1, np.float32)
    some = [
        Question("a", "torch.GRUCell", "float32", {}, {"input": x}, {}) for x in (large, large[:1])
    ]
    assert len(list(runtime.answer(20 * some))) == sum(sizes) == 40
    assert not any(size % ASKED for size in sizes)
