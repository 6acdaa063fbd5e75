"""Opening what a command works with: the user's folders, the store, who watches it and who may stop it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ..database import folder_of, open_store
from ..events import Listener, Remark
from ..stopping import StopRequest
from ..study.cautions import CautionKeeper
from ..study.session import StudyContext
from ..user_dirs import UserDirs, hold_folders


@dataclass(frozen=True)
class Session(StudyContext):
    """What is open while a command works: also where its studies are kept, and who watches them.

    Attributes:
        cautions: keeps what is told as a caution, once it is told which study has begun.
    """

    user_dirs: UserDirs
    cautions: CautionKeeper


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
        try:
            yield Session(store, cautions, stop, folder_of("runs", store, user_dirs), user_dirs, cautions)
        finally:
            cautions.ended()
