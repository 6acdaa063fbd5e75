"""`hpltune reproduce`: a published tuning simulated, and what the same hardware could have done."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.record import Study
from results.report.model import Part, Report, Sentence
from results.stats.ranking import Ranked
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import load_cluster

from ..database import db_option
from ..errors import TunerError
from ..events import Listener, PartFound
from ..options import TuneOptions
from ..reports.ranking import ranking_parts
from ..reports.reproduction import (
    ReproductionPage,
    best_found_facts,
    best_found_parts,
    comparison_parts,
    reproduction_facts,
)
from ..simulation.cluster import SimulatedCluster, cluster_dict
from ..simulation.reproduction import (
    BestFound,
    ComparedTest,
    PublishedTuning,
    published,
    search,
    setting_losses,
    simulate_tests,
)
from ..simulation.session import cores_here, virtual_session, why_nothing
from ..stopping import StopRequest
from ..study.names import free_name, resume_command
from ..study.objective import ranking_of
from ..study.session import StudyContext
from .session import Session, open_session


@dataclass(frozen=True)
class StoppedSearch:
    """A search that somebody stopped.

    Attributes:
        ranking: its configurations so far, best first.
        sentence: how to go on with it.
    """

    study: Study
    ranking: Sequence[Ranked]
    sentence: str

    def parts(self) -> list[Part]:
        """The best configuration so far, and how to go on."""
        best = ranking_parts(self.study, self.ranking[:1], self.ranking) if self.ranking else []
        return [*best, Sentence(self.sentence, unbroken=True)]


@dataclass(frozen=True)
class ReproduceResult:
    """What was found.

    Attributes:
        tests: the published tests beside their simulations; fewer than published where somebody stopped it.
        found: what the searches found; None where there was none or one was stopped.
        study: what `hpltune show` needs to find the trials of the first search.
        stopped: the search that somebody stopped.
        unfinished: the sentence that not all tests were simulated because somebody stopped it; "" where they were.
        simulator: name and version of what simulated it; None where that is not known.
        command: it does the same again.
    """

    cluster: VirtualCluster
    published: PublishedTuning
    tests: tuple[ComparedTest, ...]
    found: BestFound | None = None
    study: str = ""
    stopped: StoppedSearch | None = None
    unfinished: str = ""
    simulator: str | None = None
    command: str = ""

    @property
    def interrupted(self) -> bool:
        """Somebody stopped it."""
        return bool(self.unfinished) or self.stopped is not None

    def report(self) -> Report:
        """Published beside simulated, then what the searches found."""
        search = None if self.found is None else best_found_facts(self.published, self.found)
        facts = reproduction_facts(self.cluster, self.published, self.tests, search)
        title = f"A published tuning, simulated: {self.published.source}"
        if self.unfinished:
            return Report(title, (Sentence(self.unfinished),), facts)
        tests = comparison_parts(self.cluster, self.published, self.tests)
        return Report(title, (*tests, *self._search_parts()), facts)

    def page(self) -> Report:
        """The same as a page, which also says what was simulated; without parts where not all tests were."""
        if self.unfinished:
            return replace(self.report(), parts=())
        page = ReproductionPage(self.cluster, self.published, self.tests, tuple(self._search_parts()))
        return replace(self.report(), parts=page.parts(self.simulator, self.command))

    def _search_parts(self) -> list[Part]:
        """What the searches found, or how far one came."""
        found = self.found
        parts = [] if found is None else list(best_found_parts(self.published, self.tests, found, self.study))
        return [*parts, *(self.stopped.parts() if self.stopped is not None else [])]


def reproduce(
    name: str, asked: TuneOptions, listener: Listener, stop: StopRequest, db: str | None = None
) -> ReproduceResult:
    """Simulate a publication's tests, tell the listener how they compare, then search.

    Args:
        name: of the publication.
        asked: of each of the two searches, but for space and cluster; 0 trials simulate the published tests only.
        db: a file or a URL; None for the user's own database.

    Raises:
        TunerError: the publication is not known, or no simulation gave a result.
        hpl.errors.HplError: SimGrid or HPL's source is missing.
        results.errors.ResultsError: the database cannot be used.
    """
    figures = published(name)
    with open_session(db, listener, stop) as session:
        with stop.preparing():
            site = SimulatedCluster.open(load_cluster(figures.cluster), session.user_dirs, None, listener)
        jobs = asked.jobs or cores_here()
        tests = simulate_tests(site, figures, jobs=jobs, limit_s=asked.limit_s, stop=stop)
        command = _command(name, asked)
        result = ReproduceResult(site.cluster, figures, tests, simulator=site.simulator, command=command)
        if stop.requested:
            sentence = f"Stopped before all published tests were simulated: {_begins_anew(name)}"
            return replace(result, unfinished=sentence)
        listener(PartFound(result.report().parts))
        if all(row.simulated.gflops is None for row in tests):
            raise TunerError(f"no simulation gave a result; the last one: {tests[-1].simulated.reason}")
        return _searched(name, asked, result, site, session) if asked.budget.trials else result


def _command(name: str, asked: TuneOptions) -> str:
    """The command that does the same."""
    engine = shlex.quote(asked.engine)
    return f"hpltune reproduce {shlex.quote(name)} ⟦trials⟧ {asked.budget.trials} ⟦engine⟧ {engine} ⟦seed⟧ {asked.seed}"


def _begins_anew(name: str) -> str:
    return f"`hpltune reproduce {name}` begins anew."


def _searched(
    publication: str, asked: TuneOptions, result: ReproduceResult, site: SimulatedCluster, session: Session
) -> ReproduceResult:
    """Search freely and as advised; the result with what was found, or with the search that was stopped."""
    name = free_name(session.store, f"reproduce-{publication}")
    db = db_option(session.store)
    found, last = _search(asked, result.published, site, name, session)
    result = replace(result, found=found, study=f"{name}{db}")
    if not session.stop.requested:
        return result
    study = session.store.study(last)
    goes_on = f"{resume_command(last, session.store)} goes on with its search"
    sentence = f"Study {last} was stopped: {goes_on}, {_begins_anew(publication)}"
    return replace(result, stopped=StoppedSearch(study, ranking_of(session.store, study), sentence))


def _search(
    asked: TuneOptions, figures: PublishedTuning, site: SimulatedCluster, name: str, context: StudyContext
) -> tuple[BestFound | None, str]:
    """Search freely, then as advised.

    Returns:
        What was found, None where the first search was stopped, and the name of the last study.
    """
    options = replace(asked, space=figures.space, cluster=cluster_dict(site.cluster))
    with virtual_session(name, options, site, context) as study:
        winner = search(study)
        settings = () if winner is None else setting_losses(study, winner, figures, site.cluster.cores)
    if winner is None and not context.stop.requested:
        raise TunerError(why_nothing(context.store, name))
    if winner is None:
        return None, name
    held = {setting: [str(value) for value in values] for setting, values in figures.advice.values.items()}
    with virtual_session(f"{name}-advised", replace(options, overrides=held), site, context) as study:
        advised = search(study)
    return BestFound(winner, settings, advised), study.session.study
