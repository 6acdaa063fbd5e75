"""`hpltune build`: an xhpl for each BLAS, ahead of time."""

from dataclasses import dataclass

from hpl.build.simgrid import SimGridError, build_virtual, find_simgrid
from hpl.programs.registry import obtain
from results.report.model import Report, Sentence

from ...events import Listener
from ...options import TuneOptions
from ...trial.workbench import Workbench
from ...user_dirs import UserDirs


@dataclass(frozen=True)
class BuildRequest:
    """What to build: the libraries and the source that the options name."""

    user_dirs: UserDirs
    options: TuneOptions


@dataclass(frozen=True)
class BuiltProgram:
    """One xhpl.

    Attributes:
        blas: name of the BLAS, or "simulated".
        library: its file; "" for the simulated one.
        threading: of the library.
    """

    blas: str
    library: str
    threading: str
    xhpl: str


@dataclass(frozen=True)
class BuildResult:
    """The programs, and why there is no simulated one or None."""

    programs: tuple[BuiltProgram, ...]
    not_simulated: str | None

    def report(self) -> Report:
        """Where each program is."""
        missing = f"The simulated xhpl was not built: {self.not_simulated}."
        parts = [Sentence(missing, unbroken=True)] if self.not_simulated else []
        parts += [Sentence(f"{one.blas:14s} {one.threading:9s} {one.xhpl}") for one in self.programs]
        return Report("Programs", tuple(parts), [vars(one) for one in self.programs])


def build(request: BuildRequest, listener: Listener) -> BuildResult:
    """Build an xhpl for every BLAS, and the simulated one where SimGrid is here.

    Raises:
        hpl.errors.HplError: something is missing, or a build failed.
    """
    workbench = Workbench.open(request.options, request.user_dirs, listener, probing=False, starting=False)
    inventory, evaluator = workbench.site, workbench.evaluator
    workbench.build([entry.name for entry in inventory.blas], (1, 2), listener)
    source = obtain(evaluator.search, request.options.hpl_source)
    programs = []
    for entry in inventory.blas:
        for library in entry.libraries:
            xhpl = inventory.program.ready(inventory.mpi, library, evaluator.search)
            programs.append(BuiltProgram(entry.name, str(library.path), str(library.threading), str(xhpl.path)))
    try:
        simulated = build_virtual(source, find_simgrid(evaluator.search), evaluator.search)
    except SimGridError as error:
        return BuildResult(tuple(programs), str(error))
    return BuildResult((*programs, BuiltProgram("simulated", "", "", str(simulated.path))), None)
