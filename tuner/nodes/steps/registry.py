"""The benchmarks that a check can run, by name. A new one is one entry here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hpl.blas.catalogue import Blas, BlasLibrary
from hpl.build.node_programs import build_node_bench, build_node_pairs, build_solo
from hpl.errors import HplError
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths

from ...errors import UsageError
from .hpl_runs import Hpl, SoloHpl
from .node_bench import Dgemm, Stream
from .pairs import Pairs
from .step import Step

MakeGroups = Callable[[BlasLibrary], Step]
"""Makes the step that runs HPL on groups of nodes with a BLAS."""


@dataclass(frozen=True)
class StepMeans:
    """What steps are made from.

    Attributes:
        blas: the BLAS that nodes use; None where there is none.
        repeats: runs of each benchmark.
        groups: makes the step that runs HPL on groups of nodes; None where nobody said how large they are.
    """

    search: SearchPaths
    blas: Blas | None
    repeats: int
    groups: MakeGroups | None = None

    @property
    def libraries(self) -> tuple[BlasLibrary, ...]:
        """Return the builds of the BLAS for one thread and for several; the same one if there is no other."""
        if self.blas is None:
            return ()
        return (self.blas.library(1), self.blas.library(2 if self.blas.threaded else 1))


@dataclass(frozen=True)
class MadeSteps:
    """The steps of a check.

    Attributes:
        notes: why usual ones are not among them.
    """

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


def _stream(means: StepMeans) -> Step:
    return Stream(build_node_bench(means.search), means.repeats)


def _dgemm(means: StepMeans) -> Step:
    library, _ = _libraries(means)
    return Dgemm(build_node_bench(means.search), library.path, library.symbol_prefix, means.repeats)


def _hpl(means: StepMeans) -> Step:
    _, library = _libraries(means)
    program = build_solo(obtain(means.search), means.search)
    return Hpl(SoloHpl(program, library.path, library.symbol_prefix), means.repeats)


def _libraries(means: StepMeans) -> tuple[BlasLibrary, ...]:
    if not means.libraries:
        raise UsageError("this machine has no BLAS library: `hpltune setup` installs one")
    return means.libraries


def _pairs(means: StepMeans) -> Step:
    return Pairs(build_node_pairs(means.search))


def _groups(means: StepMeans) -> Step:
    if means.groups is None:
        raise UsageError("say how many nodes are in a group with ⟦groups⟧ NODES", field="benchmark", given=GROUPS)
    library, _ = _libraries(means)
    return means.groups(library)


GROUPS = "groups"
STEPS: Mapping[str, Callable[[StepMeans], Step]] = {
    "stream": _stream,
    "dgemm": _dgemm,
    "hpl": _hpl,
    "pairs": _pairs,
    GROUPS: _groups,
}
"""In the order of growing complexity, in which they run."""
USUAL = ("stream", "dgemm", "hpl", "pairs")
"""The steps that run where nobody chooses, if this machine has what they need."""


def steps_named(names: Sequence[str], means: StepMeans) -> MadeSteps:
    """Make the steps with these names, or the usual ones; a usual one that cannot be had is a note.

    Raises:
        UsageError: there is no such step, or groups of an unknown size.
        HplError, TunerError: a step that somebody asked for cannot be had.
    """
    for name in names:
        if name not in STEPS:
            raise UsageError(
                f"there is no such benchmark; it is one of {', '.join(STEPS)}", field="benchmark", given=name
            )
    asked = {*names, *(() if means.groups is None else (GROUPS,))}
    made: list[Step] = []
    notes: list[str] = []
    for name, make in STEPS.items():
        if name not in (names or USUAL) and name not in asked:
            continue
        try:
            made.append(make(means))
        except (HplError, UsageError) as error:
            if name in asked:
                raise
            notes.append(f"{name} is left out: {error}.")
    return MadeSteps(tuple(made), tuple(notes))
