"""The report of a check of nodes: the verdict first, then what was found, then all results."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median

from results.node_check import (
    BENCHMARKS,
    ORDERS,
    Finding,
    GroupRun,
    NodeCheck,
    NodeRun,
    PairRate,
    Severity,
    ranges,
)
from results.report.model import Figure, Heading, Matrix, Part, Report, Sentence, Series, Table, Tone, columns
from results.stats.disturbed_runs import DisturbedRuns

from ..words import counted
from .figures import benchmark_figures, node_grid, odd_histograms
from .statistics.odd_nodes import FEWEST, ResultShape, shape_of
from .statistics.rate_changes import ALL_LOST, RateChange
from .statistics.run_conditions import channel_rates, processor_readings
from .statistics.verdict import MOST_NAMED, ReadinessVerdict, WaitingCost

TONES = {Severity.OUT: Tone.BAD, Severity.SLOW: Tone.BAD, Severity.ODD: Tone.CAUTION, Severity.NOTE: Tone.PLAIN}
SHOWN = 30
"""Findings that a terminal and a page show."""
MOST_PAIRS = 12
"""Correlations that are shown."""

GROUP_COLUMNS = ("order", "runs", "failed", "low", "median", "high")
MOST_FAILED = 12
"""Failed runs that are listed."""

MOST_DRAWN = 16
"""Rows and columns of a heat map of pairs; of a larger cluster each cell stands for several nodes."""
PAIR_COLUMNS = ("pattern", "pairs", "low", "median", "high", "latency µs", "at once", "all pairs")
NARROW = ("pattern", "low", "median", "at once", "all pairs")


def readiness_report(verdict: ReadinessVerdict) -> Report:
    """Make the report for a terminal and for scripts."""
    return Report(_title(verdict), tuple(_parts(verdict)), readiness_facts(verdict))


def readiness_page(verdict: ReadinessVerdict) -> Report:
    """Make the page: the report, with figures."""
    check = verdict.check
    grid = [node_grid(verdict)] if any(verdict.results.values()) else []
    parts: list[Part] = [*_verdict(verdict), *grid, *_details(verdict)]
    drawn = benchmark_figures(verdict)
    if drawn:
        parts += [Heading("Each benchmark over the nodes"), *drawn]
    parts += group_figures(check.groups)
    matrices = pair_matrices(check)
    if matrices:
        parts += [Heading("Rates between nodes"), *matrices]
    return Report(_title(verdict), tuple(parts))


def readiness_facts(verdict: ReadinessVerdict) -> dict[str, object]:
    """Tell the verdict to scripts."""
    check = verdict.check
    return {
        "cluster": check.cluster,
        "checked_at": check.checked_at.isoformat(timespec="seconds"),
        "ready": verdict.ready,
        "alike": verdict.alike,
        "nodes": len(check.nodes),
        "out": list(verdict.out),
        "slow": list(verdict.slow),
        "findings": [asdict(finding) for finding in verdict.findings],
        "waiting": [asdict(one) for one in verdict.waiting],
        "cannot": list(verdict.cannot),
        "benchmarks": {name: asdict(shape) for name, shape in _shapes(verdict)},
        "correlations": [asdict(pair) for pair in verdict.together],
        "groups": [asdict(run) for run in check.groups],
        "disturbed": DisturbedRuns.of(check.runs).to_json(),
        "processors": [asdict(one) for one in processor_readings(check)],
        "memory": {node: {**asdict(one), "percent": one.percent} for node, one in channel_rates(check).items()},
        "runs": [_run_facts(run) for run in check.runs if run.measurements],
    }


def _run_facts(run: NodeRun) -> dict[str, object]:
    return {**asdict(run), "disturbed": None if run.disturbed is None else str(run.disturbed)}


def _title(verdict: ReadinessVerdict) -> str:
    return f"Nodes of {verdict.check.cluster}"


def _parts(verdict: ReadinessVerdict) -> Iterator[Part]:
    yield from _verdict(verdict)
    yield from odd_histograms(verdict)
    yield from _details(verdict)


def _verdict(verdict: ReadinessVerdict) -> Iterator[Part]:
    """The answer, and each finding in a sentence."""
    count = len(verdict.check.nodes)
    if verdict.ready and (always := verdict.check.always_disturbed()):
        some = counted(len(always), "benchmark")
        yield Sentence(
            f"Whether a node is slow cannot be told: in {some} all runs of a node were disturbed.", tone=Tone.CAUTION
        )
    elif verdict.ready and not verdict.alike:
        yield Sentence("No node is slow or wrong, but not all is as it should be.", tone=Tone.CAUTION)
    elif verdict.ready:
        which = f"one of {count} nodes" if count > 1 else "the node"
        yield Sentence(f"Ready: nothing was found that makes {which} slow or wrong.", tone=Tone.GOOD)
    else:
        yield Sentence(f"Not ready: {', and '.join(_reasons(verdict))}.", tone=Tone.BAD)
    if disturbed := DisturbedRuns.of(verdict.check.runs).sentence():
        yield Sentence(disturbed, tone=Tone.CAUTION)
    for finding in verdict.findings[:SHOWN]:
        yield Sentence(f"{finding_sentence(finding)}.", tone=TONES[finding.severity])
    if len(verdict.findings) > SHOWN:
        yield Sentence(f"{counted(len(verdict.findings) - SHOWN, 'more finding')}: ⟦json⟧ lists all.")
    for one in verdict.waiting:
        tone = Tone.CAUTION if one.notable else Tone.PLAIN
        yield from (Sentence(said, tone=tone) for said in one.sentences)
    for sentence in verdict.cannot:
        yield Sentence(sentence, tone=Tone.CAUTION)


def _reasons(verdict: ReadinessVerdict) -> Iterator[str]:
    """Say in a few words what makes a cluster not ready: nodes first, then what is between them."""
    if verdict.out:
        yield f"{ranges(verdict.out)} must not be used"
    if verdict.slow:
        yield f"{ranges(verdict.slow)} would slow a run down"
    waits = [one.costly[0] for one in verdict.waiting if one.costly and one.costly[0].node not in verdict.slow]
    if waits:
        first = max(waits, key=lambda one: one.percent)
        told = verdict.alike and not (verdict.out or verdict.slow) and len(verdict.check.nodes) >= FEWEST
        alone = "no node is unlike the others, but " if told else ""
        loses = "loses" if first.noise is False else "may lose"
        yield f"{alone}HPL waits for {ranges([one.node for one in waits])} and {loses} {first.percent:.1f} %"
    if any(finding.what == ALL_LOST for finding in verdict.findings):
        yield "all nodes are slower than they were"
    between = {
        finding.what
        for finding in verdict.findings
        if finding.names and not set(finding.names) & set(verdict.check.nodes)
    }
    words = {
        "weak-uplink": "an uplink is slow",
        "oversubscribed": "an uplink cannot carry what its nodes send",
        "no-messages": "messages do not pass between all nodes",
    }
    yield from (said for what, said in words.items() if what in between)


def finding_sentence(finding: Finding) -> str:
    """A finding's sentence; names of nodes keep their small letters."""
    sentence = finding.sentence
    named = sentence.startswith((*finding.names, ranges(finding.names)))
    return sentence if named else f"{sentence[0].upper()}{sentence[1:]}"


def _details(verdict: ReadinessVerdict) -> Iterator[Part]:
    """What slow nodes cost, all benchmarks as the STAB toolkit prints them, and which go together."""
    yield from (_waiting_table(one) for one in verdict.waiting if len(one.slower) > 1)
    shapes = _shapes(verdict)
    if shapes:
        names = ("benchmark", "nodes", "low", "high", "spread %", "mean", "median", "sd")
        rows = tuple(_row(name, shape) for name, shape in shapes)
        narrow = ("benchmark", "nodes", "median", "spread %")
        yield Table(
            "Benchmarks", columns(*names, words=names[:1]), rows, narrow=narrow, caption="Best run of each node."
        )
    yield from processor_tables(verdict.check)
    yield from memory_tables(verdict.check)
    yield from pair_tables(verdict.check)
    yield from group_tables(verdict.check.groups)
    pairs = [pair for pair in verdict.together if pair.significant][:MOST_PAIRS]
    if pairs:
        rows = tuple(
            (
                BENCHMARKS[pair.one].title,
                BENCHMARKS[pair.other].title,
                f"{pair.coefficient:+.2f}",
                f"{100 * pair.explains:.0f}",
                "<0.001" if pair.p < 0.001 else f"{pair.p:.3f}",
            )
            for pair in pairs
        )
        heads = columns("benchmark", "goes with", "rank r", "explains %", "p", words={"benchmark", "goes with"})
        yield Table("Benchmarks that go together", heads, rows, caption="p is corrected for all pairs (Bonferroni).")


def _waiting_table(waits: WaitingCost) -> Table:
    """Make a row for each number of slowest nodes that are left out, none first."""
    names = ("left out", "nodes", "slowest", "% below the median", "all nodes, GFLOPS", "against all, %")
    together = [waits.gflops, *(one.others_gflops for one in waits.slower)]
    rows = tuple(
        (
            "none" if place == 0 else f"and {waits.slower[place - 1].node}" if place > 1 else waits.slower[0].node,
            str(waits.nodes - place),
            one.node,
            f"{one.percent:.1f}",
            _figure(together[place]),
            f"{100.0 * (together[place] / waits.gflops - 1.0):+.1f}",
        )
        for place, one in enumerate(waits.slower[:MOST_NAMED])
    )
    of_class = f": {waits.node_class}" if waits.node_class else ""
    caption = (
        f"By {BENCHMARKS[waits.benchmark].title}: all nodes do as much as the slowest, before what the network takes."
    )
    heads = columns(*names, words={"left out", "slowest"})
    return Table(f"What the slowest nodes cost HPL{of_class}", heads, rows, caption=caption)


def _row(name: str, shape: ResultShape) -> tuple[str, ...]:
    figures = (shape.low, shape.high, shape.spread_percent, shape.mean, shape.middle, shape.sd)
    return (
        f"{BENCHMARKS[name].title}, {BENCHMARKS[name].unit}",
        str(shape.nodes),
        *(_figure(figure) for figure in figures),
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _shapes(verdict: ReadinessVerdict) -> Sequence[tuple[str, ResultShape]]:
    return [(name, shape_of(list(values.values()))) for name, values in verdict.results.items() if values]


def group_tables(runs: Sequence[GroupRun]) -> Iterator[Table]:
    """Make a table with a row for each order of groups, and one of the failed runs; none where nothing ran."""
    rows = [_group_row(order, own) for order in ORDERS if (own := [run for run in runs if run.order == order])]
    if rows:
        size = len(runs[0].nodes)
        caption = "Sorted: neighbours. Shuffle: drawn anew in each turn. All groups of a turn run at once."
        yield Table(
            f"HPL on groups of {size} nodes, GFLOPS",
            columns(*GROUP_COLUMNS, words={"order"}),
            tuple(rows),
            caption=caption,
        )
    failed = [run for run in runs if not run.counts]
    if failed:
        heads = columns("order", "turn", "nodes", "why", words={"order", "nodes", "why"})
        rows = [(run.order, str(run.turn), ranges(run.nodes), run.why) for run in failed[:MOST_FAILED]]
        caption = f"The first {MOST_FAILED} of {len(failed)}; ⟦json⟧ lists all." if len(failed) > MOST_FAILED else ""
        yield Table("Failed runs on groups", heads, tuple(rows), caption=caption)


def group_figures(runs: Sequence[GroupRun]) -> Iterator[Figure]:
    """Draw the rate of each run over the turns, with its nodes; none where no run counts."""
    series = tuple(
        Series(
            order,
            tuple(f"{order} {run.turn}" for run in own),
            tuple(run.gflops or 0.0 for run in own),
            tuple(ranges(run.nodes) for run in own),
        )
        for order in ORDERS
        if (own := [run for run in runs if run.counts and run.order == order])
    )
    if series:
        yield Figure(f"HPL on groups of {len(runs[0].nodes)} nodes: each run", "order and turn", "GFLOPS", series)


def _group_row(order: str, runs: Sequence[GroupRun]) -> tuple[str, ...]:
    rates = [run.gflops for run in runs if run.counts and run.gflops is not None]
    figures = (min(rates), median(rates), max(rates)) if rates else ()
    failed = str(sum(not run.counts for run in runs))
    return (order, str(len(runs)), failed, *(f"{one:.4g}" for one in figures), *("",) * (3 - len(figures)))


def pair_tables(check: NodeCheck) -> Iterator[Table]:
    """Make a table of each network: the rates of each pattern one pair at a time and all at once."""
    for network in networks_of_check(check):
        rows = []
        for pattern in dict.fromkeys(pair.pattern for pair in check.pairs):
            alone = _pairs_of(check.pairs, network, pattern)
            at_once = [pair.rate for pair in _pairs_of(check.pairs_at_once, network, pattern)]
            if alone:
                rows.append(_pair_row(pattern, alone, at_once))
        if rows:
            title = f"Messages between nodes over {network}, MB/s" if network else "Messages between nodes, MB/s"
            caption = (
                "Low to high: back and forth, one pair at a time. At once: a pair (median) while all of the pattern "
                "send, and their sum."
            )
            yield Table(title, columns(*PAIR_COLUMNS, words={"pattern"}), tuple(rows), narrow=NARROW, caption=caption)


def networks_of_check(check: NodeCheck) -> list[str]:
    """Return the names of the networks, in the order in which they were measured."""
    return list(dict.fromkeys(pair.network for pair in (*check.pairs, *check.pairs_at_once)))


def _pairs_of(pairs: Sequence[PairRate], network: str, pattern: str) -> list[PairRate]:
    return [pair for pair in pairs if (pair.network, pair.pattern) == (network, pattern) and pair.counts]


def _pair_row(pattern: str, alone: Sequence[PairRate], at_once: Sequence[float]) -> tuple[str, ...]:
    rates = [pair.rate for pair in alone]
    latencies = [pair.latency_us for pair in alone if pair.latency_us is not None]
    return (
        pattern,
        str(len(alone)),
        *(_figure(figure) for figure in (min(rates), median(rates), max(rates))),
        f"{median(latencies):.3g}" if latencies else "",
        *((_figure(median(at_once)), _figure(sum(at_once))) if at_once else ("", "")),
    )


def pair_matrices(check: NodeCheck) -> list[Matrix]:
    """Draw the rates between nodes; in a large cluster the slowest pair of each two groups of neighbours."""
    drawn = []
    for network in networks_of_check(check):
        over = f" over {network}" if network else ""
        for how, pairs in (("one pair at a time", check.pairs), ("all pairs at once", check.pairs_at_once)):
            own = [pair for pair in pairs if pair.network == network and pair.counts]
            if own:
                drawn.append(_matrix(f"Slowest rate between nodes{over}, {how}", check.nodes, own))
    return drawn


def _matrix(title: str, nodes: Sequence[str], pairs: Sequence[PairRate]) -> Matrix:
    groups = _groups_of_nodes(nodes)
    place = {node: number for number, group in enumerate(groups) for node in group}
    cells: list[list[float | None]] = [[None] * len(groups) for _ in groups]
    for pair in pairs:
        if pair.one in place and pair.other in place:
            for row, column in ((place[pair.one], place[pair.other]), (place[pair.other], place[pair.one])):
                known = cells[row][column]
                cells[row][column] = pair.rate if known is None else min(known, pair.rate)
    names = tuple(group[0] if len(group) == 1 else f"{group[0]}…" for group in groups)
    return Matrix(title, "node", "node", names, names, tuple(tuple(row) for row in cells), "MB/s")


def _groups_of_nodes(nodes: Sequence[str]) -> list[Sequence[str]]:
    size = -(-len(nodes) // MOST_DRAWN)
    return [nodes[first : first + size] for first in range(0, len(nodes), size)]


def _figure_if_known(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


SHOWN_PROCESSORS = 12
"""Rows of the table of processors: those that throttled, then the hottest, then those with the lowest clock."""


def processor_tables(check: NodeCheck) -> Iterator[Table]:
    """Make a table of clocks and temperatures while all cores were busy; none where no node has such sensors."""
    readings = processor_readings(check)
    if not readings:
        return
    names = ("processor", "while", "runs", "MHz", "lowest MHz", "°C before", "hottest °C", "throttled")
    rows = tuple(
        (
            one.title,
            BENCHMARKS[one.benchmark].title,
            str(one.runs),
            *map(_figure_if_known, (one.clock_mhz, one.lowest_clock_mhz, one.begin_temperature_c, one.temperature_c)),
            _figure_if_known(one.throttle_events),
        )
        for one in sorted(
            readings,
            key=lambda one: (-(one.throttle_events or 0.0), -(one.temperature_c or 0.0), one.clock_mhz or math.inf),
        )[:SHOWN_PROCESSORS]
    )
    left = len(readings) - len(rows)
    more = f" The first {len(rows)} of {len(readings)} rows; ⟦json⟧ has all." if left > 0 else ""
    caption = f"No value: the node has no such sensor, or the run was too short. A virtual machine has one clock.{more}"
    narrow = ("processor", "while", "MHz", "hottest °C", "throttled")
    yield Table(
        "Processors while all cores were busy", columns(*names, words=names[:2]), rows, narrow=narrow, caption=caption
    )


def memory_tables(check: NodeCheck) -> Iterator[Table]:
    """Make a table of the memories against their channels, the lowest part first; none where no node tells them."""
    rates = channel_rates(check)
    if not rates:
        return
    names = ("node", "channels", "they give, GB/s", "STREAM triad, GB/s", "%")
    rows = tuple(
        (
            node,
            f"{one.filled} of {one.present}",
            f"{one.gives_gb_s:.4g}",
            f"{one.measured_gb_s:.4g}",
            f"{one.percent:.0f}",
        )
        for node, one in sorted(rates.items(), key=lambda item: item[1].percent)[:SHOWN_PROCESSORS]
    )
    left = len(rates) - len(rows)
    more = f" The lowest {len(rows)} of {len(rates)} nodes; ⟦json⟧ has all." if left > 0 else ""
    caption = f"STREAM counts three quarters of what is moved where a CPU reads what it overwrites.{more}"
    yield Table("Memory against its channels", columns(*names, words=names[:1]), rows, caption=caption)


NARROW_CHANGES = ("benchmark", "nodes", "change %", "lost more")


def changes_report(title: str, changes: Sequence[RateChange], findings: Sequence[Finding]) -> Report:
    """Say what is worse and what else changed, then how each benchmark changed."""
    worse = any(finding.severity is not Severity.NOTE for finding in findings)
    parts: list[Part] = [Sentence("Worse than it was." if worse else "Nothing is worse than it was.",
                                  tone=Tone.BAD if worse else Tone.GOOD)]  # fmt: skip
    parts += [Sentence(f"{finding_sentence(finding)}.", tone=TONES[finding.severity]) for finding in findings]
    if changes:
        heads = columns(
            "benchmark", "nodes", "change %", "clear", "lost more", words={"benchmark", "clear", "lost more"}
        )
        rows = tuple(
            (
                change.title,
                str(change.nodes),
                f"{change.percent:+.1f}",
                "yes" if change.common else "no",
                ranges(tuple(change.lost)),
            )
            for change in changes
        )
        caption = "Change: the median over the nodes; clear: more than noise. Lost more: nodes that lost clearly more."
        parts.append(Table(title, heads, rows, narrow=NARROW_CHANGES, caption=caption))
    else:
        parts.append(Sentence("No benchmark ran in both checks."))
    facts = {
        "worse": worse,
        "findings": [asdict(finding) for finding in findings],
        "changes": [{**asdict(change), "lost": dict(change.lost)} for change in changes],
    }
    return Report(title, tuple(parts), facts)
