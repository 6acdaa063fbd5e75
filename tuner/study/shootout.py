"""Compares BLAS libraries by a study's runs: the best of each, what was repeated, and whether N is large enough."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from hpl.params import Scalar
from hpl.sizing import NodeShare, SizingError, n_for_memory
from results.record import Study
from results.stats.confidence import Standing, probability_text
from results.stats.headline import once_text
from results.stats.ranking import Ranked, varying
from search_spaces.space import SearchSpace

from ..machine.equipment import PROGRAM
from ..words import counted, listed
from .objective import Objective

BLAS = "blas"
RIVAL = 0.5
"""A library whose best is below this part of the first is not confirmed: runs hardly ever differ by as much."""
SMALL_N = 0.25
"""Part of the N of the whole memory below which the order of libraries may be another there: at a quarter of N panels
and messages, which grow with N^2, have four times their share of a time that grows with N^3."""


@dataclass(frozen=True)
class LibraryBest:
    """The best configuration of one BLAS, or of one program.

    Attributes:
        name: of the BLAS or program.
        by: "blas" or "program".
        place: in the ranking of all configurations, from 1.
        behind_percent: by the study's objective, of the first.
        first_is_faster: probability that the first is faster than it, 0 to 1; None where that cannot be told.
        runs: of this configuration that count.
        disturbed_runs: of it that do not count.
        disturbed: all runs of it were, so that its rate is only a lower bound.
        configurations, repeated: of this BLAS that have a valid run, and those of them that have several.
        params: what differs among the best of all libraries.
    """

    name: str
    by: str
    place: int
    expected_gflops: float
    behind_percent: float
    first_is_faster: float | None
    runs: int
    disturbed_runs: int
    disturbed: bool
    configurations: int
    repeated: int
    params: Mapping[str, Scalar]

    @property
    def sentence(self) -> str:
        """Where the best of this BLAS stands."""
        words = " ".join(f"{name}={value}" for name, value in self.params.items())
        best = f"The best with {'program ' if self.by == PROGRAM else ''}{self.name} is in place {self.place} with"
        if self.disturbed:
            runs = "its only run was" if self.runs == 1 else f"all of its {counted(self.runs, 'run')} were"
            return (
                f"{best} at least {self.expected_gflops:.2f} GFLOPS{f', {words}' if words else ''}: {runs} disturbed, "
                "so how far it is behind cannot be told."
            )
        certainty = "" if self.first_is_faster is None else f" ({probability_text(self.first_is_faster)} sure)"
        return (
            f"{best} {self.expected_gflops:.2f} GFLOPS, "
            f"{self.behind_percent:.1f} % behind{certainty}{f': {words}' if words else ''}."
        )

    def to_json(self) -> dict[str, object]:
        """All of it by name."""
        return {self.by: self.name, **{key: value for key, value in asdict(self).items() if key not in {"name", "by"}}}


def best_of_each(
    objective: Objective, ranking: Sequence[Ranked], sure: Standing | None, by: str = BLAS
) -> list[LibraryBest]:
    """The best configuration of each BLAS, or each program, of a whole ranking, best first; nothing with one of them.

    Programs that bring a BLAS of their own stand among the libraries; so those are told only where several share one.
    """
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(ranking):
        places.setdefault(str(entry.params.get(by, "")), []).append(place)
    if by == PROGRAM and not _share_a_library(ranking):
        return []
    if len(places) < 2:
        return []
    worths = [objective.worth(entry.params, entry.expected_gflops, entry.watts) for entry in ranking]
    names = [name for name in varying([ranking[own[0]] for own in places.values()]) if name != by]
    return [
        LibraryBest(
            name=name,
            by=by,
            place=own[0] + 1,
            expected_gflops=ranking[own[0]].expected_gflops,
            behind_percent=100 * (1 - worths[own[0]] / worths[0]),
            first_is_faster=None if sure is None or sure.unfit or own[0] == 0 else sure.ahead[own[0]],
            runs=ranking[own[0]].runs,
            disturbed_runs=ranking[own[0]].left_out,
            disturbed=ranking[own[0]].disturbance is not None,
            configurations=len(own),
            repeated=sum(ranking[place].runs + ranking[place].left_out > 1 for place in own),
            params={key: ranking[own[0]].params[key] for key in names if key in ranking[own[0]].params},
        )
        for name, own in places.items()
    ]


def sentences(
    libraries: Sequence[LibraryBest], programs: Sequence[LibraryBest], study: Study, ranking: Sequence[Ranked]
) -> list[str]:
    """What to tell of a comparison of libraries, and of programs; nothing where there is none."""
    if not (libraries or programs):
        return []
    small = "" if study.simulated or study.notes.small_n_told else small_n(n_of(ranking[0]), memory_n(study))
    others = [one.sentence for one in (*libraries[1:], *programs[1:])]
    return [*others, repeated(libraries or programs), *([small] if small else [])]


def _share_a_library(ranking: Sequence[Ranked]) -> bool:
    """Whether several programs of a ranking ran with one BLAS."""
    by_library: dict[str, set[Scalar | None]] = {}
    for entry in ranking:
        by_library.setdefault(blas_of(entry.params), set()).add(entry.params.get(PROGRAM))
    return any(len(programs) > 1 for programs in by_library.values())


def repeated(libraries: Sequence[LibraryBest]) -> str:
    """How many configurations were run more than once, and of which library."""
    every, twice = sum(one.configurations for one in libraries), sum(one.repeated for one in libraries)
    if twice in {0, every}:
        return f"{'Each' if twice else 'None'} of the {counted(every, 'configuration')} was run more than once."
    each = ", ".join(f"{one.name} {one.repeated} of {one.configurations}" for one in libraries)
    never: dict[str, list[str]] = {}
    for one in libraries:
        if one.runs < 2:
            ran = "ran once, disturbed" if one.disturbed else once_text(one.disturbed_runs)
            never.setdefault(ran, []).append(one.name)
    once = [f"The best of {listed(names)} {ran}." for ran, names in never.items()]
    return " ".join([f"{twice} of {every} configurations were repeated ({each}).", *once])


def small_n(N: int, memory_n: int | None) -> str | None:
    """The sentence that a comparison at N may not hold at the size of the memory, or None."""
    if memory_n is None or SMALL_N * memory_n <= N:
        return None
    return (
        f"N={N} is small: the memory holds N={memory_n}, where another library may be the fastest: "
        "give a larger ⟦budget⟧, or ⟦full⟧."
    )


def memory_n(study: Study) -> int | None:
    """The N that a study's memory held when it began; None where that is not known, and where HPL was not computed."""
    if not study.workload.is_hpl:
        return None
    from ..machine.problem_size import STEP  # noqa: PLC0415 - it knows the whole machine, which no list needs

    free, cores, fraction = (
        study.host.get("memory_available_bytes"),
        study.host.get("physical_cores"),
        study.options.get("memory_fraction"),
    )
    if not isinstance(free, int) or not isinstance(cores, int) or not isinstance(fraction, int | float):
        return None
    try:
        return n_for_memory([NodeShare(free, cores)], fraction=fraction, NB=STEP, P=1, Q=cores)
    except (SizingError, ValueError):
        return None


def with_rivals(objective: Objective, finalists: Sequence[Ranked], ranking: Sequence[Ranked]) -> Sequence[Ranked]:
    """Finalists, and behind them the best of each BLAS that has none among them and is not hopelessly slow."""
    found = list(finalists)
    least = RIVAL * max(
        (objective.worth(entry.params, entry.median_gflops, entry.watts) for entry in ranking), default=0.0
    )
    for entry in ranking:
        new = blas_of(entry.params) not in {blas_of(other.params) for other in found}
        if new and objective.worth(entry.params, entry.median_gflops, entry.watts) >= least:
            found.append(entry)
    return found


def libraries_of(space: SearchSpace) -> tuple[str, ...]:
    """The BLAS libraries a space has."""
    blas = space.parameters.get("blas")
    return tuple(str(value) for value in blas.values) if blas else ()


def blas_of(params: Mapping[str, Scalar]) -> str:
    """The library of a configuration; "" where it is not known."""
    return str(params.get("blas", ""))


def n_of(entry: Ranked) -> int:
    """The N of a configuration; 0 where it is not known."""
    return int(entry.params.get("N", 0))
