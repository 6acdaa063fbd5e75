"""A list of studies: its table for people and its facts for scripts."""

from collections.abc import Sequence
from dataclasses import dataclass

from results.metrics import rate_text
from results.record import Study
from results.report.model import Column, Table, Wrap
from results.store.study_list import Tally

FIGURES = frozenset({"trials", "failed", "best GFLOPS"})
UNBROKEN = frozenset({"state", "engine", "trials", "rates"})


@dataclass(frozen=True)
class StudyLine:
    """One study of a list.

    Attributes:
        state: how it stands.
        best_gflops: what one more run of its best configuration should give; None where no run counts.
    """

    study: Study
    state: str
    tally: Tally
    best_gflops: float | None

    def to_json(self) -> dict[str, object]:
        """All that scripts are told of it."""
        return {
            "study": self.study.name,
            "created_at": self.study.created_at.isoformat(),
            "state": self.state,
            "space": self.study.space_name,
            "engine": self.study.engine,
            "rates": self.study.how,
            "trials": self.tally.trials,
            "failed": self.tally.failed,
            "best_gflops": self.best_gflops,
        }


def studies_table(lines: Sequence[StudyLine]) -> Table:
    """Build a table with a row for each study; how rates came about is told where some were not measured."""
    apart = any(line.study.simulated for line in lines)
    heads = ("study", "when", "state", "engine", "trials", "failed", *(["rates"] if apart else []), "best GFLOPS")
    columns = tuple(
        Column(head, words=head not in FIGURES, wrap=Wrap.NEVER if head in UNBROKEN else Wrap.ANYWHERE)
        for head in heads
    )
    return Table("", columns, tuple(_row(line, apart=apart) for line in lines))


def _row(line: StudyLine, *, apart: bool) -> tuple[str, ...]:
    when = line.study.created_at.astimezone().strftime("%Y-%m-%d %H:%M")
    best = "" if line.best_gflops is None else rate_text(line.best_gflops)
    tally = line.tally
    how = [line.study.how] if apart else []
    return line.study.name, when, line.state, line.study.engine, str(tally.trials), str(tally.failed), *how, best
