"""`hpltune report ⟦as⟧`: the report to hand in of a published tuning that somebody repeated."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from results.report.model import Report
from runners.virtual.load import load_cluster

from ..events import Listener, WorkEnded, WorkStarted
from ..options import DEFAULT_SIMULATION_S
from ..reports.hand_in import HandInPage
from ..reports.study_page import StudyPage
from ..simulation.cluster import SimulatedCluster
from ..simulation.lesson import lesson_names
from ..simulation.plan import virtual_plan
from ..simulation.reproduction import published, simulate_tests
from ..simulation.session import cores_here
from ..stopping import StopRequest
from ..user_files import require_writable_file
from ..words import counted
from .learn import opened_book
from .report_files import write_page
from .session import open_session
from .stored.report import page_of


@dataclass(frozen=True)
class HandInRequest:
    """What is asked of a report to hand in.

    Attributes:
        name: of the publication.
        studies: names of studies that go with it; none takes none.
        out: file to write.
        author: who hands it in; "" leaves a line to write the name on.
        interactive: figures can be enlarged and read off, by a small script.
        db: a file or a URL; None for the user's own database.
    """

    name: str
    studies: tuple[str, ...]
    out: Path
    author: str = ""
    interactive: bool = True
    db: str | None = None

    @property
    def command(self) -> str:
        """The command that makes it again."""
        author = f" ⟦author⟧ {shlex.quote(self.author)}" if self.author else ""
        db = f" ⟦db⟧ {shlex.quote(self.db)}" if self.db else ""
        names = "".join(f"{shlex.quote(name)} " for name in self.studies)
        return f"hpltune report {names}⟦as⟧ {self.name}{author}{db} ⟦out⟧ {shlex.quote(str(self.out))}"


def hand_in(request: HandInRequest, listener: Listener, stop: StopRequest) -> Report | None:
    """Simulate the tests of a publication and write the report; None where somebody stopped it.

    Raises:
        TunerError: the publication is not known, or the file cannot be written.
        hpl.errors.HplError: SimGrid or HPL's source is missing.
        results.errors.ResultsError: there is no such study.
    """
    figures = published(request.name, field="as")
    require_writable_file(request.out, "out")
    with open_session(request.db, listener, stop) as session:
        with stop.preparing():
            studies = [session.store.study(name) for name in request.studies]
            site = SimulatedCluster.open(load_cluster(figures.cluster), session.user_dirs, None, listener)
        listener(WorkStarted(f"Simulating {counted(len(figures.tests), 'published test')}"))
        tests = simulate_tests(site, figures, jobs=cores_here(), limit_s=DEFAULT_SIMULATION_S, stop=stop)
        listener(WorkEnded())
        if stop.requested:
            return None
        with stop.preparing():
            pages: Sequence[StudyPage] = [page_of(session.store, study) for study in studies]
            best = figures.params(figures.test(int(figures.best["test"])), site.cluster.cores)
            page = HandInPage(
                cluster=site.cluster,
                published=figures,
                tests=tests,
                simulator=site.simulator,
                author=request.author,
                day=datetime.now(UTC).date(),
                command=request.command,
                best_dat=virtual_plan(best, site.cluster).hpl_dat,
                answers=opened_book(request.name).answered() if request.name in lesson_names() else (),
                studies=pages,
            )
            report = page.report()
            write_page(request.out, [report], interactive=request.interactive)
    return report
