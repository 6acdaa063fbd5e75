"""Studies whose trials a test makes one by one, through real MPI: of a program that prints HPL's output, or of HPL."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from record_builders import begun, finished
from replayed import replaying

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.base import Engine
from tuner.engines.outcomes import FULL, Fidelity, Ladder, Rung
from tuner.events import Listener
from tuner.machine.problem_size import textbook
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.study.ledger import Incumbent, Ledger
from tuner.study.lifecycle import MachineFacts, begin
from tuner.study.objective import of_study
from tuner.study.search.search_limits import RunTimeEstimate, SearchLimits
from tuner.study.search.trials import StudyTrials, UnavailableParts
from tuner.study.session import StudyContext, StudySession
from tuner.study.sized_study import SiteFacts, SizedStudy
from tuner.trial.early_stopping import EarlyStopping
from tuner.trial.evaluate import Evaluator
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

SMALL = Rung(Fidelity.SMALL, 0.35)
SPACE = 'parameters = { NB = [32, 64], grid = ["1x2", "2x1"], layout = "2x1" }'


def point(**changes: Scalar) -> dict[str, Scalar]:
    return {**textbook(N=1000, NB=32, blas="openblas", kernel="auto", ranks=2, threads=1), "grid": "1x2", **changes}


@dataclass(frozen=True, kw_only=True)
class MadeStudy:
    """The parts of a study on real machines, as `tune` puts them together."""

    session: StudySession
    ledger: Ledger
    limits: SearchLimits
    evaluators: tuple[Evaluator, ...]

    @classmethod
    def of(
        cls,
        session: StudySession,
        evaluators: tuple[Evaluator, ...],
        *,
        unknown_s: float = 60.0,
        expected_s: float | None = None,
    ) -> "MadeStudy":
        incumbent = Incumbent(session.objective)
        ledger = Ledger(context=session.context, study=session.study, meter=session.meter, incumbent=incumbent)
        limits = SearchLimits(
            session=session,
            incumbent=incumbent,
            run_time=RunTimeEstimate(expected_s),
            early_stopping=EarlyStopping(),
            unknown_s=unknown_s,
        )
        return cls(session=session, ledger=ledger, limits=limits, evaluators=evaluators)

    @property
    def store(self) -> Store:
        return self.session.context.store

    @property
    def space(self) -> SearchSpace:
        return self.session.space

    @property
    def meter(self) -> Meter:
        return self.session.meter

    @property
    def book(self) -> Ledger:
        """The ledger from which the limits learn."""
        self.ledger.learners = (self.limits.learn,)
        return self.ledger

    @property
    def trials(self) -> StudyTrials[Evaluator]:
        unavailable = UnavailableParts(self.session.context, self.session.study)
        sites = [replace(one, left_s=self.meter.remaining_s) for one in self.evaluators]
        return StudyTrials(self.session, sites, self.book, self.limits, unavailable, clock=self.meter.clock)

    def later(self, listener: Listener) -> "MadeStudy":
        """The same study in another session, which has not read what is stored."""
        session = replace(self.session, context=replace(self.session.context, listener=listener))
        return MadeStudy.of(session, self.evaluators)

    def on(self, space: SearchSpace) -> "MadeStudy":
        """The same study in another space."""
        session = replace(self.session, space=space)
        return replace(self, session=session, limits=replace(self.limits, session=session))

    def stopping_early(self, early_stopping: EarlyStopping) -> "MadeStudy":
        return replace(self, limits=replace(self.limits, early_stopping=early_stopping))

    def lower_bound(self, key: str) -> float | None:
        """What a run of a configuration must be able to reach."""
        return self.limits.of_launch(FULL, 1, key).must_reach_gflops

    def keep(self, key: str, kind: Kind, gflops: float) -> None:
        """Keep a trial as if it had been run."""
        number = self.ledger.begin(begun(key=key, kind=kind))
        assert number is not None
        self.ledger.commit(finished(number, gflops, key=key, kind=kind))

    def records(self, kinds: tuple[Kind, ...] | None = None) -> Sequence[TrialRecord]:
        return self.session.records(kinds)

    def launch(self, points: Sequence[dict[str, Scalar]], kind: Kind, rung: Rung) -> list[TrialRecord]:
        return self.trials.launch(points, kind, rung)

    def trial(self, params: dict[str, Scalar], kind: Kind) -> TrialRecord:
        return self.trials.trial(params, kind)

    def search(
        self,
        engine: Engine,
        *,
        reserved_runs: float = 0,
        first: Sequence[Point] = (),
        ladder: Ladder = (FULL,),
        repeats: int = 1,
    ) -> str:
        made = replace(self, limits=replace(self.limits, every_rate=engine.wants_every_rate))
        return SizedStudy(
            session=self.session,
            ledger=self.ledger,
            trials=made.trials,
            run_time=self.limits.run_time,
            engine=engine,
            facts=SiteFacts(ladder=ladder),
            first=first,
            afterwards=lambda: reserved_runs,
        ).search(repeats)


MakeStudy = Callable[..., MadeStudy]


@contextmanager
def studies(home: Path) -> Iterator[MakeStudy]:
    """Makes studies of their own, whose stores are closed at the end.

    Their runs are those of a program of ours, which prints some `runs` as the test wants, unless a test brings another
    program or wants real HPL with OpenBLAS.
    """
    stores = []

    def make(
        xhpl: Path | None = None,
        *,
        runs: Sequence[Mapping[str, Any]] = (),
        real: bool = False,
        walltime_s: float = 60.0,
        listener: Listener = lambda _: None,
        stop: StopRequest | None = None,
        budget: Budget | None = None,
        parts: int = 1,
        expected_s: float | None = None,
    ) -> MadeStudy:
        options = TuneOptions(
            blas_only=("openblas",) if real else (),
            xhpl=None if real else xhpl or replaying(home, *runs, name="replayed"),
        )
        workbench = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)
        store = Store.open(home / "batches.db")
        stores.append(store)
        begin(store, "study", options, MachineFacts(host={}, versions={}))
        blas = {} if xhpl or real else {"openblas": BlasFacts(("auto",), threaded=True)}
        facts = blas or workbench.site.machine(all_blas=True, N=1000).blas
        machine = Machine(cores=2, memory_bytes=2**34, blas=facts, N=1000)
        session = StudySession(
            context=StudyContext(store, listener, stop or StopRequest(), home / "runs"),
            study="study",
            space=load("made for a test", machine, text=SPACE),
            objective=of_study(store.study("study")),
            meter=Meter(budget or Budget(), RealClock()),
        )
        evaluators = (workbench.evaluator,) * parts
        return MadeStudy.of(session, evaluators, unknown_s=walltime_s, expected_s=expected_s)

    yield make
    for store in stores:
        store.close()
