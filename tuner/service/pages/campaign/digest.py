"""What the page of a campaign knows of all its trials: each is read once, however often the page is shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from results.metrics import rate_text
from results.record import TrialState
from results.store.study_list import RateRow, StudyLists

from ....study.names import COUNTED
from ....words import counted

_COUNTED = frozenset(kind.value for kind in COUNTED)


@dataclass(frozen=True)
class Improvement:
    """A full run that was faster than all before it.

    Attributes:
        machine_s: seconds of all trials until then.
    """

    number: int
    gflops: float
    machine_s: float


@dataclass
class Cell:
    """The full runs of one NB and grid."""

    runs: int = 0
    best_gflops: float = 0.0


@dataclass
class CampaignTotals:
    """The trials of one campaign, added up.

    Attributes:
        begun: number of the last one that is known.
        running: numbers of those that ran at the last look.
        counted: those that a budget of trials counts.
        improvements: the first full run and each faster one, in the order in which they were read.
        cells: full runs by NB and grid.
        full: how many full runs count.
    """

    begun: int = 0
    running: set[int] = field(default_factory=set)
    ended: int = 0
    failed: int = 0
    counted: int = 0
    machine_s: float = 0.0
    improvements: list[Improvement] = field(default_factory=list)
    cells: dict[tuple[int, tuple[int, int]], Cell] = field(default_factory=dict)
    full: int = 0

    def read(self, lists: StudyLists, campaign: str) -> bool:
        """Read what is new; tell whether there was anything."""
        return self.take(lists.rates(campaign, self.begun, self.running))

    def take(self, rows: Iterable[RateRow]) -> bool:
        """Add trials, and the ends of those that ran; tell whether there was anything new."""
        news = False
        for row in rows:
            known = row.number <= self.begun
            self.begun = max(self.begun, row.number)
            if row.state == TrialState.RUNNING:
                self.running.add(row.number)
                news |= not known
                continue
            self.running.discard(row.number)
            self._add(row)
            news = True
        return news

    def _add(self, row: RateRow) -> None:
        self.ended += 1
        self.failed += row.state == TrialState.FAILED
        self.counted += row.kind in _COUNTED and row.seen_to_end and row.state != TrialState.CANCELLED
        self.machine_s += row.cost_s
        if not row.full or row.gflops is None:
            return
        self.full += 1
        if row.NB is not None and row.P is not None and row.Q is not None:
            cell = self.cells.setdefault((row.NB, (row.P, row.Q)), Cell())
            cell.runs += 1
            cell.best_gflops = max(cell.best_gflops, row.gflops)
        if not self.improvements or row.gflops > self.improvements[-1].gflops:
            self.improvements.append(Improvement(row.number, row.gflops, self.machine_s))

    @property
    def all_failed(self) -> bool:
        """Whether trials have ended, and none of them well."""
        return self.ended == self.failed > 0

    @property
    def best(self) -> Improvement | None:
        """The fastest full run so far."""
        return self.improvements[-1] if self.improvements else None


WIDE, HIGH, AIR = 100, 30, 3
"""Of the small picture of a growth, and what is free above and below its line."""


GrownRate = tuple[str, str]
"""The path of a line in SVG, with machine time from 0 to `WIDE` and the rate from `HIGH` up to 0; and all in words."""


def growth_of(totals: CampaignTotals) -> GrownRate | None:
    """Draw how the best rate grew; None before the first full run."""
    steps = totals.improvements
    if not steps:
        return None
    low, high, whole_s = steps[0].gflops, steps[-1].gflops, totals.machine_s or 1.0
    corners = list[str]()
    for step in steps:
        x = round(WIDE * step.machine_s / whole_s, 1) if corners else 0
        part = (step.gflops - low) / (high - low) if high > low else 0.5
        corners += [f"H{x}", f"V{round(HIGH - AIR - (HIGH - 2 * AIR) * part, 1)}"]
    line = f"M0 {corners[1][1:]}{''.join(corners[2:])}H{WIDE}"
    grew = f"grew from {rate_text(low)} to {rate_text(high)}" if high > low else f"stayed at {rate_text(high)}"
    return line, f"The best rate {grew} GFLOPS in {counted(totals.ended, 'trial')}."
