"""Opens a study for the work of this process: one session, the meter of its budget, and the ledger of its trials."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from results.record import TrialRecord
from search_spaces.space import SearchSpace

from ..budget import Budget, Meter
from ..clock import Clock, RealClock
from .ledger import Incumbent, Ledger
from .lifecycle import elapsed_s
from .objective import Objective
from .session import StudyContext, StudySession


@dataclass(frozen=True, kw_only=True)
class OpenStudy:
    """A study that this process works on."""

    session: StudySession
    ledger: Ledger

    @classmethod
    def again(cls, session: StudySession, meter: Meter, number: int) -> "OpenStudy":
        """Open the study of a session for a further one, with another budget; only trials of it count for its best."""
        ledger = Ledger(
            context=session.context,
            study=session.study,
            meter=meter,
            incumbent=Incumbent(session.objective),
            joinable=False,
        )
        return cls(session=replace(session, meter=meter, number=number), ledger=ledger)


@dataclass(frozen=True, kw_only=True)
class StudyOpener:
    """What tells how a study is opened.

    Attributes:
        study: its name.
        earlier: trials of earlier sessions, which are charged.
        number: of the session.
        blas, joinable, whole, learners: as `StudySession` and `Ledger` have them.
        told_clock: a clock that moves only by what trials cost; None for a real one.
    """

    study: str
    context: StudyContext
    space: SearchSpace
    objective: Objective
    budget: Budget
    earlier: Sequence[TrialRecord]
    number: int = 0
    blas: str | None = None
    joinable: bool = True
    whole: Meter | None = None
    told_clock: Clock | None = None
    learners: Sequence[Callable[[TrialRecord], None]] = ()

    def open(self) -> OpenStudy:
        """Open the study."""
        told = self.told_clock is not None
        spent_s = sum(record.cost_s or 0.0 for record in self.earlier) if told else elapsed_s(self.earlier)
        meter = Meter(self.budget, self.told_clock or RealClock(), spent_wall_s=spent_s)
        session = StudySession(
            context=self.context,
            study=self.study,
            space=self.space,
            objective=self.objective,
            meter=meter,
            number=self.number,
            blas=self.blas,
        )
        ledger = Ledger(
            context=self.context,
            study=self.study,
            meter=meter,
            incumbent=Incumbent(self.objective),
            joinable=self.joinable,
            whole=self.whole,
            learners=self.learners,
        )
        ledger.count(self.earlier)
        return OpenStudy(session=session, ledger=ledger)


def next_session(earlier: Sequence[TrialRecord]) -> int:
    """The number of a session after those of some trials."""
    return 1 + max((record.session for record in earlier), default=-1)
