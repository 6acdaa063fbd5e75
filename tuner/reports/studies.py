"""A list of studies: its table for people and its facts for scripts."""

from collections.abc import Sequence
from dataclasses import dataclass

from results.metrics import rate_text
from results.record import Study
from results.report.model import Column, Table, Wrap
from results.stats.headline import NO_RATES, HeadlineRates
from results.store.study_list import Tally

FIGURES = frozenset({"trials", "failed", "fastest GFLOPS", "expected GFLOPS"})
SHORT = {"fastest GFLOPS": "fastest", "expected GFLOPS": "expected"}
UNBROKEN = frozenset({"state", "engine", "trials", "rates"})


@dataclass(frozen=True)
class StudyLine:
    """One study of a list.

    Attributes:
        state: how it stands.
        rates: None where no run counts.
    """

    study: Study
    state: str
    tally: Tally
    rates: HeadlineRates | None

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
            **(self.rates.to_json() if self.rates else NO_RATES),
        }


def studies_table(lines: Sequence[StudyLine]) -> Table:
    """Build a table with a row for each study; how rates came about is told where some were not measured."""
    apart = any(line.study.simulated for line in lines)
    estimated = any(line.rates and line.rates.expected_gflops is not None for line in lines)
    heads = ("study", "when", "state", "engine", "trials", "failed", *(["rates"] if apart else []), "fastest GFLOPS")
    heads += ("expected GFLOPS",) if estimated else ()
    columns = tuple(
        Column(head, head not in FIGURES, Wrap.NEVER if head in UNBROKEN | FIGURES else Wrap.ANYWHERE, SHORT.get(head))
        for head in heads
    )
    said = "Fastest: of all full runs. Expected: of one more run of no. 1, an estimate." if estimated else ""
    return Table("", columns, tuple(_row(line, apart=apart)[: len(heads)] for line in lines), caption=said)


def _row(line: StudyLine, *, apart: bool) -> tuple[str, ...]:
    when = line.study.created_at.astimezone().strftime("%Y-%m-%d %H:%M")
    fastest = "" if line.rates is None else rate_text(line.rates.fastest_gflops)
    estimate = None if line.rates is None else line.rates.expected_gflops
    expected = "" if estimate is None else rate_text(estimate)
    tally = line.tally
    how = [line.study.how] if apart else []
    return (
        line.study.name,
        when,
        line.state,
        line.study.engine,
        str(tally.trials),
        str(tally.failed),
        *how,
        fastest,
        expected,
    )
