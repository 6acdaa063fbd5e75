"""`hpltune export sheet`: the fields that the TOP500 and the Green500 ask for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from results.errors import ResultsError
from results.report.model import Report
from results.stats.headline import fastest_run
from results.store.store import Store

from ...reports.context import Context
from ...reports.submission import Sheet


@dataclass(frozen=True)
class SheetResult:
    """The sheet of a study."""

    sheet: Sheet

    def report(self) -> Report:
        """Report the fields, after what a reader must know first."""
        context = Context.of_runs(self.sheet.study, [self.sheet.best])
        report = self.sheet.report()
        facts = report.facts if isinstance(report.facts, Mapping) else {}
        return replace(context.page(report), facts={**facts, "cautions": context.cautions()})


def submission_sheet(store: Store, name: str | None = None) -> SheetResult:
    """Fill in the sheet with the fastest full run that counts.

    Args:
        name: None for the newest study.

    Raises:
        ResultsError: there is no such study, or no run of it counts.
    """
    study = store.study(name) if name else store.newest()
    records = store.records(study.name)
    fastest = fastest_run(study, records)
    if fastest is None:
        raise ResultsError(
            f"study {study.name} has no run whose residual was checked and PASSED, so there is nothing to submit: "
            f"`hpltune show {study.name}` lists what ran"
        )
    return SheetResult(Sheet(study, fastest, records))
