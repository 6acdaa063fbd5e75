"""`hpltune blas`: which BLAS is the fastest here, each at its own best."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from results.record import Study
from results.report.model import Report, Sentence
from search_spaces.load import check_overrides, entries, space_text

from ...errors import NodesLostError, TunerError, UsageError
from ...events import Listener
from ...machine.inventory import Inventory, bringing, rivals
from ...machine.survey import require_gpus
from ...options import TuneOptions
from ...reports.library_ranking import LibraryRanking
from ...settings.around_study import recover_at_start, settings_around
from ...settings.dimensions import require_settings, setting_dimensions
from ...stopping import StopRequest
from ...study.enter import enter
from ...study.library_shootout import BlasCampaign
from ...study.lifecycle import closing_study
from ...study.names import is_shootout, resume_command
from ...study.trust import may_reach, note_named, require_trusted
from ...trial.workbench import Workbench
from ...words import listed
from ..session import Session, open_session
from ..set_up import set_up
from .tune import introduce, require_free, waiting_as


@dataclass(frozen=True)
class BlasResult:
    """What a comparison found.

    Attributes:
        ranking: of the libraries.
        ended: the sentence why the rounds ended; "" where nothing was run because it was complete.
        left_out: why a library could not be compared, by its name.
        on: the sentence how to go on where somebody stopped it, or "".
    """

    ranking: LibraryRanking
    ended: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    on: str = ""

    def report(self) -> Report:
        """The ranking, how sure it is, and why it ended."""
        study = self.ranking.study
        said = [
            f"The comparison ended: {self.ended}." if self.ended else f"Study {study.name} is complete: nothing ran."
        ]
        said += [f"{name} is not in it: {reason}." for name, reason in self.left_out.items()]
        if self.on:
            said.append(self.on)
        facts = {**self.ranking.to_json(), "ended": self.ended, "left_out": dict(self.left_out)}
        parts = (*self.ranking.parts(), *(Sentence(text, unbroken="`" in text) for text in said))
        return Report(self.ranking.title, parts, facts)


def blas(
    asked: TuneOptions,
    listener: Listener,
    stop: StopRequest,
    name: str | None = None,
    db: str | None = None,
    *,
    resume: bool = False,
) -> BlasResult:
    """Compare the BLAS libraries of a machine.

    Args:
        asked: the options of a new study.
        name: of the study, to give or, with `resume`, to go on with; None takes a new one or the newest.
        db: database file or URL; None for the user's own.

    Raises:
        TunerError, SpaceError, HplError, RunnerError, ResultsError: a sentence says what prevents it.
    """
    with open_session(db, listener, stop) as session:
        study = _resumed(name, session) if resume else None
        if study is None:
            _check(asked, name, session)
        elif study.state == "complete":
            return BlasResult(LibraryRanking.stored(session.store, study))
        options = waiting_as(TuneOptions.from_json(study.options), asked) if study else asked
        if study is None:
            note_named(session.store, session.user_dirs, options)
        else:
            require_trusted(session.store, session.user_dirs, study)
        with stop.preparing():
            set_up(options, session.user_dirs, listener, stored=resume)
        return _compared(study.name if study else name, options, session, resume=resume)


def _compared(name: str | None, options: TuneOptions, session: Session, *, resume: bool) -> BlasResult:
    store = session.store
    recover_at_start(store, partial(may_reach, store, session.user_dirs), session.listener)
    text = store.study(name).space_text if resume and name else space_text(options.space)
    names = entries(options.space, options.overrides, text)
    require_settings(options, names)
    with session.stop.preparing():
        workbench = Workbench.open(options, session.user_dirs, session.listener, leave_out=resume)
    with closing(workbench):
        _require_two(workbench.site)
        begun = enter(name, options, store, workbench, resume=resume, join=False)
        session.cautions.begun(begun.name)
        around = settings_around(workbench, store, begun.name, session.listener, names)
        with closing_study(begun.name, store, session.stop), around as ready:
            introduce(begun.name, options, workbench, session)
            campaign = BlasCampaign(options=options, begun=begun, workbench=ready, context=session)
            try:
                ended = campaign.run()
            except NodesLostError as lost:
                raise TunerError(f"{lost}: {resume_command(begun.name, store)} goes on once it is repaired") from lost
    session.cautions.ended()
    ranking = LibraryRanking.stored(store, store.study(begun.name))
    on = f"{resume_command(begun.name, store)} goes on." if session.stop.requested else ""
    return BlasResult(ranking, ended, campaign.left_out, on)


def check_options(options: TuneOptions) -> None:
    """Refuse what is wrong whatever the machine is.

    Raises:
        TunerError, SpaceError: a sentence says what.
    """
    space_text(options.space)
    check_overrides(options.overrides or {}, setting_dimensions())
    if "blas" in (options.overrides or {}):
        raise UsageError("⟦set⟧ blas=… : here ⟦blas⟧ NAME chooses the libraries, once for each", field="set")
    if len(options.blas_only) + len(options.programs) == 1 and options.blas_only:
        raise UsageError("a comparison needs two libraries or more", field="blas", given=options.blas_only[0])


def _check(options: TuneOptions, name: str | None, session: Session) -> None:
    """Refuse what is wrong with a new comparison.

    Raises:
        TunerError, SpaceError: a sentence says what.
    """
    check_options(options)
    require_gpus(options)
    if name is not None:
        require_free(name, session.store)


def _resumed(name: str | None, session: Session) -> Study:
    """The comparison to go on with.

    Raises:
        TunerError: there is none, or the study is none.
        ResultsError: there is no such study.
    """
    if name is not None:
        study = session.store.study(name)
        if not is_shootout(study):
            raise UsageError(f"study {study.name} is no comparison of `hpltune blas`: `hpltune tune ⟦resume⟧` goes on")
        return study
    found = [study for study in session.store.studies() if is_shootout(study)]
    if not found:
        raise TunerError(f"{session.store.place} holds no comparison to go on with: `hpltune blas` makes one")
    return found[-1]


def _require_two(site: Inventory) -> None:
    """Refuse a machine with one library, and a program with the name of one.

    Raises:
        TunerError: it has one.
        UsageError: a program is called as a library is.
    """
    names = rivals(site)
    twice = {entry.name for entry in site.blas} & set(bringing(site))
    if twice:
        name = min(twice)
        raise UsageError("a BLAS library has this name: give the program another one", field="program", given=name)
    if len(names) < 2:
        raise TunerError(
            f"only {listed(names)} is here, and a comparison needs two libraries: `hpltune setup` installs more, "
            "⟦blas⟧ NAME=/path/lib.so adds one of yours, and ⟦program⟧ NAME=FILE a program with its own"
        )
