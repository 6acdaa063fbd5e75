"""The report of a check of nodes: the verdict first, then what was found, then all results."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from results.report.model import Column, Heading, Part, Report, Sentence, Table, Tone
from results.stats.nodes.baseline.since_baseline import ALL_LOST
from results.stats.nodes.check import BENCHMARKS
from results.stats.nodes.finding import Finding, Severity
from results.stats.nodes.name_ranges import ranges
from results.stats.nodes.shape import ResultShape, shape_of
from results.stats.nodes.soak import soaked_nodes
from results.stats.nodes.verdict import ReadinessVerdict

from ...words import counted
from .figures import benchmark_figures, node_grid, odd_histograms
from .group_table import group_figures, group_tables
from .messages import pair_matrices, pair_tables
from .soak import soak_figures, soak_tables

TONES = {Severity.OUT: Tone.BAD, Severity.SLOW: Tone.BAD, Severity.ODD: Tone.CAUTION, Severity.NOTE: Tone.PLAIN}
SHOWN = 30
"""Findings that a terminal and a page show."""
MOST_PAIRS = 12
"""Correlations that are shown."""


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
    over_time = list(soak_figures(check))
    if over_time:
        parts += [Heading("HPL again and again"), *over_time]
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
        "cannot": list(verdict.cannot),
        "benchmarks": {name: asdict(shape) for name, shape in _shapes(verdict)},
        "correlations": [asdict(pair) for pair in verdict.together],
        "groups": [asdict(run) for run in check.groups],
        "soak": [asdict(node) for node in soaked_nodes(check)],
    }


def _title(verdict: ReadinessVerdict) -> str:
    return f"Nodes of {verdict.check.cluster}"


def _parts(verdict: ReadinessVerdict) -> Iterator[Part]:
    yield from _verdict(verdict)
    yield from odd_histograms(verdict)
    yield from _details(verdict)


def _verdict(verdict: ReadinessVerdict) -> Iterator[Part]:
    """The answer, and each finding in a sentence."""
    count = len(verdict.check.nodes)
    if verdict.ready and not verdict.alike:
        yield Sentence("No node is slow or wrong, but not all is as it should be.", tone=Tone.CAUTION)
    elif verdict.ready:
        which = f"one of {count} nodes" if count > 1 else "the node"
        said = f"Ready: nothing was found that makes {which} slow or wrong."
        yield Sentence(said, tone=Tone.GOOD)
    else:
        yield Sentence(f"Not ready: {', and '.join(_reasons(verdict))}.", tone=Tone.BAD)
    for finding in verdict.findings[:SHOWN]:
        yield Sentence(f"{finding_sentence(finding)}.", tone=TONES[finding.severity])
    if len(verdict.findings) > SHOWN:
        yield Sentence(f"{counted(len(verdict.findings) - SHOWN, 'more finding')}: --json lists all.")
    for sentence in verdict.cannot:
        yield Sentence(sentence, tone=Tone.CAUTION)


def _reasons(verdict: ReadinessVerdict) -> Iterator[str]:
    """Say in a few words what makes a cluster not ready: nodes first, then what is between them."""
    if verdict.out:
        yield f"{ranges(verdict.out)} must not be used"
    if verdict.slow:
        yield f"{ranges(verdict.slow)} would slow a run down"
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
    """All benchmarks as the STAB toolkit prints them, and which go together."""
    shapes = _shapes(verdict)
    if shapes:
        names = ("benchmark", "nodes", "low", "high", "spread %", "mean", "median", "sd", "normal p", "one peak p")
        columns = (Column("benchmark", words=True), *(Column(name) for name in names[1:]))
        rows = tuple(_row(name, shape) for name, shape in shapes)
        narrow = ("benchmark", "nodes", "median", "spread %")
        caption = "Best run of each node. p: how probable so odd results are, if they were normal, or had one peak."
        yield Table("Benchmarks", columns, rows, narrow=narrow, caption=caption)
    yield from soak_tables(verdict.check)
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
                _p(pair.p),
            )
            for pair in pairs
        )
        columns = (
            Column("benchmark", words=True),
            Column("goes with", words=True),
            *map(Column, ("rank r", "explains %", "p")),
        )
        yield Table("Benchmarks that go together", columns, rows, caption="p is corrected for all pairs (Holm).")


def _row(name: str, shape: ResultShape) -> tuple[str, ...]:
    figures = (shape.low, shape.high, shape.spread_percent, shape.mean, shape.middle, shape.sd)
    return (
        f"{BENCHMARKS[name].title}, {BENCHMARKS[name].unit}",
        str(shape.nodes),
        *(_figure(figure) for figure in figures),
        _p(shape.normal_p),
        _p(shape.one_peak_p),
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _shapes(verdict: ReadinessVerdict) -> Sequence[tuple[str, ResultShape]]:
    return [(name, shape_of(list(values.values()))) for name, values in verdict.results.items() if values]
