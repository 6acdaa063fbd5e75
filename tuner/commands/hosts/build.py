"""`hpltune build`: an xhpl for each BLAS, ahead of time."""

from hpl.build.simgrid import SimGridError, build_virtual, find_simgrid
from hpl.programs.registry import obtain
from results.report.model import Report, Sentence

from ...events import Listener
from ...options import TuneOptions
from ...trial.workbench import Workbench
from ...user_dirs import UserDirs


def build(options: TuneOptions, user_dirs: UserDirs, listener: Listener) -> Report:
    """Build an xhpl for every BLAS, and the simulated one where SimGrid is here, and report where each is.

    Args:
        options: name the libraries and the source.

    Raises:
        hpl.errors.HplError: something is missing, or a build failed.
    """
    workbench = Workbench.open(options, user_dirs, listener, probing=False, starting=False)
    inventory, evaluator = workbench.site, workbench.evaluator
    workbench.build([entry.name for entry in inventory.blas], (1, 2), listener)
    source = obtain(evaluator.search, options.hpl_source)
    programs: list[dict[str, str]] = []
    missing = []
    for entry in inventory.blas:
        for library in entry.libraries:
            xhpl = inventory.program.ready(inventory.mpi, library, evaluator.search)
            own = {"library": str(library.path), "threading": str(library.threading), "xhpl": str(xhpl.path)}
            programs.append({"blas": entry.name, **own})
    try:
        simulated = build_virtual(source, find_simgrid(evaluator.search), evaluator.search)
        programs.append({"blas": "simulated", "library": "", "threading": "", "xhpl": str(simulated.path)})
    except SimGridError as error:
        missing.append(Sentence(f"The simulated xhpl was not built: {error}.", unbroken=True))
    built = (Sentence(f"{one['blas']:14s} {one['threading']:9s} {one['xhpl']}") for one in programs)
    return Report("Programs", (*missing, *built), [*programs])
