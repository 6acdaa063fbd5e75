"""Opening what a command works with: the user's folders, the store, who watches it and who may stop it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from hpl.blas.registry import discover
from hpl.search_paths import SearchPaths
from results.store.store import Store
from search_spaces.load import entries, space_text

from ..database import folder_of, open_store
from ..events import Listener, Remark
from ..machine.survey import program_of
from ..options import TuneOptions
from ..provision.plan import needs
from ..settings.dimensions import require_settings
from ..stopping import StopRequest
from ..study.cautions import CautionKeeper
from ..study.session import StudyContext
from ..trial.workbench import cluster_of, require_usable
from ..user_dirs import UserDirs, hold_folders


@dataclass(frozen=True)
class Session:
    """What is open while a command works.

    Attributes:
        db: the database as the user named it; None for the user's own.
        context: the store, who watches, who may stop it, and the folder of the runs.
        cautions: keeps what is told as a caution, once it is told which study has begun.
    """

    user_dirs: UserDirs
    db: str | None
    context: StudyContext
    cautions: CautionKeeper

    @property
    def store(self) -> Store:
        """Where studies are kept."""
        return self.context.store

    @property
    def listener(self) -> Listener:
        """Who watches the command."""
        return self.context.listener

    @property
    def stop(self) -> StopRequest:
        """What anyone may ask to end the command."""
        return self.context.stop


@contextmanager
def open_session(db: str | None, listener: Listener, stop: StopRequest) -> Iterator[Session]:
    """Hold the user's folders and open the store while the block runs.

    Args:
        db: a file or a URL; None for the user's own database.

    Raises:
        TunerError: `hpltune clean` works in the folders.
        results.errors.ResultsError: the database cannot be opened.
    """
    user_dirs = UserDirs.of_user()
    with ExitStack() as stack:
        with stop.preparing():
            stack.enter_context(hold_folders(user_dirs))
            opened = open_store(db, user_dirs, on_new_folder=lambda sentence: listener(Remark(sentence)))
            store = stack.enter_context(opened)
        cautions = CautionKeeper(listener, store)
        context = StudyContext(store, cautions, stop, folder_of("runs", store, user_dirs))
        try:
            yield Session(user_dirs, db, context, cautions)
        finally:
            cautions.ended()


def set_up(options: TuneOptions, user_dirs: UserDirs, listener: Listener, *, stored: bool = False) -> None:
    """Install what runs HPL where this machine lacks it, once it is known that what was asked can be used.

    Args:
        stored: the options are those of a study that goes on.

    Raises:
        SetupError: something is still missing afterwards.
        TunerError, SpaceError, HplError: what was asked cannot be used; nothing is installed.
    """
    program = not program_of(options).built
    if not needs(user_dirs, options.blas_files, program=program):
        return
    from ..provision.setup import provision_if_needed  # noqa: PLC0415 - few machines need it

    if not stored:
        require_settings(options, entries(options.space, options.overrides, space_text(options.space)))
    require_usable(options, cluster_of(options))
    discover(SearchPaths(user_dirs.prefix, user_dirs.cache), options.blas_files or {})
    provision_if_needed(user_dirs, listener, options.blas_files, program=program)
