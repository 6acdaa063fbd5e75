"""The figures that a talk printed of 484 blades are rebuilt exactly, and the same nodes are found in them."""

import pytest
import talk
from talk_printed import (
    CHASSIS,
    FOUR,
    HPL,
    IP,
    MYRINET,
    OTHER_MEMORY,
    STREAM_PAIRS,
    WITH_C,
    WITH_C_OMP,
    WITH_F,
    Printed,
)
from talk_rebuilt import figures, four, linear, nodes_rebuilt, pairs_rebuilt

from tuner.nodes.statistics.odd_nodes import shape_of
from tuner.nodes.statistics.verdict import ReadinessVerdict


@pytest.fixture(scope="module")
def verdict() -> ReadinessVerdict:
    return talk.verdict()


def named(verdict: ReadinessVerdict, what: str, part: str = "") -> list[tuple[str, ...]]:
    return [one.names for one in verdict.findings if one.what == what and part in {one.part, ""}]


def agrees(values: list[float], printed: Printed) -> None:
    shape = shape_of(values)
    ours = (shape.nodes, shape.low, shape.high, shape.spread_percent, shape.mean, shape.sd)
    assert ours == pytest.approx(
        (printed.count, printed.low, printed.high, printed.spread, printed.mean, printed.sd), abs=0.0051
    )


def test_each_line_of_single_nodes_is_rebuilt_with_all_its_figures() -> None:
    for printed, name in figures():
        values = list(nodes_rebuilt()[name].values())
        agrees(values, printed)
        assert shape_of(values).middle == pytest.approx(printed.middle, abs=0.0051)


@pytest.mark.parametrize(("network", "printed"), [("myrinet", MYRINET), ("ip", IP)])
def test_each_line_of_pairs_is_rebuilt_with_all_its_figures(network: str, printed: dict[str, Printed]) -> None:
    for pattern, line in printed.items():
        rates = [pair.rate for pair in pairs_rebuilt() if (pair.network, pair.pattern) == (network, pattern)]
        agrees(rates, line)
        assert shape_of(rates).middle == pytest.approx(line.middle, abs=0.0051)


@pytest.mark.parametrize("printed", FOUR, ids=lambda one: one.name)
def test_four_results_follow_from_five_figures(printed: Printed) -> None:
    """The standard deviation was not used to find them, and is that of a sample."""
    agrees([float(value) for value in four(printed)], printed)


def test_correlations_and_their_probabilities_are_those_of_the_slides() -> None:
    found = nodes_rebuilt()
    for (one, other), r in STREAM_PAIRS.items():
        assert linear(found[one], found[other])[0] == pytest.approx(r, abs=0.0051)
    for first, table, kind in (("c", WITH_C, "serial"), ("f", WITH_F, "openmp"), ("c_omp", WITH_C_OMP, "openmp")):
        for name, (r, percent) in table.items():
            ours, p = linear(found[first], found[f"{name} {kind}"])
            assert ours == pytest.approx(r, abs=0.0051), name
            assert 100 * p == pytest.approx(percent, abs=5.0), name


@pytest.mark.heavy
def test_nodes_1_to_84_are_a_population_of_their_own_with_other_memory(verdict: ReadinessVerdict) -> None:
    assert named(verdict, "two-groups") == [OTHER_MEMORY]
    (finding,) = (one for one in verdict.findings if one.what == "two-groups")
    assert "dimms is usual on the slower and other on the faster ones" in finding.sentence
    assert not set(OTHER_MEMORY[2:20]) & set(verdict.slow), "few faster nodes make the others not slow"


@pytest.mark.heavy
def test_node483_computes_wrongly_and_node443_and_node224_are_not_like_the_others(verdict: ReadinessVerdict) -> None:
    assert named(verdict, "wrong-results") == [("node483",)]
    assert named(verdict, "other-fact", "bios_date") == [("node443",)]
    assert named(verdict, "other-fact", "memory_gib") == [("node224",)]


def test_node406_is_weak_on_myrinet_alone() -> None:
    found = talk.network_findings("myrinet")
    assert [one.names for one in found if one.what == "weak-node"] == [("node406",)]
    assert [one.names for one in found if one.what == "weak-uplink"] == []


def test_the_second_chassis_has_a_weak_uplink_and_its_four_slow_nodes_are_named_with_it() -> None:
    found = talk.network_findings("ip")
    assert [one.names for one in found if one.what == "weak-uplink"] == [("BC2",)]
    weak = {name for one in found if one.what == "weak-node" for name in one.names}
    assert weak == {"node023", "node024", "node025", "node026", "node002"}
    assert {CHASSIS[node] for node in weak} == {"BC2", "BC1"}
    assert ("node325-node326",) in [one.names for one in found if one.what == "weak-connection"]


def test_both_networks_are_oversubscribed_by_what_the_slides_add_up() -> None:
    said = {
        network: next(one.sentence for one in talk.network_findings(network) if one.what == "oversubscribed")
        for network in ("myrinet", "ip")
    }
    assert said["myrinet"].endswith("1.7 to 1")
    assert said["ip"].endswith("11 to 1")


def test_hpl_of_482_nodes_has_no_slow_node(verdict: ReadinessVerdict) -> None:
    assert len(nodes_rebuilt()["hpl"]) == HPL.count
    assert named(verdict, "slow-node") == []


def test_the_script_names_the_nodes_of_the_slides(capsys: pytest.CaptureFixture[str]) -> None:
    talk.main()
    assert capsys.readouterr().out.endswith("\nOut: node215, node483. Slow: node002, node[023-026], node406.\n")
