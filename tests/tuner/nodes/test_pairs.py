"""Messages between real nodes: namespaces of this machine with shaped links, and what is weak in them."""

from collections.abc import Iterator

import pytest
from needs import skip_without
from net_lab import HostsLab, hosts_lab

from hpl.build.node_programs import build_node_pairs
from hpl.build.toolchain import ToolchainError
from hpl.search_paths import SearchPaths
from results.node_check import PATTERNS, Finding
from runners.hosts.transport import Local, Ssh
from tuner.nodes.measuring import MeasuringPlan, measure
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of
from tuner.nodes.steps.pairs import Pairs
from tuner.nodes.steps.step import NodesTarget
from tuner.stopping import StopRequest

SWITCHES = {f"h{number}": f"s{(number - 1) // 4 + 1}" for number in range(1, 13)}


MOST_AGAIN = 5
"""Measurements that follow one in which other work on this machine showed more than what was planted, or hid it."""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    try:
        program = build_node_pairs(SearchPaths(None, tmp_path_factory.mktemp("cache")))
    except ToolchainError:
        skip_without("mpicc")
    return Pairs(program, alone_s=0.15, at_once_s=0.4)


@pytest.fixture(scope="module")
def twelve_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostsLab]:
    with hosts_lab(tmp_path_factory.mktemp("lab"), 12) as lab:
        lab.shape("40mbit")
        yield lab


@pytest.fixture
def lab(twelve_hosts: HostsLab, request: pytest.FixtureRequest) -> Iterator[HostsLab]:
    failed = request.session.testsfailed
    yield twelve_hosts.wired(12, rate="40mbit")
    if request.session.testsfailed > failed:
        twelve_hosts.mend()


def judged(lab: HostsLab, step: Pairs) -> ReadinessVerdict:
    target = NodesTarget("lab", lab.names, Ssh((*lab.enter("h1"), *lab.ssh)), SWITCHES, ("eth0",))
    check = measure(target, MeasuringPlan((step,)), lambda _: None, StopRequest()).check
    assert not check.silent
    for pairs in (check.pairs, check.pairs_at_once):
        assert {pair.pattern for pair in pairs} == set(PATTERNS)
        assert {pair.network for pair in pairs} == {"eth0"}
    for host in lab.names:
        assert not any("node_pairs" in command for command in lab.processes(host)), "a program stayed behind"
    return verdict_of(check)


def clear(verdict: ReadinessVerdict) -> list[Finding]:
    """What is weak by more than other work on this machine can take; latencies of its cores are not looked at."""
    found = (finding for finding in verdict.findings if finding.what.startswith("weak") and finding.part == "network")
    return [finding for finding in found if finding.percent > 20.0]


def weak_each_time(lab: HostsLab, step: Pairs) -> list[Finding]:
    """What is weak in each of some measurements: in one of them other work on this machine may weaken more."""
    found = clear(judged(lab, step))
    for _ in range(MOST_AGAIN):
        if len(found) < 2:
            break
        again = {(finding.what, finding.names) for finding in clear(judged(lab, step))}
        found = [finding for finding in found if (finding.what, finding.names) in again]
    return found


def test_a_weak_cable_is_named_by_its_node(lab: HostsLab, step: Pairs) -> None:
    with lab.weakened("h6", "20mbit"):
        (weak,) = weak_each_time(lab, step)
    assert (weak.what, weak.names) == ("weak-node", ("h6",))
    assert 40.0 < weak.percent < 60.0


def test_a_weak_uplink_is_told_from_the_nodes_behind_it(lab: HostsLab, step: Pairs) -> None:
    with lab.behind_new_switch(("h5", "h6", "h7", "h8"), "15mbit"):
        (weak,) = weak_each_time(lab, step)
    assert (weak.what, weak.names) == ("weak-uplink", ("s2",))


def shared_uplinks(lab: HostsLab, step: Pairs) -> list[tuple[str, ...]]:
    """The uplinks told as too small for all pairs: other work on this machine can hide them in a measurement."""
    for _ in range(1 + MOST_AGAIN):
        found = judged(lab, step).findings
        shared = [finding.names for finding in found if finding.what == "oversubscribed" and finding.names]
        if shared and "weak-uplink" not in {finding.what for finding in found}:
            return shared
    return []


def test_an_uplink_that_is_enough_for_one_pair_and_not_for_all_is_oversubscribed(lab: HostsLab, step: Pairs) -> None:
    with lab.behind_new_switch(("h5", "h6", "h7", "h8"), "50mbit"):
        assert shared_uplinks(lab, step) == [("s2",)]


def test_a_node_that_refuses_connections_is_named_and_the_rest_is_measured(lab: HostsLab, step: Pairs) -> None:
    lab.run("h3", "ip", "route", "add", "blackhole", "10.77.0.4/32")
    try:
        verdict = judged(lab, step)
    finally:
        lab.run("h3", "ip", "route", "del", "blackhole", "10.77.0.4/32")
    (finding,) = (finding for finding in verdict.findings if finding.what == "no-messages")
    assert finding.names == ("h3-h4",)


def test_one_node_has_no_partner(step: Pairs) -> None:
    check = measure(
        NodesTarget("here", ("here",), Local()), MeasuringPlan((step,)), lambda _: None, StopRequest()
    ).check
    assert (check.pairs, check.pairs_at_once) == ((), ())
