"""What is known before a study begins: an earlier study, HPL's own output, or an HPL.dat to try first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path

from hpl import output, variant
from hpl.dat_parse import HplDatError
from hpl.dat_parse import parse as parse_dat
from hpl.errors import HplError
from results.statistics import rank
from results.store import Store
from search_spaces.dimension import Point, Scalar
from search_spaces.space import SearchSpace

from .engines.base import Engine, Outcome
from .engines.fidelity import Fidelity, Rung
from .errors import TunerError

MAY_DIFFER = ("N", "memory_fraction", "layout", "binding")
"""What belongs to the machine that ran, or follows from it; runs that differ in it alone still tell something."""
FIRST = 3
"""The best of the known configurations that are tried first."""


@dataclass(frozen=True)
class Known:
    """One configuration of another time or machine; `gflops` is None where it was never measured, as in an HPL.dat."""

    params: Mapping[str, Scalar]
    gflops: float | None


@dataclass(frozen=True)
class Source:
    """Where something is known from, and all that is."""

    name: str
    known: tuple[Known, ...]


@dataclass(frozen=True)
class Advice:
    """What of a source this study can use.

    Attributes:
        points: legal points of this space with the rate they had elsewhere, best first.
        sentence: how much of the source that is.
    """

    points: tuple[tuple[dict[str, Scalar], float | None], ...]
    sentence: str


def read_source(store: Store, name: str) -> Source:
    """A stored study of that name, or a file that is HPL's output or an HPL.dat.

    Raises:
        TunerError: it is neither, or nothing in it was measured.
    """
    path = Path(name).expanduser()
    if name in {study.name for study in store.studies()}:
        ranking = rank(store.records(name))
        if not ranking:
            raise TunerError(f"--warm-start {name}: no run of that study was valid; `hpltune show {name} --failed`")
        return Source(f"study {name}", tuple(Known(entry.params, entry.median_gflops) for entry in ranking))
    if not path.is_file():
        raise TunerError(f"--warm-start {name}: there is no study and no file of that name; see `hpltune show`")
    return _file(path)


def absolute(name: str) -> str:
    """A source so that it is found from another folder as well: a file by its whole path, a study by its name."""
    path = Path(name).expanduser()
    return str(path.absolute()) if path.is_file() else name


def advice(source: Source, space: SearchSpace) -> Advice:
    """The configurations of a source that this space has, in all that both name; what belongs to a machine may differ.

    Raises:
        TunerError: there is none.
    """
    found: dict[str, tuple[dict[str, Scalar], float | None]] = {}
    for known in source.known:
        point = _in_space(known.params, space)
        if point is not None:
            found.setdefault(space.key(point), (point, known.gflops))
    count, everything = len(found), len(source.known)
    if not found:
        raise TunerError(
            f"--warm-start: none of the {everything} configurations of {source.name} is in the space {space.name}; "
            f"it searches over {', '.join(space.varying)}"
        )
    some = "all" if count == everything else f"{count} of its {everything}"
    return Advice(tuple(found.values()), f"Warm start from {source.name}: {some} configurations are in this space.")


def advise(engine: Engine, found: Sequence[Advice]) -> list[dict[str, Scalar]]:
    """Tell an engine all rates of other times and machines; what it has no use for it passes over.

    Returns:
        The points worth trying first.
    """
    first: list[dict[str, Scalar]] = []
    for number, one in enumerate(found, start=1):
        for point, gflops in one.points:
            if gflops is not None:
                engine.tell(point, Outcome(gflops, rung=Rung(Fidelity.EARLIER, float(number))))
        first += [point for point, _ in one.points[:FIRST]]
    return first


def _in_space(params: Point, space: SearchSpace) -> dict[str, Scalar] | None:
    """The legal point with these values, or None where one that matters is not among the space's."""
    own = {name: value for name, value in params.items() if name in space.parameters}
    point = space.nearest(own)
    differ = {name for name, value in own.items() if name in space.varying and point.get(name) != value}
    return point if not differ - set(MAY_DIFFER) else None


def _file(path: Path) -> Source:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TunerError(f"--warm-start {path}: {error.strerror}") from error
    results = [result for result in output.parse(text).results if result.passed]
    if results:
        ordered = sorted(results, key=lambda result: -result.gflops)
        return Source(f"the output {path}", tuple(_of_result(result) for result in ordered))
    try:
        dat = parse_dat(text, str(path))
    except HplDatError as error:
        if text.lstrip().startswith("HPLinpack") and "Ps" in text:
            raise
        line, problem = error.problems[0]
        neither = "neither HPL's output with results that PASSED, nor an HPL.dat"
        raise TunerError(f"--warm-start {path}: {neither} (line {line}: {problem})") from error
    return Source(f"the file {path}", tuple(Known(run.words(), None) for run in dat.runs()))


def _of_result(result: output.HplResult) -> Known:
    words: dict[str, Scalar] = {"N": result.N, "NB": result.NB, "grid": f"{result.P}x{result.Q}"}
    try:
        said = asdict(variant.decode(result.code))
    except HplError:
        return Known(words, result.gflops)
    for name, value in said.items():
        words[name] = str(value.word) if isinstance(value, IntEnum) and hasattr(value, "word") else int(value)
    return Known(words, result.gflops)
