"""The trials of a study on its sites: plans what is asked, launches it, and says when the study cannot go on."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from hpl.params import Scalar
from results.record import Invalidity, Kind, TrialRecord, TrialState
from runners.errors import OF_NODES, Mishap, RunnerError
from search_spaces.parameters.dimension import Point

from ...clock import Clock, RealClock
from ...engines.outcomes import FULL, Question, Rung
from ...errors import TunerError
from ...trial.ask_and_tell import ask_and_tell
from ...trial.ladder import part_at
from ...trial.launch import LaunchLimits, LaunchOutcome
from ...trial.launching import Launching, PlannedTrial, TrialBook, planned
from ...trial.plan import varying_label
from ...trial.records import started
from ...trial.site import Site
from ..names import KINDS, RANKED, resume_command
from ..session import StudyContext, StudySession

LOSSES = 2
"""Launches that lost a node, from which on what they have in common may be to blame."""


@dataclass
class UnavailableParts:
    """Parameters with values that together no node can have, as trials of the study found."""

    context: StudyContext
    study: str

    @property
    def parts(self) -> Sequence[Point]:
        """All that is known."""
        return self.context.store.study(self.study).notes.cannot_have

    def rule_out(self, part: Point) -> None:
        """Ask for no configuration any more that has all these values, in later sessions neither.

        Args:
            part: parameters with their values; nothing happens where there are none.
        """
        if not part or part in self.parts:
            return
        new = dict(part)
        self.context.store.note(
            self.study,
            lambda notes: notes if new in notes.cannot_have else replace(notes, cannot_have=(*notes.cannot_have, new)),
        )
        self.context.say(f"{told(part)} cannot be had on these nodes: the search leaves it out from now on.")

    def blamed(self, event: Mishap | None, own: Point) -> Point:
        """Find the settings that made a launch lose a node, and rule them out; none where it may be chance.

        They are what all launches that lost a node have in common: two at least, of which one may be the repeat of the
        other. A run with other settings ended well, and none with these did. Launches with settings that were ruled out
        before do not count.

        Args:
            event: what befell the launch; only what befalls nodes and links is blamed.
            own: its settings.
        """
        if event not in OF_NODES:
            return {}
        store, known = self.context.store, self.parts
        store.note(self.study, lambda notes: replace(notes, lost_with=(*notes.lost_with, dict(own))))
        lost_with = store.study(self.study).notes.lost_with
        losses = [one.items() for one in lost_with if not any(part.items() <= one.items() for part in known)]
        common = set(own.items()).intersection(*losses)
        well = [run.params.items() for run in store.records(self.study) if run.state is TrialState.COMPLETE]
        if len(losses) < LOSSES or not common or not well or any(common <= params for params in well):
            return {}
        part = {name: value for name, value in own.items() if (name, value) in common}
        self.context.say(f"{len(losses)} launches with {told(part)} lost a node, and no run with it ended well.")
        self.rule_out(part)
        return part


def told(part: Point) -> str:
    """Parameters with their values, in words."""
    return " with ".join(f"{name} = {value}" for name, value in part.items())


MOST = 3
"""Launches in a row that may fail alike."""
_FIGURES = re.compile(r"\d+")


class LaunchBreaker:
    """Counts the launches in a row that failed alike before HPL began."""

    def __init__(self, session: StudySession) -> None:
        self._session = session
        self._watches = not any(name == "mpi" or "." in name for name in session.space.varying)
        """A value of MPI or of a setting alone may prevent HPL's begin."""
        self._last = ""
        self._count = 0

    def note(self, done: LaunchOutcome) -> None:
        """Note what came of a launch.

        Raises:
            TunerError: it is one of too many; the sentence says how to go on.
        """
        reasons = [record.reason for record in done.in_order if record.invalidity is Invalidity.RUNTIME]
        failed = all(record.state is TrialState.FAILED for record in done.in_order)
        if done.began or not failed or not reasons or not self._watches:
            self._last, self._count = "", 0
            return
        alike = _FIGURES.sub("#", reasons[-1])
        self._count = self._count + 1 if alike == self._last else 1
        self._last = alike
        if self._count >= MOST:
            raise TunerError(
                f"{MOST} launches in a row failed alike before HPL began ({reasons[-1]}), so that the machine may be "
                "to blame and not the configurations: "
                f"{resume_command(self._session.study, self._session.context.store)} goes on once it is mended"
            )


S = TypeVar("S", bound=Site[Any])


class Limits(Protocol):
    """What launches of a study may take, and must reach."""

    def of_launch(self, rung: Rung, runs: int, key: str | None, full_s: float | None = None) -> LaunchLimits:
        """The limits of a launch that begins now.

        Args:
            runs: how many it has.
            key: of the configuration of its only run, where that may be ended early.
            full_s: what a run in full should take; None where that follows from earlier ones.
        """

    def of_session(self, session: StudySession) -> "Limits":
        """The same for another session of the study, with a budget of its own."""


@dataclass(frozen=True)
class FixedLimits:
    """The same limit for all launches, as simulations have.

    Attributes:
        limit_s: seconds after which one is ended.
    """

    limit_s: float

    def of_launch(self, rung: Rung, runs: int, key: str | None, full_s: float | None = None) -> LaunchLimits:
        """The limit."""
        del rung, runs, key, full_s
        return LaunchLimits(limit_s=self.limit_s)

    def of_session(self, session: StudySession) -> Self:
        """The same."""
        del session
        return self


@dataclass
class StudyTrials(Generic[S]):
    """Runs the trials of a study, as many at a time as it has sites.

    Attributes:
        sites: where they run.
        book: where they are recorded.
        unavailable: what the nodes cannot have; None where they have all that the space asks for.
        breaker: ends a search whose launches all fail alike; None for none.
        noisy: runs of one configuration differ by how often it ran before, as simulated ones do.
        most_runs: how often a complete point can be run and tell something new; None where there is no end.
        clock: by which the display tells how far a launch is.
    """

    session: StudySession
    sites: Sequence[S]
    book: TrialBook
    limits: Limits
    unavailable: UnavailableParts | None = None
    breaker: LaunchBreaker | None = None
    noisy: bool = False
    most_runs: Callable[[Point], int] | None = None
    clock: Clock = field(default_factory=RealClock)
    launching: Launching[Any] = field(init=False, repr=False)
    _asked: dict[int, Sequence[Question]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        parts = self.unavailable
        self.launching = Launching(
            sites=self.sites,
            book=self.book,
            listener=self.session.context.listener,
            stop=self.session.context.stop,
            clock=self.clock,
            rule_out=parts.rule_out if parts else lambda _refused: None,
            blamed=parts.blamed if parts else lambda _event, _settings: {},
        )

    @property
    def site(self) -> S:
        """The first, on which what is not searched runs."""
        return self.sites[0]

    @property
    def free(self) -> bool:
        """Whether more may start."""
        return self.launching.free

    @property
    def under_way(self) -> Sequence[Question]:
        """What runs now, oldest first."""
        return [question for batch in self._asked.values() for question in batch]

    def start(self, batch: Sequence[Question]) -> None:
        """Begin what an engine asks on one rung, in one launch if one HPL.dat holds it."""
        rung = batch[0].rung
        points = [self.session.space.measured(question.params) for question in batch]
        self._asked[self._start(points, KINDS[rung.fidelity], rung)] = batch

    def next(self) -> list[tuple[Question, TrialRecord]]:
        """Wait until something that an engine asked has ended, and return the record of each question.

        What another process of this study began in the same moment is left to it, and so is the budget's last trial:
        the record here is cancelled and has no number.

        Raises:
            NodesLostError: a node that died with a run does not come back.
            RunnerError: what befell the launch is no fault of its configuration or library, and does not end.
            TunerError: no run can be started here. Or one launch after another fails alike.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        if not self.launching.under_way:
            return []
        done = self._conclusive(self.launching.next())
        return list(zip(self._asked.pop(done.ticket), done.in_order, strict=True))

    def close(self) -> None:
        """End what runs, as `Launching.close`."""
        self.launching.close()

    def launch(
        self,
        points: Sequence[Mapping[str, Scalar]],
        kind: Kind,
        rung: Rung = FULL,
        full_s: float | None = None,
        repeat: int | None = None,
    ) -> list[TrialRecord]:
        """Run complete points while nothing else runs, and return their records.

        Args:
            full_s: what a run in full should take; None where that follows from earlier ones.
            repeat: how often the same ran before; None to look.

        Raises:
            NodesLostError, RunnerError, TunerError, results.errors.ResultsError: as `next`.
        """
        self._start(points, kind, rung, full_s, repeat)
        with closing(self.launching):
            return self._conclusive(self.launching.next()).in_order

    def trial(
        self, params: Mapping[str, Scalar], kind: Kind, rung: Rung = FULL, full_s: float | None = None
    ) -> TrialRecord:
        """Run one complete point while nothing else runs, as `launch`."""
        return self.launch([params], kind, rung, full_s)[0]

    def launch_each(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Run complete points for the first time, as many at a time as there are sites, until the user stops it."""
        ask_and_tell(
            self.launching,
            self.session.context.stop,
            ask=iter(points),
            start=lambda point: self._start([point], kind, FULL, repeat=0),
            tell=lambda _: None,
        )

    def used_up(self, question: Question) -> TrialRecord | None:
        """The last run of a configuration where no other would tell anything new; None where one may."""
        if self.most_runs is None or question.rung != FULL:
            return None
        point = self.session.space.measured(question.params)
        ran = self._ran(point, Kind.SEARCH)
        if not ran or len(ran) < self.most_runs(point):
            return None
        self.session.say(f"The table has no further run of the configuration of trial {ran[-1].number}.", detail=True)
        return ran[-1]

    def _start(
        self,
        points: Sequence[Mapping[str, Scalar]],
        kind: Kind,
        rung: Rung,
        full_s: float | None = None,
        repeat: int | None = None,
    ) -> int:
        asked, site, varying = dict[int, PlannedTrial[Any]](), self.launching.idle, self.session.space.varying
        for place, params in enumerate(points):
            new = started(self.session.study, params, kind, self.session.space.key(params), self.session.number)
            new = replace(new, part=part_at(params, rung))
            before = len(self._ran(params, kind)) if self.noisy and repeat is None else repeat or 0
            found = planned(site.plan, params, rung, new.key, before)
            asked[place] = PlannedTrial(new, found, varying_label(params, varying))

        def limits(trials: Sequence[TrialRecord]) -> LaunchLimits:
            may_end = len(trials) == 1 and kind is Kind.SEARCH
            return self.limits.of_launch(rung, len(trials), trials[0].key if may_end else None, full_s)

        return self.launching.start(asked, limits)

    def _ran(self, params: Mapping[str, Scalar], kind: Kind) -> list[TrialRecord]:
        """The trials of a configuration that count as runs of such a kind."""
        key = self.session.space.key(params)
        kinds = RANKED if kind in RANKED else {kind}
        ran = (record for record in self.session.records(kinds) if record.state is not TrialState.CANCELLED)
        return [record for record in ran if record.key == key]

    def _conclusive(self, done: LaunchOutcome) -> LaunchOutcome:
        """What came of a launch, where the study can go on after it.

        Raises:
            NodesLostError, RunnerError, TunerError: as `next`.
        """
        done.require_nodes()
        if done.event and not self.session.stopped and not self.session.meter.out_of_time(0.0):
            raise RunnerError(
                f"{done.why}: {resume_command(self.session.study, self.session.context.store)} goes on once that is "
                "mended"
            )
        if self.breaker is not None:
            self.breaker.note(done)
        return done
