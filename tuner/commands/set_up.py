"""What `tune`, `blas`, `calibrate` and `scale` do first on a machine that lacks HPL."""

from hpl.blas.registry import discover
from hpl.search_paths import SearchPaths
from runners.forwarded import load_modules
from search_spaces.load import entries, space_text

from ..events import Listener
from ..machine.survey import program_of
from ..options import TuneOptions
from ..provision.plan import needs
from ..settings.dimensions import require_settings
from ..trial.workbench import cluster_of, require_usable
from ..user_dirs import UserDirs


def set_up(options: TuneOptions, user_dirs: UserDirs, listener: Listener, *, stored: bool = False) -> None:
    """Install what runs HPL where this machine lacks it, once it is known that what was asked can be used.

    Args:
        stored: the options are those of a study that goes on.

    Raises:
        SetupError: something is still missing afterwards.
        RunnerError: the modules of the cluster cannot be loaded.
        TunerError, SpaceError, HplError: what was asked cannot be used; nothing is installed.
    """
    cluster = cluster_of(options)
    load_modules(cluster.modules if cluster else ())
    program = not program_of(options).built
    if not needs(user_dirs, options.blas_files, program=program):
        return
    from ..provision.setup import provision_if_needed  # noqa: PLC0415 - few machines need it

    if not stored:
        require_settings(options, entries(options.space, options.overrides, space_text(options.space)))
    require_usable(options, cluster)
    discover(SearchPaths(user_dirs.prefix, user_dirs.cache), options.blas_files or {})
    provision_if_needed(user_dirs, listener, options.blas_files, program=program)
