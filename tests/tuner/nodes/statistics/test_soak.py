"""What a burn-in tells, from planted rates, clocks and temperatures."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from results.node_check import NodeCheck, Severity, SoakSample
from tuner.nodes.statistics.rate_changes import soak_findings, soaked_nodes


def soaked(rates: Mapping[str, Sequence[float]], mhz: Mapping[str, Sequence[float]], celsius: float) -> NodeCheck:
    """A burn-in with a run of each node every ten minutes."""
    samples = [
        SoakSample(node, 600.0 * (turn + 1), rate, mhz[node][turn], celsius)
        for node, own in rates.items()
        for turn, rate in enumerate(own)
    ]
    return NodeCheck("planted", datetime.now(UTC), tuple(rates), soak=tuple(samples))


STEADY = [71.0, 71.2, 70.9, 71.1, 71.0, 70.8, 71.1, 71.0]
FALLING = [71.0, 71.1, 70.9, 71.0, 66.1, 65.9, 66.0, 66.2]
FULL = [3000.0] * 8


def test_a_node_that_gets_slower_with_its_clock_is_named_with_time_clock_and_temperature() -> None:
    rates = {"n1": STEADY, "n2": STEADY, "n7": FALLING}
    mhz = {"n1": FULL, "n2": FULL, "n7": [3000.0] * 4 + [2500.0] * 4}
    (finding,) = soak_findings(soaked(rates, mhz, 95.0))
    assert finding.names == ("n7",)
    assert finding.severity is Severity.SLOW
    for word in ("71", "66", "40 minutes", "3,000 to 2,500 MHz", "95", "cooling"):
        assert word in finding.sentence, finding.sentence


def test_a_node_whose_clock_does_not_fall_is_not_blamed_for_its_cooling() -> None:
    (finding,) = soak_findings(
        soaked({"n1": STEADY, "n2": STEADY, "n7": FALLING}, dict.fromkeys(("n1", "n2", "n7"), FULL), 60.0)
    )
    assert "its clock did not fall" in finding.sentence


def test_one_fast_run_at_the_begin_is_no_fall() -> None:
    assert soak_findings(soaked({"n1": [75.0, *STEADY[1:]]}, {"n1": FULL}, 70.0)) == []


def test_where_most_nodes_fall_one_note_tells_it_and_only_the_worst_is_named() -> None:
    warm = [71.0, 71.1, 70.9, 68.0, 68.1, 67.9, 68.0, 68.1]
    rates = {"n1": warm, "n2": warm, "n3": warm, "n7": [71.0] * 4 + [63.0] * 4}
    check = soaked(rates, dict.fromkeys(rates, FULL), 70.0)
    named, note = soak_findings(check)
    assert (named.names, named.severity) == (("n7",), Severity.SLOW)
    assert (note.names, note.severity) == (("n1", "n2", "n3", "n7"), Severity.NOTE)


def test_steady_nodes_are_only_summed_up() -> None:
    check = soaked({"n1": STEADY}, {"n1": FULL}, 70.0)
    assert soak_findings(check) == []
    (one,) = soaked_nodes(check)
    assert (one.runs, one.first, one.last, one.mhz, one.celsius) == (8, 71.0, 71.0, 3000.0, 70.0)
