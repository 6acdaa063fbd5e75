"""What a study found: its best configurations and how sure that is, or the front of two objectives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from results.metrics import rate_text
from results.record import MEASURED, Study
from results.report.model import Part, Sentence
from results.stats.confidence import Standing
from results.stats.headline import FastestRun, gave_text
from results.stats.ranking import Ranked

from ..machine.equipment import PROGRAM, Equipment
from ..study.names import is_shootout
from ..study.objective import BETTER, Objective, of_study
from ..study.shootout import LibraryBest, best_of_each, sentences
from ..words import counted, listed
from .published_results import PublishedStanding, published_standing
from .ranking import figures, how_sure, ranking_json, ranking_parts

if TYPE_CHECKING:
    from ..study.sizing.prediction import NotedPrediction


@dataclass(frozen=True)
class StudySummary:
    """What is told of a study.

    Attributes:
        ranking: its configurations, best first, at least one.
        known: how many the study has, where not all of them are ranked; 0 where all are.
        front: those that none beats both in GFLOPS and by another objective, fastest first, where these are to be told;
            of these none is the best, so that nothing is said of how sure that is.
        fastest: its fastest run, whatever its configuration; None where only configurations are told of.
    """

    study: Study
    objective: Objective
    ranking: Sequence[Ranked]
    front: Sequence[Ranked] = ()
    known: int = 0
    fastest: FastestRun | None = None

    @classmethod
    def of(
        cls,
        study: Study,
        ranking: Sequence[Ranked],
        against: str | None = None,
        known: int = 0,
        fastest: FastestRun | None = None,
    ) -> "StudySummary":
        """What a study was searched for, or its front of GFLOPS against another objective.

        A front that was searched for and has one configuration only is told as its best is.

        Raises:
            TunerError: the other objective needs a fact of the machine that the study does not know.
        """
        objective = Objective.of("gflops", study, against) if against else of_study(study)
        front = objective.front(ranking)
        return cls(study, objective, ranking, front if against or len(front) > 1 else (), known, fastest)

    @cached_property
    def predicted(self) -> "NotedPrediction | None":
        """What was predicted of the whole memory, if anything; only then what reads it is imported."""
        if not self.study.notes.whole_memory:
            return None
        from ..study.sizing.prediction import prediction_of  # noqa: PLC0415 - most studies do not need it

        return prediction_of(self.study)

    @cached_property
    def sure(self) -> Standing | None:
        """How sure the first of the ranking is the best; None where that cannot be told, and of a front."""
        return None if self.front else self.objective.standing(self.ranking)

    @property
    def libraries(self) -> Sequence[LibraryBest]:
        """The best of each BLAS, where there are several; none of a front, and none where rounds tell their order."""
        return [] if self.front or is_shootout(self.study) else best_of_each(self.objective, self.ranking, self.sure)

    @property
    def programs(self) -> Sequence[LibraryBest]:
        """The best of each program, where several ran with one BLAS; none of a front and of rounds."""
        told = not (self.front or is_shootout(self.study))
        return best_of_each(self.objective, self.ranking, self.sure, PROGRAM) if told else []

    @cached_property
    def published(self) -> PublishedStanding | None:
        """Where the fastest run stands against published results; None where there are none to compare."""
        return published_standing(self.study, self.fastest)

    @property
    def how_sure(self) -> str | None:
        """How sure the first is the best, as a sentence; None of a front, and where nothing depends on chance."""
        return None if self.front else how_sure(self.study, self.ranking, self.sure)

    def best_in_short(self) -> str:
        """The rate of the first of the ranking, as one sentence."""
        best = self.ranking[0]
        percent = figures(Equipment.of(self.study), best.expected_gflops, best).get("percent_of_peak")
        of_peak = "" if percent is None else f", {percent:.1f} % of peak"
        made = "" if self.study.how == MEASURED else f", {self.study.how}"
        told = f"{rate_text(best.expected_gflops)} GFLOPS{of_peak}{made}"
        if self.study.how == "simulated":
            return f"{told}."
        if best.disturbance is not None:
            return f"at least {told}: {gave_text(best)}."
        return (
            f"{told}: expected of one more run, from {counted(best.runs, 'run')}"
            f"{', not known to be undisturbed' if best.unknown else ''}."
        )

    def parts(self, count: int, *, sure: bool = True, others: bool = True, short: bool = False) -> list[Part]:
        """Report the front, or so many of the ranking, and how sure the first is the best.

        Args:
            short: as `ranking_parts` has it.
            sure: without it something else tells that.
            others: without it something else tells what others published.
        """
        against = self.objective.against
        if self.front:
            parts = ranking_parts(self.study, self.front, self.ranking, against, self.fastest, short=short)
        else:
            parts = ranking_parts(self.study, self.ranking[:count], self.ranking, fastest=self.fastest, short=short)
            told = [self.how_sure] if sure and self.how_sure else []
            said = (*told, *sentences(self.libraries, self.programs, self.study, self.ranking))
            parts += map(Sentence, (*said, *self._sizes_that_never_ran()))
        if against and (self.front or not against.by_measured_power):
            these = "one of these" if len(self.front) > 1 else "this one" if self.front else "no. 1"
            known = counted(self.known or len(self.ranking), "configuration")
            parts.append(Sentence(f"Of {known}, none is both faster and {BETTER[against.name]} than {these}."))
        if others and self.published:
            parts.append(Sentence(self.published.sentence()))
        return parts

    def _sizes_that_never_ran(self) -> list[str]:
        """Say which N somebody asked for have no full run that counts, below one that has; nothing where all have."""
        asked = self.study.options.get("overrides")
        words = asked.get("N", ()) if isinstance(asked, Mapping) else ()
        sizes = {int(entry.params["N"]) for entry in self.ranking if "N" in entry.params}
        given = {int(word) for word in words if str(word).isdecimal()} if isinstance(words, Sequence) else set()
        largest = max(sizes, default=0)
        missing = [size for size in sorted(given - sizes) if size < largest]
        if not missing or self.known > len(self.ranking):
            return []
        named = listed([f"{size:,}" for size in missing])
        return [
            f"No full run with N={named} counts: HPL is slower at a smaller N, so the search tries the larger first."
        ]

    def to_json(self, count: int | None = None, more: Mapping[str, object] | None = None) -> dict[str, object]:
        """The front, or so many of the ranking, as JSON can hold it.

        Args:
            count: None for all.
            more: what else to say.
        """
        against = {"pareto": self.objective.against.name} if self.objective.against else {}
        shown = self.front or self.ranking[:count]
        libraries = {} if self.front else {"by_blas": [one.to_json() for one in self.libraries]}
        if self.programs:
            libraries["by_program"] = [one.to_json() for one in self.programs]
        known = {
            "known_machines": self.published.to_json() if self.published else None,
            "full": self.predicted.to_json() if self.predicted else None,
        }
        written = {**against, **libraries, **known, **(more or {})}
        return ranking_json(self.study, shown, self.ranking, self.sure, self.fastest, written)
