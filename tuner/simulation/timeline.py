"""What each rank of a simulated run does at each time: the run is simulated again, and the simulator writes it down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hpl.params import HplParams, Pmap
from results.report.model import Stretch

from ..errors import TunerError
from ..stopping import Stopping
from .cluster import SimulatedCluster
from .plan import VirtualPlan
from .simulator import Simulator

PHASES = ("panel", "broadcast", "row swaps", "update", "rest", "wait")
"""What a rank can do; "rest" is the triangular solve at the end, and copies."""
WRITTEN = ("rest", "panel", "broadcast", "row swaps", "update", "rest", "wait")
"""The same in the order of `hpl/native/virtual/virtual.h`."""
FILE = "timeline"
LONGEST_S = 1800.0
"""Real seconds after which a simulation is ended."""
BINS, PAGE_BINS, LANES = 1200, 600, 32
"""Equal parts of the time that a picture and a page show, and ranks: a figure of a long run is not larger."""
PURE, PARTS = 0.85, 8
"""A part of the time is wholly of a phase that takes so much of it; else phases are told in eighths."""


@dataclass(frozen=True)
class RunTimeline:
    """What the ranks of a run did.

    Attributes:
        time_s: the whole run.
        begin_s, end_s: the time that `lanes` shows.
        hpl: what was run.
        nodes: the node of each rank.
        ranks_s: of each rank the seconds of each of PHASES, which add up to the whole run.
        lanes: of some ranks, evenly spread, what they did in the time shown.
        steps_s: when the first rank began to factor each panel.
    """

    time_s: float
    begin_s: float
    end_s: float
    hpl: HplParams
    nodes: tuple[str, ...]
    ranks_s: tuple[tuple[float, ...], ...]
    lanes: Mapping[int, tuple[Stretch, ...]]
    steps_s: tuple[float, ...]

    def when(self, steps: tuple[int, int]) -> tuple[float, float]:
        """When a first step begins and a last one ends; steps count from 1, and those after the last are none."""
        ends_s = (*self.steps_s, self.time_s)
        first, last = (min(step, len(self.steps_s)) for step in steps)
        return ends_s[first - 1], ends_s[last]

    @property
    def mean_s(self) -> dict[str, float]:
        """Seconds of each phase, on average over the ranks."""
        return {
            phase: sum(rank[place] for rank in self.ranks_s) / len(self.ranks_s) for place, phase in enumerate(PHASES)
        }


def run_timeline(
    site: SimulatedCluster, plan: VirtualPlan, window_s: tuple[float, float], stop: Stopping, bins: int = BINS
) -> RunTimeline:
    """Simulate a run again and return what its ranks did.

    Args:
        window_s: the time of the run that is shown.
        bins: equal parts of it.

    Raises:
        TunerError: it cannot be simulated again.
    """
    with TemporaryDirectory(prefix="hpltune-timeline-") as made:
        folder = Path(made) / "run"
        asked = f"{FILE} {window_s[0]:.9g} {window_s[1]:.9g} {bins} {','.join(map(str, shown_ranks(plan.runs[0])))}"
        found = Simulator(site, 1, timeline=asked).run(plan, folder, LONGEST_S, stop)
        if not (folder / FILE).is_file():
            fault = found.verdict.faults[0]
            raise TunerError(f"the run cannot be simulated again: {fault.reason if fault else 'it told nothing'}")
        return _read(folder / FILE, plan, window_s, bins)


def shown_ranks(hpl: HplParams) -> list[int]:
    """The ranks that are shown: all, or some from all rows and columns of the process grid."""
    step, line = -(-hpl.ranks // LANES), hpl.Q if hpl.PMAP is Pmap.ROW else hpl.P
    return [rank for base in range(0, hpl.ranks, step) if (rank := base + base // line % step) < hpl.ranks]


def _read(file: Path, plan: VirtualPlan, window_s: tuple[float, float], bins: int) -> RunTimeline:
    """Read what the simulator wrote down."""
    lines = file.read_text(encoding="ascii").splitlines()
    head = lines[0].split()
    ranks = int(head[1])
    lanes = [line.partition(" ") for line in lines[2 + ranks :]]
    return RunTimeline(
        time_s=float(head[0]),
        begin_s=window_s[0],
        end_s=window_s[1],
        hpl=plan.runs[0],
        nodes=tuple(plan.setup.hosts(ranks)),
        ranks_s=tuple(_phases(list(map(float, line.split()))) for line in lines[2 : 2 + ranks]),
        lanes={int(rank): tuple(_spans(list(map(float, text.split())), window_s, bins)) for rank, _, text in lanes},
        steps_s=tuple(map(float, lines[1].split())),
    )


def _phases(written: Sequence[float]) -> tuple[float, ...]:
    """Seconds of each of PHASES from those of each of WRITTEN."""
    return tuple(sum(s for name, s in zip(WRITTEN, written, strict=True) if name == phase) for phase in PHASES)


def _spans(written: Sequence[float], window_s: tuple[float, float], bins: int) -> list[Stretch]:
    """What a rank did in each equal part of a time; parts that are alike are one."""
    begin_s, width_s, kinds = window_s[0], (window_s[1] - window_s[0]) / bins, len(WRITTEN)
    seconds = [_phases(written[number * kinds : (number + 1) * kinds]) for number in range(bins)]
    parts = [_eighths(one) for one in seconds]
    spans = list[Stretch]()
    for number, own in enumerate(parts):
        at_s = begin_s + number * width_s
        before, after = parts[max(0, number - 1)], parts[min(bins - 1, number + 1)]
        for length_s, told in _in_turn(seconds[number], before, after) or [(width_s, own)]:
            end_s = at_s + length_s
            if spans and spans[-1].parts == told and abs(spans[-1].end - at_s) < width_s / 1000:
                spans[-1] = replace(spans[-1], end=end_s)
            elif any(told):
                spans.append(Stretch(at_s, end_s, told))
            at_s = end_s
    return [Stretch(round(one.begin, 7), round(one.end, 7), one.parts) for one in spans]


def _in_turn(
    seconds: tuple[float, ...], before: tuple[float, ...], after: tuple[float, ...]
) -> list[tuple[float, tuple[float, ...]]]:
    """Tell the phases of a part of the time one after the other, where those beside it say their order; else nothing.

    Args:
        before, after: the parts of phases beside it.
    """
    if before == after or 1.0 not in before or 1.0 not in after:
        return []
    first, last = before.index(1.0), after.index(1.0)
    there = [place for place, one in enumerate(seconds) if one > 0]
    between = [place for place in there if place not in {first, last}]
    if len(between) > 1:
        return []
    order = [place for place in (first, *between, last) if place in there]
    return [(seconds[place], tuple(float(one == place) for one in range(len(seconds)))) for place in order]


def _eighths(seconds: tuple[float, ...]) -> tuple[float, ...]:
    """How much each phase takes of a stretch of time, coarsely; nothing where there is none."""
    whole_s = sum(seconds)
    if whole_s <= 0:
        return (0.0,) * len(seconds)
    if max(seconds) >= PURE * whole_s:
        return tuple(float(one == max(seconds)) for one in seconds)
    exact = [PARTS * one / whole_s for one in seconds]
    parts = [int(one) for one in exact]
    for place in sorted(range(len(exact)), key=lambda one: parts[one] - exact[one])[: PARTS - sum(parts)]:
        parts[place] += 1
    return tuple(one / PARTS for one in parts)
