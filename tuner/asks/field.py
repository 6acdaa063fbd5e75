"""An option of a command, which is a key of a document as well: all that is said of it, once."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from enum import StrEnum
from inspect import Parameter, get_annotations
from pathlib import Path
from typing import Any, get_args, get_type_hints

from ..errors import UsageError

MOST_FIGURE = 1e12
"""Of GFLOPS, watts and dollars; what is more, infinite or no number is a slip."""
MOST_RUNS = 1_000_000
"""Of trials, repeats and the like; more of them would take years."""
MOST_AT_ONCE = 10_000
"""Of cores, and of programs at a time."""
LARGEST_SEED = 2**32 - 1
"""That the engines' libraries take."""
SEARCH, BUDGET, MACHINE, CLUSTER, OUTPUT = "What to search", "Budget", "Machine", "Cluster", "Study and output"
"""Groups of options in --help; what stands in none is just an option."""
Scalar = str | int | float | bool
"""A value of a parameter."""
FIRST, SIZES, HOW = "", "Sizes and other parameters", "How it searches"
PRICE, QUEUE = "Price, power and peak", "Queue and programs"
"""Groups of fields in a form; everybody sees the first, which has no name."""


class Named(StrEnum):
    """What a value names; a service has names for those things that are files on a machine."""

    SPACE = "space"
    CLUSTER = "cluster"
    PROGRAM = "program"
    LIBRARY = "library"
    STUDY = "study"
    PARAMETER = "parameter"
    ENGINE = "engine"


OFFERED = frozenset({Named.SPACE, Named.CLUSTER, Named.PROGRAM, Named.LIBRARY, Named.STUDY})
"""What is a name for a service, and may be a file here."""


class Useless(StrEnum):
    """Where an option changes nothing, as the end of the sentence that refuses it."""

    WITH_TABLE = "is for machines that run HPL and changes nothing with ⟦replay⟧: leave it out"
    SIMULATED = "is for real machines and changes nothing on a virtual ⟦cluster⟧: leave it out"
    WITHOUT_RUNS = "is for ⟦interleaved⟧: without it compare runs nothing"


@dataclass(frozen=True)
class AskField:
    """What is said of an option.

    Attributes:
        help: what it does; other options stand in it as ⟦budget⟧, and each face puts its own name there.
        described: the same for documents; "" where the help is right for them, too.
        field: what sentences and the command line call it; "" where that is its key.
        argument: the command line has it by its place, without a name.
        metavar: stands for its value in --help.
        panel: its group in --help.
        section: its group in a form.
        label: before its field in a form; "" where its key says enough.
        hint: below its field in a form.
        least, most: bounds of a number.
        above: a number that is not reached, where there is no least one.
        names: what its value names; None where it names nothing.
        typed: what the command line reads, where that is another type; `read` makes the value of it.
        here: it makes sense on this machine alone, and no document has it.
        there: the default of a document, where that is another; ... where it is the same.
        beside: options of another study that it may be given with: "resume", "join".
        useless: where it changes nothing.
    """

    help: str
    _: KW_ONLY
    described: str = ""
    field: str = ""
    argument: bool = False
    metavar: str | None = None
    panel: str | None = None
    section: str = HOW
    label: str = ""
    hint: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    names: Named | None = None
    typed: Any = None
    read: Callable[[Any], Any] | None = None
    here: bool = False
    there: Any = ...
    beside: tuple[str, ...] = ()
    useless: tuple[Useless, ...] = ()


@dataclass(frozen=True)
class AskedField:
    """An option of a command with its key.

    Attributes:
        type: without what is said of it.
        default: MISSING, or that of inspect, where it must be given.
    """

    key: str
    type: Any
    default: Any
    said: AskField

    @property
    def field(self) -> str:
        """What sentences call it, and the command line: price for price_usd."""
        return self.said.field or self.key

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING or self.default is Parameter.empty

    @property
    def default_there(self) -> Any:
        """The default of a document."""
        return self.default if self.said.there is ... else self.said.there


@dataclass(frozen=True)
class Ask:
    """What is asked of a command that can be handed in: base of all."""

    def changed(self) -> Iterator[AskedField]:
        """The options that have another value than the default."""
        return (field for field in fields_of(type(self)) if getattr(self, field.key) != field.default)

    def refuse_useless(self, where: Useless) -> None:
        """Refuse options that change nothing.

        Raises:
            UsageError: there is one.
        """
        for field in self.changed():
            if where in field.said.useless:
                raise UsageError(f"⟦{field.field}⟧ {where}", field=field.field)


def fields_of(ask: type[Ask]) -> tuple[AskedField, ...]:
    """The options of a command: its own, then those that it shares with others."""
    hints = get_type_hints(ask, include_extras=True)
    known = {field.name: field for field in fields(ask)}
    order = [name for cls in ask.__mro__ for name in get_annotations(cls) if name in known]
    found = []
    for name in dict.fromkeys(order):
        plain, said = get_args(hints[name])
        made = known[name].default_factory
        found.append(AskedField(name, plain, known[name].default if made is MISSING else made(), said))
    return tuple(found)


def keys_here(ask: type[Ask]) -> frozenset[str]:
    """The keys of options that make sense on this machine alone."""
    return frozenset(field.key for field in fields_of(ask) if field.said.here)


def keys_there(ask: Ask) -> dict[str, Any]:
    """What is asked as keys of a document, those left out that are as they are by themselves.

    Raises:
        UsageError: one of them names a file of this machine.
    """
    fields = [field for field in fields_of(type(ask)) if not field.said.here]
    keys = {field.key: getattr(ask, field.key) for field in fields if getattr(ask, field.key) != field.default_there}
    for field in fields:
        if field.said.names in OFFERED and field.key in keys:
            value = keys[field.key]
            for name in (value,) if isinstance(value, str) else value:
                _refuse_file(field, name)
    return keys


def _refuse_file(field: AskedField, value: str) -> None:
    """Refuse what is no name that a service knows.

    Raises:
        UsageError: it is a path.
    """
    if set("/=#") & set(value) or Path(value).suffix in {".toml", ".so", ".out", ".dat"}:
        said = f"a service reads no file of this machine: name a {field.said.names} that it offers"
        if field.said.argument:
            raise UsageError(f"{value}: {said}")
        raise UsageError(said, field=field.field, given=value)
