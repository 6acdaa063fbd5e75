"""What is known before a study begins: an earlier study, HPL's own output, or an HPL.dat to try first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from itertools import combinations
from pathlib import Path

from hpl import output, variant
from hpl.dat_parse import HplDatError
from hpl.dat_parse import parse as parse_dat
from hpl.errors import HplError
from hpl.params import Scalar
from hpl.workload import HPL, Workload
from results.stats.ranking import rank
from results.store.store import Store
from search_spaces.space import SearchSpace

from ..engines.base import Engine
from ..engines.outcomes import Fidelity, Outcome, Rung
from ..errors import UsageError
from ..user_files import read_text
from ..words import counted

MAY_DIFFER = ("N", "memory_fraction", "layout", "binding")
"""What belongs to the machine that ran, or follows from it; runs that differ in it alone still tell something."""
FIRST = 3
"""The best of the known configurations that are tried first."""
BANNER = "High-Performance Linpack benchmark"
"""What HPL prints first."""
COMPARED = 4
"""Configurations that two sources must share before it is said that they contradict each other."""


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
        source: where that is from.
        points: legal points of this space with the rate they had elsewhere, best first; there may be none.
        sentence: how much of the source that is.
        tried: how many of the best are tried first.
    """

    source: str
    points: tuple[tuple[dict[str, Scalar], float | None], ...]
    sentence: str
    tried: int = FIRST


def require_same_workload(store: Store, name: str, workload: Workload) -> None:
    """Refuse to learn from a study of another workload, and from HPL's files for another one.

    Raises:
        UsageError: it is one.
    """
    stored = next((study.workload for study in store.studies() if study.name == name), HPL)
    if stored is not workload:
        other = f"this is of {stored.title}, and the study of {workload.title}: nothing of it helps"
        raise UsageError(other, field="warm_start", given=name)


def read_source(store: Store, name: str) -> Source:
    """A stored study of that name, of which no run need be valid, or a file that is HPL's output or an HPL.dat.

    Raises:
        TunerError: it is none of these.
    """
    path = Path(name).expanduser()
    if name in {study.name for study in store.studies()}:
        ranking = rank(store.records(name))
        return Source(f"study {name}", tuple(Known(entry.params, entry.median_gflops) for entry in ranking))
    if path.is_dir():
        raise UsageError(
            "this is a folder; name a file in it, HPL's output or an HPL.dat", field="warm_start", given=name
        )
    if not path.is_file():
        raise UsageError(
            "there is no study and no file of that name; see `hpltune show`", field="warm_start", given=name
        )
    return _file(path)


def absolute(name: str) -> str:
    """A source so that it is found from another folder as well: a file by its whole path, a study by its name."""
    path = Path(name).expanduser()
    return str(path.absolute()) if path.is_file() else name


def advice(source: Source, space: SearchSpace) -> Advice:
    """What a source has of this space, in all that both name; what belongs to a machine may differ."""
    found: dict[str, tuple[dict[str, Scalar], float | None]] = {}
    missing = []
    for known in source.known:
        own = {name: value for name, value in known.params.items() if name in space.parameters}
        point = space.nearest(own)
        differ = {name: value for name, value in own.items() if name in space.varying and point.get(name) != value}
        if differ.keys() <= set(MAY_DIFFER):
            found.setdefault(space.key(point), (point, known.gflops))
        else:
            missing.append({name: value for name, value in differ.items() if name not in MAY_DIFFER})
    count, everything = len(found), len(source.known)
    some = "all configurations" if count == everything else f"{count} of its {counted(everything, 'configuration')}"
    sentence = f"Warm start from {source.name}: {some} {'is' if count == 1 < everything else 'are'} in this space."
    if count == everything == 1:
        sentence = f"Warm start from {source.name}: its configuration is in this space."
    if not found:
        sentence = f"Nothing of {source.name} is used: none of its runs was valid."
    if missing and not found:
        nearest = ", ".join(f"{name}={value}" for name, value in min(missing, key=len).items())
        sentence = (
            f"Nothing of {source.name} is used: none of its {everything} configurations is in the space {space.name}, "
            f"not even the nearest, for its {nearest}."
        )
    return Advice(source.name, tuple(found.values()), sentence)


def contradictions(found: Sequence[Advice], space: SearchSpace) -> list[str]:
    """A sentence for each two sources that rank the configurations they share the other way round."""
    sentences = []
    for one, other in combinations(found, 2):
        rates, others = ({space.key(point): rate for point, rate in each.points if rate} for each in (one, other))
        shared = [key for key in rates if key in others]
        if len({rates[key] for key in shared}) < COMPARED or len({others[key] for key in shared}) < COMPARED:
            continue
        from scipy.stats import spearmanr  # noqa: PLC0415 - slow to import, and most studies do not need it

        if spearmanr([rates[key] for key in shared], [others[key] for key in shared]).statistic < 0:
            sentences.append(
                f"{one.source} and {other.source} contradict each other: what is fast in one of them is slow in the "
                f"other ({len(shared)} configurations)."
            )
    return sentences


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
        first += [point for point, _ in one.points[: one.tried]]
    return first


def _file(path: Path) -> Source:
    text = read_text(path, str(path), field="warm_start")
    if "\0" in text:
        raise UsageError("this is no text, so neither HPL's output nor an HPL.dat", field="warm_start", given=path)
    if not text.strip():
        raise UsageError("the file is empty", field="warm_start", given=path)
    results = output.parse(text).results
    usable = sorted((result for result in results if not result.why_not()), key=lambda result: -result.gflops)
    if usable:
        return Source(f"the output {path}", tuple(_of_result(result) for result in usable))
    if results or BANNER in text:
        lacks = "it ends before its first result"
        if results:
            passed = next((result for result in results if result.passed), None)
            lacks = passed.why_not() if passed else "no result in it PASSED"
        raise UsageError(f"this is HPL's output, but {lacks}", field="warm_start", given=path)
    try:
        dat = parse_dat(text, str(path))
    except HplDatError as error:
        if text.lstrip().startswith("HPLinpack") and "Ps" in text:
            raise
        line, problem = error.problems[0]
        raise UsageError(
            f"this is neither HPL's output nor an HPL.dat (line {line}: {problem})", field="warm_start", given=path
        ) from error
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
