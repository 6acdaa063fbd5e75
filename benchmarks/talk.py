"""What a talk printed of 484 blades in 2005, and what hpltune says of the same figures.

Run: python benchmarks/talk.py
It prints a Markdown table of what the slides and hpltune find. Nothing is measured: nodes and pairs are drawn so that
they have all figures of the slides (talk_rebuilt.py), and the statistics of `hpltune nodes check` judge them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from talk_printed import (
    CHASSIS,
    IP_AT_ONCE,
    MYRINET_AT_ONCE,
    NODES,
    OTHER_MEMORY,
    SERIAL,
    WRONG_HPL,
    WRONG_OPENMP,
    WRONG_SERIAL,
    WRONG_STREAM,
    Printed,
)
from talk_rebuilt import nodes_rebuilt, pairs_at_once_rebuilt, pairs_rebuilt

from results.node_check import Finding, NodeCheck, NodeRun, ranges
from runners.readiness.fact_table import odd_facts
from tuner.nodes.check import facts_that_differ
from tuner.nodes.statistics.group_findings import in_common
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of

NAMES = {"c": "stream-copy-1", "f": "stream-triad-1", "c_omp": "stream-copy-all", "hpl": "hpl"}
"""Our benchmarks that stand for those of the talk; which kernel of STREAM it took is not printed."""

NETWORKS = {"Myrinet": "myrinet", "GigE": "ip"}
"""The networks by what the talk calls them."""
CLEAR_PERCENT = 10.0
"""Losses that the table shows one by one."""


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    slide: str
    talk: str
    ours: str


@cache
def facts() -> dict[str, dict[str, str]]:
    """By node the facts that are printed: the date of the BIOS and the memory (slides 50 and 51), and of slide 100."""
    found = {
        node: {
            "bios_date": "10/21/2004",
            "memory_gib": f"{1977204 / 2**20:.2f}",
            "dimms": "other" if node in OTHER_MEMORY else "usual",
        }
        for node in NODES
    }
    found["node443"]["bios_date"] = "09/02/2004"
    found["node224"]["memory_gib"] = f"{1460116 / 2**20:.2f}"
    return found


@cache
def verdict() -> ReadinessVerdict:
    """Judge all that the slides give."""
    rebuilt = nodes_rebuilt()
    runs = [NodeRun(NAMES[name], node, value) for name in NAMES for node, value in rebuilt[name].items()]
    for wrong, count, name in ((WRONG_STREAM["c_omp.ppc64"], 10, "c_omp"), (WRONG_HPL, 10, "hpl")):
        value = rebuilt[name]["node483"]
        runs.remove(NodeRun(NAMES[name], "node483", value))
        runs += [NodeRun(NAMES[name], "node483", value, accurate=number >= wrong) for number in range(count)]
    by_fact = {
        name: {node: own[name] for node, own in facts().items()} for name in ("bios_date", "memory_gib", "dimms")
    }
    check = NodeCheck(
        cluster="the talk",
        checked_at=datetime(2005, 11, 1, tzinfo=UTC),
        nodes=NODES,
        silent={"node215": "it would not boot"},
        facts=by_fact,
        runs=tuple(runs),
        pairs=pairs_rebuilt(),
        pairs_at_once=pairs_at_once_rebuilt(),
        switches=CHASSIS,
    )
    asked = {node: {name: own[name] for name in ("bios_date", "memory_gib")} for node, own in facts().items()}
    return verdict_of(check, facts_that_differ(odd_facts(asked, {})))


def lines() -> Iterator[Line]:
    """Make the table."""
    yield Line("50", "node443 has an older BIOS (its output says node433)", _said("other-fact", "bios_date"))
    yield Line("51", "node224 has 1.4 instead of 1.9 GiB", _said("other-fact", "memory_gib"))
    yield Line("53, 70", "node483 computes wrongly in STREAM C OMP and HPL", _said("wrong-results"))
    for slide, wrong, kind, repeats in (("56", WRONG_SERIAL, "serial", 5), ("63", WRONG_OPENMP, "OpenMP", 5)):
        yield _wrong(slide, wrong, kind, repeats)
    yield Line("54, 100", "nodes 1 to 84 have other memory, which shows in STREAM", _said("two-groups"))
    yield Line("77, 100", "node406 has weak Myrinet", _weak("myrinet", "weak-node"))
    yield Line("80", "node025-node026, 023-024 and 325-326 perform poorly over GigE", _weak("ip", "weak-node"))
    yield Line("81-83, 100", "BC2 (nodes 15 to 28) has a switch or uplink issue", _weak("ip", "weak-uplink"))
    yield Line("81-83", "", f"single pairs: {_weak('ip', 'weak-connection')}")
    yield from (_at_once(network, printed) for network, printed in (("Myrinet", MYRINET_AT_ONCE), ("GigE", IP_AT_ONCE)))


def _said(what: str, part: str = "") -> str:
    found = [one.sentence for one in verdict().findings if one.what == what and part in {"", one.part}]
    return "; ".join(found)


def network_findings(network: str) -> list[Finding]:
    return [one for one in verdict().findings if one.part == "network" and f"over {network}" in one.sentence]


def _weak(network: str, what: str) -> str:
    own = [one for one in network_findings(network) if one.what == what]
    clear = [one for one in own if one.percent >= CLEAR_PERCENT]
    said = ", ".join(f"{' '.join(one.names)} -{one.percent:.0f} %" for one in clear)
    return said + (f", and {len(own) - len(clear)} by less than {CLEAR_PERCENT:.0f} %" if len(clear) < len(own) else "")


def _wrong(slide: str, wrong: dict[str, int], kind: str, repeats: int) -> Line:
    """A run of one node is a group of one: the same statistics as of groups say who is common to failed runs."""
    tests = len(SERIAL)
    failed = sum(wrong.values())
    runs = [[node] for node in NODES for _ in range(tests * repeats)]
    bad = [node == "node483" and number < failed for node in NODES for number in range(tests * repeats)]
    (guilty,) = in_common(runs, bad)
    return Line(
        slide,
        f"node483 failed {failed} of {tests * repeats} runs of NPB {kind}, no other node any",
        f"{guilty.node}: {guilty.bad} of {guilty.runs} runs, probability by chance {guilty.p:.0e}",
    )


def _at_once(network: str, printed: Printed) -> Line:
    wanted = {"Myrinet": "full bisection switch", "GigE": "14 to 1 oversubscribed"}[network]
    gb_s = printed.count * printed.mean / 1000
    talk = f"{network}, all pairs of cut at once: {gb_s:.2f} GB/s together; {wanted} (slide 48)"
    ours = next(one.sentence for one in network_findings(NETWORKS[network]) if one.what == "oversubscribed")
    return Line(str(printed.slide), talk, ours)


def main() -> None:
    print("| slide | the talk says | hpltune says |")
    print("|---|---|---|")
    for line in lines():
        print(f"| {line.slide} | {line.talk} | {line.ours} |")
    print(f"\nOut: {ranges(verdict().out)}. Slow: {ranges(verdict().slow)}.")


if __name__ == "__main__":
    main()
