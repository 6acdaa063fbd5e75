"""What nodes did while benchmarks ran: others that took cores, and processors that are hot or clocked low."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from results.node_check import NodeCheck, NodeRun, Severity
from results.report.model import Sentence, Table
from tuner.nodes.report import readiness_facts, readiness_report
from tuner.nodes.statistics.rate_changes import since_baseline
from tuner.nodes.statistics.run_conditions import processor_readings
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of

NODES = tuple(f"n{number}" for number in range(1, 9))
QUIET = {"solve_s": 10.0, "cores": 2.0, "cpu_s": 19.8, "foreign_cpu_s": 0.1}
BUSY = {**QUIET, "foreign_cpu_s": 8.0}


def check(runs: Sequence[NodeRun], nodes: Sequence[str] = NODES) -> NodeCheck:
    return NodeCheck("lab", datetime(2026, 11, 27, tzinfo=UTC), tuple(nodes), runs=tuple(runs))


def alike(
    benchmark: str = "dgemm-all", more: Mapping[str, Sequence[NodeRun]] | None = None, nodes: Sequence[str] = NODES
) -> list[NodeRun]:
    """Two quiet runs of each node, which differ by little, but for nodes that have their own."""
    rates = {node: 100.0 + 0.1 * place for place, node in enumerate(nodes)}
    usual = {node: [NodeRun(benchmark, node, rate, measurements=QUIET)] * 2 for node, rate in rates.items()}
    return [run for own in ({**usual, **(more or {})}).values() for run in own]


def told(verdict: ReadinessVerdict) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.severity.value, one.names, one.sentence) for one in verdict.findings]


def test_a_run_that_others_disturbed_decides_nothing_while_a_quiet_one_exists() -> None:
    runs = [NodeRun("dgemm-all", "n3", 150.0, measurements=BUSY), NodeRun("dgemm-all", "n3", 100.0, measurements=QUIET)]
    kept = check(alike(more={"n3": runs}))
    assert kept.results()["dgemm-all"]["n3"] == 100.0
    assert kept.always_disturbed() == {}
    assert verdict_of(kept).findings == ()


def test_a_slow_node_is_blamed_by_its_quiet_runs() -> None:
    verdict = verdict_of(check(alike(more={"n3": [NodeRun("dgemm-all", "n3", 88.0, measurements=QUIET)] * 2})))
    assert verdict.slow == ("n3",)


def test_a_node_all_of_whose_runs_were_disturbed_is_not_blamed_and_what_disturbed_them_is_said() -> None:
    verdict = verdict_of(check(alike(more={"n3": [NodeRun("dgemm-all", "n3", 88.0, measurements=BUSY)] * 2})))
    sentence = (
        "n3 is 12.4 % below the median in DGEMM, all cores, but others took 0.8 of 2 cores for 10 of 10 s meanwhile: "
        "measure again when it is quiet"
    )
    assert told(verdict) == [("odd", ("n3",), sentence)]
    assert (verdict.ready, verdict.alike, verdict.slow) == (True, False, ())
    (waits,) = verdict.waiting
    assert "but others took 0.8 of 2 cores" in waits.sentences[0]


def test_the_head_says_how_many_runs_were_disturbed_and_by_what() -> None:
    verdict = verdict_of(check(alike(more={"n3": [NodeRun("dgemm-all", "n3", 100.0, measurements=BUSY)] * 2})))
    report = readiness_report(verdict)
    said = [part.text for part in report.parts if isinstance(part, Sentence)]
    assert said[:2] == [
        "Whether a node is slow cannot be told: in 1 benchmark all runs of a node were disturbed.",
        "2 of 16 runs were disturbed: other programs took CPU time in 2.",
    ]
    facts = readiness_facts(verdict)
    assert isinstance(facts["disturbed"], dict)
    assert (facts["disturbed"]["runs"], facts["disturbed"]["disturbed"]) == (16, 2)
    assert isinstance(facts["runs"], list)
    shown = [run for run in facts["runs"] if run["node"] == "n3"]
    assert [run["disturbed"] for run in shown] == ["others took 0.8 of 2 cores for 10 of 10 s"] * 2
    assert shown[0]["measurements"]["foreign_cpu_s"] == 8.0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"steal_s": 5.0},
            "the hypervisor took 0.5 of 2 cores meanwhile: measure again when the machine below is quiet",
        ),
        ({"throttled_s": 3.0}, "meanwhile: lift the quota of its control group (`cpu.max`) and measure again"),
        ({"swap_pages": 5000.0}, "5000 pages of memory were swapped meanwhile: see what fills its memory"),
    ],
)
def test_the_remedy_is_that_of_the_cause(more: Mapping[str, float], words: str) -> None:
    slow = NodeRun("dgemm-all", "n3", 88.0, measurements={**QUIET, **more})
    (finding,) = verdict_of(check(alike(more={"n3": [slow] * 2}))).findings
    assert (finding.what, finding.severity) == ("disturbed-node", Severity.ODD)
    assert words in finding.sentence


def test_of_two_nodes_the_difference_is_told_with_what_disturbed_one() -> None:
    slow = NodeRun("dgemm-all", "n2", 80.0, measurements=BUSY)
    verdict = verdict_of(check(alike(nodes=NODES[:2], more={"n2": [slow]}), NODES[:2]))
    assert any("n2 gives 20.0 % less than n1, but others took 0.8 of 2 cores" in said for said in verdict.cannot)


def test_a_loss_since_the_baseline_in_disturbed_runs_is_not_blamed_on_the_node() -> None:
    before = check(alike())
    now = check(alike(more={"n3": [NodeRun("dgemm-all", "n3", 70.0, measurements=BUSY)] * 2}))
    now = replace(now, checked_at=datetime(2026, 11, 28, tzinfo=UTC))
    (finding,) = since_baseline(before, now)
    assert (finding.names, finding.severity) == (("n3",), Severity.ODD)
    assert finding.sentence.startswith("n3 has lost 30.1 % in DGEMM, all cores since 2026-11-27, but others took")


def warm(
    benchmark: str, mhz: Mapping[str, float], celsius: Mapping[str, float], events: Mapping[str, float] | None = None
) -> list[NodeRun]:
    """A run of each node of two processors, by "node/socket" what is not as usual: 2500 MHz and 60 °C."""
    runs = []
    for node in NODES:
        own = dict(QUIET)
        for socket in ("0", "1"):
            key = f"{node}/{socket}"
            own |= {
                f"clock_mhz:{socket}": mhz.get(key, 2500.0),
                f"lowest_clock_mhz:{socket}": mhz.get(key, 2500.0) - 50.0,
                f"begin_temperature_c:{socket}": 40.0,
                f"temperature_c:{socket}": celsius.get(key, 60.0 + 8.0 * int(socket)),
                f"throttle_events:{socket}": (events or {}).get(key, 0.0),
            }
        own["throttle_events"] = sum(own[f"throttle_events:{socket}"] for socket in ("0", "1"))
        runs.append(NodeRun(benchmark, node, 100.0, measurements=own))
    return runs


def test_processors_that_are_alike_are_no_finding_though_the_second_gets_warm_air() -> None:
    verdict = verdict_of(check(warm("dgemm-all", {}, {})))
    assert verdict.findings == ()
    assert len(processor_readings(verdict.check)) == 16


def test_a_processor_that_heat_slows_is_named_once_with_numbers_and_what_to_do() -> None:
    hot = ({"n3/1": 2000.0}, {"n3/1": 97.0}, {"n3/1": 12.0})
    found = verdict_of(check([*warm("dgemm-all", *hot), *warm("hpl", *hot)]))
    assert {(one.what, one.names, one.severity) for one in found.findings} == {
        ("throttled", ("n3",), Severity.ODD),
        ("low-clock", ("n3",), Severity.ODD),
        ("hot", ("n3",), Severity.ODD),
    }
    said = {one.what: one.sentence for one in found.findings}
    assert said["throttled"].startswith(
        "n3, socket 1: heat slowed its cores down 12 times in 1 run of DGEMM, all cores, at up to 97 °C; look at its"
    )
    assert "n3, socket 1: clocked 20.0 % lower than the others of its class" in said["low-clock"]
    assert "2,000 against 2,500 MHz, at up to 97 °C" in said["low-clock"]
    assert "n3, socket 1: 29 °C hotter than the others of its class" in said["hot"]
    table = next(part for part in readiness_report(found).parts if isinstance(part, Table) and "Proc" in part.title)
    assert table.rows[0] == ("n3, socket 1", "DGEMM, all cores", "1", "2,000", "1,950", "40", "97", "12")


def test_heat_is_no_excuse_for_a_slow_node() -> None:
    hot = NodeRun("dgemm-all", "n3", 88.0, measurements={**QUIET, "throttle_events": 40.0, "temperature_c": 98.0})
    verdict = verdict_of(check(alike(more={"n3": [hot] * 2})))
    assert verdict.slow == ("n3",)
    assert {finding.what for finding in verdict.findings} == {"slow-node", "throttled"}


def test_two_nodes_need_a_large_difference_of_their_clocks() -> None:
    def clocked(mhz: float) -> list[str]:
        runs = [
            NodeRun("dgemm-all", node, 100.0, measurements={**QUIET, "clock_mhz": clock})
            for node, clock in (("n1", 2500.0), ("n2", mhz))
        ]
        return [one.what for one in verdict_of(check(runs, NODES[:2])).findings]

    assert clocked(2400.0) == []
    assert clocked(2100.0) == ["low-clock"]


EDAC = "mc0 channel {} slot 0 of channel 3 slot 1"


def with_memory(filled: Mapping[str, int], gb_s: Mapping[str, float], speed: str = "3200 MT/s") -> NodeCheck:
    """Nodes of four channels, of which some are filled, and the rates of their memories."""
    runs = [NodeRun("stream-triad-all", node, 1e3 * rate, measurements=QUIET) for node, rate in gb_s.items()]
    places = {node: ";".join(EDAC.format(place) for place in range(count)) for node, count in filled.items()}
    facts = {"memory_places": places, "dimm_speed": dict.fromkeys(filled, speed)}
    return replace(check(runs, tuple(gb_s)), facts=facts)


def test_the_rate_of_a_memory_is_told_in_percent_of_what_its_channels_give() -> None:
    verdict = verdict_of(with_memory({"n1": 4, "n2": 4}, {"n1": 76.8, "n2": 81.9}))
    assert verdict.findings == ()
    table = next(part for part in readiness_report(verdict).parts if isinstance(part, Table) and "Mem" in part.title)
    assert table.rows == (("n1", "4 of 4", "102.4", "76.8", "75"), ("n2", "4 of 4", "102.4", "81.9", "80"))
    facts = readiness_facts(verdict)
    assert isinstance(facts["memory"], dict)
    assert facts["memory"]["n1"]["percent"] == pytest.approx(75.0)


def test_a_single_channel_is_a_finding_with_its_remedy() -> None:
    (finding,) = verdict_of(with_memory({"n1": 4, "n2": 1}, {"n1": 76.8, "n2": 19.2})).findings
    assert (finding.what, finding.names, finding.severity) == ("memory-channels", ("n2",), Severity.ODD)
    assert finding.sentence.startswith(
        "n2: only one of 4 memory channels is filled: the memory gives a part of its rate;"
    )
    assert "put equal memory modules into slots of all channels" in finding.sentence


def test_a_memory_far_below_its_channels_is_a_finding_but_not_by_disturbed_runs() -> None:
    slow = with_memory({"n1": 4}, {"n1": 30.0})
    (finding,) = verdict_of(slow).findings
    assert finding.sentence.startswith("n1: STREAM's triad moves 30 GB/s, 29 % of the 102 GB/s of the memory channels;")
    busy = replace(slow, runs=tuple(replace(run, measurements=BUSY) for run in slow.runs))
    assert verdict_of(busy).findings == ()


def test_nothing_is_claimed_of_a_memory_that_does_not_tell_its_channels() -> None:
    verdict = verdict_of(with_memory({}, {"n1": 1.0}))
    assert verdict.findings == ()
    assert not any(isinstance(part, Table) and "Mem" in part.title for part in readiness_report(verdict).parts)
    assert readiness_facts(verdict)["memory"] == {}
