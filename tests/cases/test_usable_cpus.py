"""How many processes are used by default: the affinity mask and a container's limits count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grucible.cases.commands.usable_cpus import usable_cpus


def make(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V2 = {"proc/self/cgroup": "0::/\n"}
V1 = {"proc/self/cgroup": "7:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n1:name=systemd:/docker/1\n"}
KINDS: dict[str, tuple[dict[str, str], int]] = {
    "no groups": ({}, 8),
    "2: no limit": (V2 | {"sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
    "2: three": (V2 | {"sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3),
    "2: two and a half": (V2 | {"sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2),
    "2: a half": (V2 | {"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
    "2: more than there are": (V2 | {"sys/fs/cgroup/cpu.max": "1600000 100000\n"}, 8),
    "2: of a group above": (
        {
            "proc/self/cgroup": "0::/kubepods/pod1/one\n",
            "sys/fs/cgroup/kubepods/pod1/one/cpu.max": "max 100000\n",
            "sys/fs/cgroup/kubepods/pod1/cpu.max": "400000 200000\n",
        },
        2,
    ),
    "1: seen as the root": (
        V1
        | {
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "400000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
        4,
    ),
    "1: under the host's name": (
        V1
        | {
            "sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us": "500000\n",
            "sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us": "100000\n",
        },
        5,
    ),
    "1: no limit": (
        V1
        | {
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
        8,
    ),
    "1: memory's limit is none of CPUs": (
        V1
        | {
            "sys/fs/cgroup/memory/cpu.cfs_quota_us": "100000\n",
            "sys/fs/cgroup/memory/cpu.cfs_period_us": "100000\n",
        },
        8,
    ),
    "nonsense": ({"proc/self/cgroup": "\nx\n0::\n", "sys/fs/cgroup/cpu.max": "a b c\n"}, 8),
}


@pytest.mark.parametrize("kind", KINDS)
def test_limits_of_control_groups(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    files, cpus = KINDS[kind]
    assert usable_cpus(make(tmp_path, files)) == cpus


def test_the_mask_counts_and_not_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert usable_cpus(tmp_path) == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cpus(tmp_path) == 64  # where there is no mask
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cpus(tmp_path) == 1


def test_of_this_machine() -> None:
    assert 1 <= usable_cpus() <= (os.cpu_count() or 1)
