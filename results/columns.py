"""The columns of a trial, each named once: the store, CSV, JSON lines, Parquet and `show` are made from this table."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, get_args

from hpl.params import HplParams, Scalar

from .disturbance import Conditions, Disturbance
from .plain import finite, finite_figures, time_text
from .record import BlasObservation, Invalidity, Kind, TrialRecord, TrialState

GRID = re.compile(r"[1-9]\d{0,8}x[1-9]\d{0,8}")
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class TrialColumn:
    """One thing that is known of a trial.

    Attributes:
        kind: the type of its values; a dict and a list are stored as JSON, and are text in a table.
        home: "trial" is a field of the record, "HPL.dat" a word of its HPL.dat, and "observed" a field of its
            observation of the BLAS; these are in the table `trials` under their own names, but for the grid. "printed"
            is a field of the record in the table `outputs`. "derived" follows from others, and "place" is a field of
            `TrialPlace`, which only an export knows.
        unit: of its values; "" without one.
        is_exported: whether CSV, Parquet and lists of trials have it; JSON lines have every column.
        is_later: whether JSON lines of an earlier hpltune lack it.
        is_public: whether the API and its events tell it: nothing that names folders of the server.
            Files to take home have every column, because an import needs them.
        about: what it is, for who reads the API, where the name does not say it.
        head: its head where people read lists of trials; "" keeps it out of them.
        usual: values that go without saying: any other one stands beside each rate of the trial; () where none does.
    """

    kind: type
    home: Literal["trial", "HPL.dat", "observed", "printed", "derived", "place"] = "trial"
    unit: str = ""
    is_exported: bool = True
    is_later: bool = False
    is_public: bool = True
    about: str = ""
    head: str = ""
    usual: tuple[str, ...] = ()


TABLE = {
    "study": TrialColumn(str, is_public=False),
    "number": TrialColumn(int, head="#"),
    "kind": TrialColumn(Kind, head="kind"),
    "state": TrialColumn(TrialState),
    "invalidity": TrialColumn(Invalidity, about="the stage at which it failed"),
    "reason": TrialColumn(str, about="why it does not count; empty if it counts"),
    "blas": TrialColumn(str),
    "kernel": TrialColumn(str),
    "ranks": TrialColumn(int),
    "threads": TrialColumn(int, about="of each rank"),
    "N": TrialColumn(int, "HPL.dat"),
    "NB": TrialColumn(int, "HPL.dat"),
    "grid": TrialColumn(str, "HPL.dat"),
    "PMAP": TrialColumn(str, "HPL.dat"),
    "PFACT": TrialColumn(str, "HPL.dat"),
    "NBMIN": TrialColumn(int, "HPL.dat"),
    "NDIV": TrialColumn(int, "HPL.dat"),
    "RFACT": TrialColumn(str, "HPL.dat"),
    "BCAST": TrialColumn(str, "HPL.dat"),
    "DEPTH": TrialColumn(int, "HPL.dat"),
    "SWAP": TrialColumn(str, "HPL.dat"),
    "swap_threshold": TrialColumn(int, "HPL.dat"),
    "L1": TrialColumn(str, "HPL.dat"),
    "U": TrialColumn(str, "HPL.dat"),
    "EQUIL": TrialColumn(str, "HPL.dat"),
    "alignment": TrialColumn(int, "HPL.dat"),
    "threshold": TrialColumn(float, "HPL.dat"),
    "gflops": TrialColumn(float, unit="GFLOPS", head="result"),
    "time_s": TrialColumn(float, unit="s", head="time"),
    "residual": TrialColumn(float),
    "passed": TrialColumn(bool, about="HPL's word about the residual; null where nothing checked it"),
    "cost_s": TrialColumn(float, unit="s", about="from the launch to the end of all processes"),
    "started_at": TrialColumn(datetime),
    "ended_at": TrialColumn(datetime),
    "library": TrialColumn(str, "observed", is_public=False),
    "library_version": TrialColumn(str, "observed", about="of the BLAS that ran, as the ranks reported it"),
    "library_kernel": TrialColumn(str, "observed", about="of the BLAS that ran"),
    "library_threads": TrialColumn(int, "observed", about="of each rank, as the BLAS that ran has it"),
    "key": TrialColumn(str, is_public=False),
    "command": TrialColumn(str, is_public=False),
    "directory": TrialColumn(str, is_public=False),
    "xhpl_key": TrialColumn(str, is_public=False),
    "simulated": TrialColumn(bool, "derived", is_public=False),
    "part": TrialColumn(float, is_later=True, about="of a full run"),
    "session": TrialColumn(int, is_later=True, about="of the study, from 0"),
    "hosts": TrialColumn(list, "observed", about="with ranks"),
    "rank": TrialColumn(int, "place"),
    "expected_gflops": TrialColumn(float, "place", "GFLOPS"),
    "percent_of_peak": TrialColumn(float, "place", "%"),
    "rates": TrialColumn(str, "derived", is_public=False),
    "cautions": TrialColumn(str, "place"),
    "measurements": TrialColumn(dict, is_later=True, about="by name with its unit, what observers measured meanwhile"),
    "disturbed": TrialColumn(
        str, "derived", is_later=True, about="what did; null where it is not known to be disturbed"
    ),
    "conditions": TrialColumn(
        Conditions,
        "derived",
        is_later=True,
        about="whether something else took the machine from it",
        head="disturbed?",
        usual=("undisturbed",),
    ),
    "params": TrialColumn(dict, is_exported=False, head="configuration"),
    "versions": TrialColumn(dict, is_exported=False, is_public=False),
    "hpl_dat": TrialColumn(str, "printed", is_exported=False, is_public=False),
    "output": TrialColumn(str, "printed", is_exported=False, is_public=False),
    "file_changed_at": TrialColumn(datetime, "derived", is_exported=False, is_public=False),
    "errors_text": TrialColumn(str, "printed", is_exported=False, is_public=False),
}
"""All columns in their order; later versions only append exported ones, which `more_columns` follow."""
COLUMNS = {name: column for name, column in TABLE.items() if column.is_exported}
"""The columns of CSV and Parquet."""
LISTED = tuple(name for name, column in COLUMNS.items() if column.home != "place")
"""The columns that `show --json` tells of each trial, beside all its parameters."""
HPL_WORDS = tuple(name for name, column in TABLE.items() if column.home == "HPL.dat")
PLACED = frozenset(name for name, column in TABLE.items() if column.home == "place")
PUBLIC = {
    name: column
    for name, column in TABLE.items()
    if column.is_public and column.home in {"trial", "observed", "derived"}
}
"""The columns that the API and its events tell; `params` has the words of HPL.dat."""
FIELDS = tuple(name for name, column in TABLE.items() if column.home in {"trial", "printed"})
"""The columns that are fields of a record."""
OPTIONAL = frozenset(field.name for field in fields(TrialRecord) if NoneType in get_args(field.type))
_OBSERVED = {name: name.removeprefix("library_") for name, column in TABLE.items() if column.home == "observed"}
HINTS: Mapping[str, Any] = {
    **{name: column.kind | None for name, column in TABLE.items()},
    **{field.name: field.type for field in fields(TrialRecord)},
    "started_at": datetime | None,
}
"""Types of the values as JSON has them; an import may lack its start."""
_READ: Mapping[str, Callable[[Any], Any]] = {
    name: datetime.fromisoformat if TABLE[name].kind is datetime else TABLE[name].kind
    for name in FIELDS
    if issubclass(TABLE[name].kind, datetime | StrEnum)
}
"""How the values of fields are made of their texts, where they are none themselves."""


@dataclass(frozen=True)
class TrialPlace:
    """The rank of a trial's configuration in its study, as `hpltune best` shows it.

    Attributes:
        rank: from 1.
        expected_gflops: the expected rate of one more run of the configuration.
        percent_of_peak: the expected rate in percent of the peak of the nodes in use; None if that is not known.
        cautions: sentences that a reader of the rate must know; "" for none.
    """

    rank: int
    expected_gflops: float
    percent_of_peak: float | None
    cautions: str = ""


def told_words(params: Mapping[str, Scalar]) -> dict[str, Cell]:
    """Return what a trial's parameters tell of its HPL.dat: some where it was imported; nothing without its sizes."""
    told: dict[str, Cell] = {name: params[name] for name in HPL_WORDS if type(params.get(name)) is TABLE[name].kind}
    return told if GRID.fullmatch(str(told.get("grid"))) and {"N", "NB"} <= told.keys() else {}


def more_columns(records: Iterable[TrialRecord]) -> list[str]:
    """Return more columns for these records: parameters that are not in HPL.dat, such as layout, mpi and net.mtu."""
    return sorted({name for record in records for name in record.params} - COLUMNS.keys())


def values_of(record: TrialRecord, names: Iterable[str] = TABLE) -> dict[str, Any]:
    """Make the values of some columns, plain as in JSON; None stands for what is missing or not finite."""
    known: dict[str, Any] = {
        **(told_words(record.params) if record.hpl is None else record.hpl.words()),
        **{name: getattr(record.observed, field, None) for name, field in _OBSERVED.items()},
        "started_at": record.known_start,
        "file_changed_at": None if record.known_start else record.started_at,
        "measurements": finite_figures(record.measurements),
    }
    return {name: plain(known[name] if name in known else getattr(record, name, None)) for name in names}


def doubts(record: TrialRecord, *unsaid: str) -> list[str]:
    """Return what must be told beside each rate of a trial, in words: "disturbed", or that this is "not known".

    Args:
        unsaid: words that are told elsewhere.
    """
    told = cells_of(values_of(record, (name for name, column in PUBLIC.items() if column.usual)))
    return [str(value) for name, value in told.items() if value not in {None, *PUBLIC[name].usual, *unsaid}]


def plain(value: object) -> Any:
    """Convert a value of a record to one for JSON."""
    match value:
        case float():
            return finite(value)
        case datetime():
            return time_text(value)
        case str() | Disturbance():
            return str(value)
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
    return value


def record_of(values: Mapping[str, Any]) -> TrialRecord:
    """Make a record of plain values; what is missing is as in a new record, and unknown names are ignored."""
    words = {name: values.get(name) for name in HPL_WORDS}
    observed: dict[str, Any] = {field: values.get(name) for name, field in _OBSERVED.items()}
    observed["hosts"] = tuple(observed["hosts"] or ())
    kept = {name: values[name] for name in FIELDS if name in values}
    texts = {name: kept.get(name) for name in _READ if name not in OPTIONAL or kept.get(name) is not None}
    return TrialRecord(
        **{**kept, **{name: _READ[name](text) for name, text in texts.items()}},
        hpl=None if None in words.values() else HplParams.from_words(words),  # type: ignore[arg-type]  # none is None
        observed=None if observed["library"] is None else BlasObservation(**observed),
    )


def flat(record: TrialRecord, placed: TrialPlace | None = None) -> dict[str, Cell]:
    """Make the row of a trial in a table; None stands for values that are missing or not finite.

    Args:
        placed: the rank of its configuration; None if it has none or it is not wanted.
    """
    return cells_of(values_of(record, COLUMNS), placed)


def cells_of(values: Mapping[str, Any], placed: TrialPlace | None = None) -> dict[str, Cell]:
    """Make the cells of plain values: objects and lists are text."""
    return {name: _cell((asdict(placed) if placed else {}).get(name, value)) for name, value in values.items()}


def _cell(value: Any) -> Cell:
    if isinstance(value, dict):
        return json.dumps(value) if value else None
    return ",".join(value) if isinstance(value, list) else value
