"""`hpltune explain`: what a study learnt of its parameters, or of two of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from results.record import Study, TrialRecord
from results.report.model import Report
from results.store.store import Store
from search_spaces.space import SearchSpace

from ...engines.probes import Probes
from ...explain.explanation import Explanation
from ...explain.pairs import Crossing, parse_pair
from ...explain.stored_space import cluster_of, searched, stored_space, table_of
from ...explain.taught_study import TaughtStudy
from ...machine.equipment import host_count
from ...reports.context import Context
from ...reports.explanation import explanation_parts, glossary, short_parts
from ...reports.pairs import crossing_parts
from ...simulation.known import probes_of
from ...study.sizing.pilot import stored


@dataclass(frozen=True)
class ExplainResult:
    """What a study learnt, or the rates of two parameters against each other; `whole` as asked."""

    study: Study
    found: Explanation | Crossing
    whole: bool = True

    def report(self) -> Report:
        """Report its tables, and what its figures mean."""
        facts = {"study": self.study.name, "rates": self.study.how, **asdict(self.found)}
        if isinstance(self.found, Crossing):
            return Report(f"Study {self.study.name}", tuple(crossing_parts(self.study, self.found)), facts)
        facts["glossary"] = glossary(self.found)
        told = explanation_parts if self.whole else short_parts
        return Report(f"Study {self.study.name}", tuple(told(self.study, self.found)), facts)

    def page(self) -> Report:
        """The same as a page, which begins with what a reader must know first."""
        return Context([self.study]).page(replace(self, whole=True).report())


def explain_study(
    store: Store, name: str | None = None, pair: str | None = None, *, whole: bool = True
) -> ExplainResult:
    """Explain a study of the store, or two of its parameters.

    Args:
        name: None for the newest search.
        pair: only two of its parameters, with a comma between them.
        whole: all of it, not what matters most.

    Raises:
        TunerError: there is nothing to explain, or these do not vary.
        ResultsError: there is no such study.
    """
    study, records = searched(store, name)
    taught = taught_study(store, study, records)
    if pair is None:
        return ExplainResult(study, taught.explanation, whole)
    return ExplainResult(study, taught.crossing(parse_pair(pair, taught.space)))


def taught_study(store: Store, study: Study, records: Sequence[TrialRecord]) -> TaughtStudy:
    """Teach the engine a study whose trials, those of `telling`, were read before.

    Raises:
        TunerError: there is nothing to explain.
    """
    space = stored_space(study, records)
    return TaughtStudy(space, records, known_before(store, study, space), shown=study.notes.noise_at_first)


def known_before(store: Store, study: Study, space: SearchSpace) -> Probes:
    """What the search knew of its machine before any run, as far as it is stored."""
    cluster, table = cluster_of(study), table_of(study)
    if table is not None:
        return table.probes
    if cluster is not None:
        return probes_of(cluster, space)
    return stored(store, study.name, Probes(nodes=host_count(study.host, "nodes")))
