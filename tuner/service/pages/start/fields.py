"""The fields of the form that starts a campaign: one for each option of `tune` that makes sense on a service."""

from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from ....asks.field import FIRST, HOW, PRICE, QUEUE, SIZES, AskedField, Named, fields_of
from ....asks.tune import TuneAsk

FieldKind = Literal["text", "number", "choice", "tick", "tick-not", "ticks", "lines"]
"""How a field is filled in."""


@dataclass(frozen=True)
class FormField:
    """A field.

    Attributes:
        name: its key in the document, or "set.N" for values of a parameter.
        hint: what to write; the form shows it below the label.
        listed: the document holds a list, which people separate by commas.
    """

    name: str
    label: str
    kind: FieldKind = "text"
    hint: str = ""
    listed: bool = False

    @property
    def id(self) -> str:
        """What its element is called."""
        return self.name.replace(".", "-")


FieldGroup = tuple[str, tuple[FormField, ...]]
"""Fields that belong together, below their title; "" for those that everybody sees first."""
OTHER_PARAMETERS = "set"
"""The field for values of all parameters that have no field of their own."""
OWN_FIELDS = (
    FormField("set.N", "N", hint="Order of the matrix. Empty: the budget decides. Several: 400, 800.", listed=True),
    FormField("set.NB", "NB", hint="Sizes of blocks. Empty: those of the space. Several: 64, 128.", listed=True),
)
"""For values of parameters that have a field of their own."""
NAME = FormField("name", "Name", hint="Leave it empty for the name of the space and a number.")
PRIORITY = FormField(
    "priority", "Priority", "number", "From -100 to 100; a higher one goes first. Above 0: only admins."
)
CHOSEN = frozenset({"space", "cluster", "objective", "pareto", "engine", "program"})
"""Keys of which a value is chosen of a list."""


def form_field(field: AskedField) -> FormField:
    """The field for a key of the document."""
    label = field.said.label or field.key.replace("_", " ").capitalize()
    return FormField(field.key, label, _kind(field), field.said.hint, listed=get_origin(field.type) is tuple)


def _kind(field: AskedField) -> FieldKind:
    types = {field.type, *get_args(field.type)}
    if field.key == OTHER_PARAMETERS:
        return "lines"
    if field.key in CHOSEN:
        return "choice"
    if field.said.names is Named.LIBRARY:
        return "ticks"
    if bool in types:
        return "tick" if field.default is False else "tick-not"
    return "number" if types & {int, float} else "text"


def _groups() -> tuple[FieldGroup, ...]:
    """All fields by their sections, each section where its first field is."""
    found: dict[str, list[FormField]] = {section: [] for section in (FIRST, SIZES, HOW, PRICE, QUEUE)}
    for field in fields_of(TuneAsk):
        if not field.said.here:
            found[field.said.section].append(form_field(field))
    found[FIRST].append(NAME)
    found[SIZES][:0] = OWN_FIELDS
    found[QUEUE].insert(0, PRIORITY)
    return tuple((section, tuple(group)) for section, group in found.items())


GROUPS = _groups()
FIELDS = tuple(field for _, fields in GROUPS for field in fields)
BY_NAME = {field.name: field for field in FIELDS}
