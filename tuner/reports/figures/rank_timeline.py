"""What each rank of a run did over time, as lanes: one run, or several below each other on the same axis of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hpl.params import HplParams, Pmap
from hpl.witness import parse_panels
from results.record import Study, TrialRecord
from results.report.model import Gantt, Lane, LaneGroup, Stretch, Table, columns

from ...simulation.timeline import PHASES, RunTimeline
from ...words import counted, listed
from ..virtual_cluster import virtual_cluster_of
from .phases import phases_s

NEEDS = "a simulated run, or an output of HPL with its phases"
S = "\N{NO-BREAK SPACE}s"
MOST_STEPS = 200
"""Steps that are marked; more marks would be a line."""
MOST_DIFFERENT = 3
"""Parameters in a title, of those in which runs differ."""
MEAN = "mean of all"
CHANGED = 0.005
"""Part of a run by which a phase must have changed to be told."""
COARSE = (
    "This was a real run, so it is coarser: HPL's timers tell only sums over the whole run, each of the rank for "
    "which it is largest. What they leave is broadcast and waiting. A mark above the lane: a panel begins."
)


@dataclass(frozen=True)
class DrawnRun:
    """A run with what its ranks did."""

    record: TrialRecord
    did: RunTimeline


def rank_lanes(runs: Sequence[DrawnRun], steps: tuple[int, int] | None = None) -> Gantt:
    """Draw runs below each other, from the beginning of what is shown of each.

    Args:
        runs: at least one.
        steps: the steps that are shown; None for whole runs.
    """
    first = runs[0].did
    several = len(runs) > 1
    differ = _different([run.record for run in runs])
    begin_s = min(run.did.begin_s for run in runs)
    return Gantt(
        title=f"What each rank did in {_trials(runs)}" + ("" if steps is None else f", {_steps(first, steps)}"),
        x_axis="seconds from the start of the solve",
        lane_axis="node (row, column)" if len(set(first.nodes)) == len(first.nodes) else "rank (row, column)",
        kinds=PHASES,
        groups=tuple(
            LaneGroup(
                _title(run, differ if several else None),
                tuple(Lane(_name(run.did, rank), spans) for rank, spans in sorted(run.did.lanes.items())),
                tuple(at_s for at_s in run.did.steps_s if run.did.begin_s <= at_s < run.did.end_s)
                if len(run.did.steps_s) <= MOST_STEPS
                else (),
            )
            for run in runs
        ),
        begin=begin_s,
        end=max(run.did.end_s for run in runs),
        caption=" ".join([*_how_to_read(first, steps), *_found(runs, steps)]),
    )


def shares_table(runs: Sequence[DrawnRun]) -> Table:
    """List what part of its run each rank that is shown spent with what, and the mean of all ranks."""
    rows = []
    for run in runs:
        parts = [(_name(run.did, rank), run.did.ranks_s[rank]) for rank in sorted(run.did.lanes)]
        for name, seconds in [*parts, (MEAN, tuple(run.did.mean_s.values()))]:
            trial = [str(run.record.number)] if len(runs) > 1 else []
            rows.append((*trial, name, *(f"{100 * one / run.did.time_s:.1f}" for one in seconds)))
    return Table(
        "What part of the run each rank spent, in %",
        columns(*(["trial"] if len(runs) > 1 else []), "rank", *PHASES, words={"rank"}),
        tuple(rows),
        bold=frozenset(place for place, row in enumerate(rows) if MEAN in row),
    )


def shares_facts(run: DrawnRun) -> dict[str, object]:
    """The same of one run for scripts, in seconds."""
    did = run.did
    return {
        "trial": run.record.number,
        "time_s": did.time_s,
        "shown_s": [did.begin_s, did.end_s],
        "steps": len(did.steps_s),
        "ranks": [
            {"rank": rank, "node": did.nodes[rank], "seconds": dict(zip(PHASES, seconds, strict=True))}
            for rank, seconds in enumerate(did.ranks_s)
        ],
        "mean_seconds": did.mean_s,
    }


def can_have_lanes(study: Study, record: TrialRecord) -> bool:
    """Whether a run has what its lanes are drawn from."""
    return coarse_lanes([record]) is not None or (record.simulated and virtual_cluster_of(study) is not None)


def coarse_lanes(records: Sequence[TrialRecord]) -> Gantt | None:
    """Draw what HPL's own timers tell of real runs; None where one of them has none, or was simulated."""
    groups = [group for record in records if (group := _coarse(record)) is not None]
    if not groups or len(groups) < len(records):
        return None
    numbers = listed([str(record.number) for record in records])
    return Gantt(
        title=f"What the ranks did in trial{'s' if records[1:] else ''} {numbers}, as HPL's timers tell it",
        x_axis="seconds from the start of the solve",
        lane_axis="",
        kinds=(*PHASES[:-1], "broadcast, wait"),
        groups=tuple(groups),
        begin=0.0,
        end=max(group.lanes[0].spans[-1].end for group in groups),
        caption=COARSE,
    )


def _coarse(record: TrialRecord) -> LaneGroup | None:
    told, time_s = phases_s(record), record.time_s
    if record.simulated or not any(told.values()) or not time_s or record.hpl is None:
        return None
    swaps_s = told.get("laswp", 0.0)
    seconds = {
        "panel": told.get("rfact", 0.0),
        "row swaps": swaps_s,
        "update": max(0.0, told.get("update", 0.0) - swaps_s),
        "rest": told.get("up tr sv", 0.0),
    }
    seconds["wait"] = max(0.0, time_s - sum(seconds.values()))
    parts = tuple(seconds.get(phase, 0.0) / sum(seconds.values()) for phase in PHASES)
    steps = tuple(panel.time_s for panel in parse_panels(record.errors_text) if panel.time_s <= time_s)
    said = ", ".join(f"{phase} {part:.0%}" for phase, part in zip(PHASES[:-1], parts, strict=False) if part >= CHANGED)
    lane = Lane("all ranks", (Stretch(0.0, time_s, parts),))
    return LaneGroup(f"{_words(record.hpl, time_s)}; {said}", (lane,), steps if len(steps) <= MOST_STEPS else ())


def _trials(runs: Sequence[DrawnRun]) -> str:
    numbers = [str(run.record.number) for run in runs]
    return f"trial{'s' if len(runs) > 1 else ''} {listed(numbers)}"


def _name(did: RunTimeline, rank: int) -> str:
    """The node of a rank, or its number where ranks share nodes, with its place in the grid."""
    hpl, alone = did.hpl, len(set(did.nodes)) == len(did.nodes)
    row, column = divmod(rank, hpl.Q) if hpl.PMAP is Pmap.ROW else divmod(rank, hpl.P)[::-1]
    return f"{did.nodes[rank] if alone else rank} ({row},{column})"


def _title(run: DrawnRun, differ: Sequence[str] | None) -> str:
    """What a run is, in a line: what differs from the others, or its main parameters."""
    if differ is None:
        return _words(run.did.hpl, run.did.time_s)
    said = [f"{name.rpartition('.')[2]}={run.record.params.get(name, '')}" for name in differ[:MOST_DIFFERENT]]
    more = f" and {len(differ) - MOST_DIFFERENT} more" if len(differ) > MOST_DIFFERENT else ""
    told = [", ".join(said) + more] if said else []
    return f"Trial {run.record.number}: {', '.join([*told, f'{run.did.time_s:.4g} s'])}"


def _words(hpl: HplParams, time_s: float) -> str:
    return f"{hpl.P}x{hpl.Q}, N={hpl.N}, NB={hpl.NB}, DEPTH={hpl.DEPTH}: {time_s:.4g} s"


def _different(records: Sequence[TrialRecord]) -> list[str]:
    """The parameters in which runs differ."""
    names = dict.fromkeys(name for record in records for name in record.params)
    return [name for name in names if len({record.params.get(name) for record in records}) > 1]


def _steps(did: RunTimeline, steps: tuple[int, int]) -> str:
    last = min(steps[1], len(did.steps_s))
    return f"steps {steps[0]} to {last} of {len(did.steps_s)}" if last > steps[0] else f"step {last}"


def _how_to_read(did: RunTimeline, steps: tuple[int, int] | None) -> list[str]:
    """What a lane and a mark are, and which part of a run is shown."""
    whole = ["Shown is the whole run."] if steps is None else []
    some = len(did.lanes) < len(did.ranks_s)
    few = [f"{len(did.lanes)} of {len(did.ranks_s):,} ranks are shown, from all rows and columns."] if some else []
    marks = ["A mark above the lanes: the next panel begins."] if len(did.steps_s) <= MOST_STEPS else []
    return ["A lane is a rank, with its row and column in the process grid.", *marks, *whole, *few]


def _found(runs: Sequence[DrawnRun], steps: tuple[int, int] | None) -> list[str]:
    """What the ranks spent their time with, and what changed from the first run to each other one."""
    first = runs[0]
    whole = "" if steps is None else " over the whole run"
    trial = f", trial {first.record.number}" if runs[1:] else ""
    of = f"Mean of {counted(len(first.did.ranks_s), 'rank')}{whole}{trial}"
    parts = sorted(first.did.mean_s.items(), key=lambda one: -one[1])
    told = [f"{phase} {s / first.did.time_s:.1%}" for phase, s in parts if s >= CHANGED * first.did.time_s]
    again = [said for run in runs if (said := _again(run))]
    return [f"{of}: {', '.join(told)}.", *(_change(first, run) for run in runs[1:]), *again]


def _change(first: DrawnRun, other: DrawnRun) -> str:
    """Say where the time of another run went, beside the first."""
    one, two = first.did.mean_s, other.did.mean_s
    moved = [phase for phase in PHASES if abs(two[phase] - one[phase]) >= CHANGED * first.did.time_s]
    moved.sort(key=lambda phase: -abs(two[phase] - one[phase]))
    told = [f"{phase} {_seconds(one)[phase]} to {_seconds(two)[phase]}{S}" for phase in moved]
    gained_s = first.did.time_s - other.did.time_s
    speed = f"takes {abs(gained_s):.3g}{S} {'less' if gained_s > 0 else 'more'}"
    return (
        f"Trial {other.record.number} {speed}: {', '.join(told)} (mean of the ranks)."
        if told
        else (f"Trial {other.record.number} {speed}.")
    )


def _seconds(mean_s: Mapping[str, float]) -> dict[str, str]:
    return {phase: f"{s:.3g}" for phase, s in mean_s.items()}


def _again(run: DrawnRun) -> str:
    """Say where the run that was simulated for the figure took another time than the one on record."""
    was_s = run.record.time_s
    if was_s is None or abs(run.did.time_s - was_s) <= max(0.001 * was_s, 0.006):
        return ""
    now = f"Trial {run.record.number} takes {run.did.time_s:.4g} s when it is simulated now"
    return f"{now}, and {was_s:.4g} s on record: another version simulated it then."
