"""Settings that do not go with a layout, a BLAS or a host make no point of a space."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from runners.hosts.system_facts import SystemFacts
from runners.settings.registry import HostsOffer
from search_spaces.errors import SpaceError
from search_spaces.load import load, passed_over
from search_spaces.machine import BlasFacts, Machine
from search_spaces.space import SearchSpace
from tuner.settings.dimensions import setting_dimensions

HYBRID = SystemFacts(
    glibc=(2, 36),
    transparent_huge_pages="madvise",
    numa_nodes=(0,),
    cores=((0, 1), (2, 3), (4,), (5,)),
    performance=frozenset({0, 1, 2, 3}),
    programs=frozenset({"taskset"}),
)
BLAS = {"openblas": BlasFacts(family="openblas"), "blis": BlasFacts(family="blis")}


def space_of(
    folder: Path, text: str, system: SystemFacts | None = HYBRID, given: Mapping[str, list[str]] | None = None
) -> SearchSpace:
    file = folder / "mine.toml"
    file.write_text(f"[parameters]\n{text}")
    offer = None if system is None else HostsOffer({"": system})
    machine = Machine(4, 2**35, BLAS, N=4000, offer=offer)
    return load(str(file), machine, given or {}, settings=setting_dimensions())


def points(space: SearchSpace, *names: str) -> set[tuple[object, ...]]:
    return {tuple(point.get(name) for name in names) for point in space}


def test_layouts_fill_the_cores_that_are_chosen(tmp_path: Path) -> None:
    space = space_of(tmp_path, 'layout = "auto"\ngrid = "auto"\nsys.cores = ["performance", "0-3+4+5"]')
    assert points(space, "sys.cores", "layout") == {
        *(("performance", layout) for layout in ("2x1", "1x2")),
        *(("0-3+4+5", layout) for layout in ("4x1", "2x2", "1x4")),
    }
    alone = space_of(tmp_path, 'sys.cores = "performance"')
    assert alone.first["layout"] == "2x1"


def test_a_layout_with_more_threads_than_chosen_cores_is_no_point(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=r"4x1 needs 4 cores, but sys\.cores = performance gives ranks 2: take fewer"):
        space_of(tmp_path, 'layout = "4x1"\nsys.cores = "performance"')


def test_a_partition_is_for_blis_and_for_all_threads_of_a_rank(tmp_path: Path) -> None:
    text = 'blas = "auto"\nlayout = ["4x1", "1x4"]\ngrid = "auto"\nsys.blis_partition = ["own", "1x4x1x1", "2x2x1x1"]'
    assert points(space_of(tmp_path, text), "blas", "layout", "sys.blis_partition") == {
        *((blas, layout, "own") for blas in BLAS for layout in ("4x1", "1x4")),
        ("blis", "1x4", "1x4x1x1"),
        ("blis", "1x4", "2x2x1x1"),
    }
    with pytest.raises(SpaceError, match="is for BLIS, and openblas is none: take own"):
        space_of(tmp_path, 'blas = "openblas"\nlayout = "1x4"\nsys.blis_partition = "1x4x1x1"')
    with pytest.raises(SpaceError, match="is for 2 threads, but the layout 1x4 has 4 a rank"):
        space_of(tmp_path, 'blas = "blis"\nlayout = "1x4"\nsys.blis_partition = "1x2x1x1"')


def test_one_thread_waits_for_no_other(tmp_path: Path) -> None:
    text = 'layout = ["4x1", "1x4"]\ngrid = "auto"\nsys.omp_wait = ["active", "passive"]'
    assert points(space_of(tmp_path, text), "layout", "sys.omp_wait") == {
        ("4x1", "passive"),
        ("1x4", "active"),
        ("1x4", "passive"),
    }


def test_what_the_host_has_not_is_no_point(tmp_path: Path) -> None:
    with pytest.raises(
        SpaceError, match=r"sys\.numa_policy = local cannot be had on this machine: it has one NUMA node"
    ):
        space_of(tmp_path, 'sys.numa_policy = "local"')
    given = {"sys.malloc_huge_pages": ["1", "2"]}
    space = space_of(tmp_path, "NB = 64", given=given)
    assert points(space, "sys.malloc_huge_pages") == {(1,)}
    (sentence,) = passed_over(space, given)
    assert "no valid combination has 2: sys.malloc_huge_pages = 2 cannot be had on this machine" in sentence


def test_what_nobody_knows_of_hosts_is_left_to_them(tmp_path: Path) -> None:
    space = space_of(tmp_path, 'sys.numa_policy = "local"\nsys.malloc_huge_pages = 1', system=None)
    assert points(space, "sys.numa_policy", "sys.malloc_huge_pages") == {("local", 1)}


def test_auto_takes_what_is_worth_trying_here(tmp_path: Path) -> None:
    text = 'sys.malloc_huge_pages = "auto"'
    assert points(space_of(tmp_path, text), "sys.malloc_huge_pages") == {(1,), (0,)}
    for system in (None, SystemFacts((2, 36), "always"), SystemFacts((2, 31), "madvise")):
        assert points(space_of(tmp_path, text, system), "sys.malloc_huge_pages") == {(None,)}
