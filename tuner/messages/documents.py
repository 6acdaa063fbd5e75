"""What people hand in, of each kind of campaign: a model for what can be asked of each command."""

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from ..asks.field import Ask, AskedField, fields_of
from ..asks.registry import ASKS, key_of
from ..words import named

HIGHEST = 100
"""Of priorities; the lowest is as far below zero."""
MOST_LISTED, MOST_SET = 20, 100
"""Values in a list, and parameters whose values are set."""


INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))
"""Letters that count as printable and show nothing: fillers, joiners, an empty pattern of Braille, and selectors."""


def printable_text(text: str) -> str:
    """Return text without control characters, which some databases cannot store.

    Raises:
        ValueError: it has some.
    """
    if not text.isprintable():
        raise ValueError("expected text without control characters")
    return text


def visible_text(text: str) -> str:
    """Return text that can be told from another one by eye.

    Raises:
        ValueError: it has blanks at its ends, or letters that show nothing; or a table would take it for a formula.
    """
    if text != text.strip() or INVISIBLE.intersection(text):
        raise ValueError("expected text that can be seen: without blanks at its ends and invisible letters")
    if text.startswith(("=", "+", "@")):
        raise ValueError("expected a name that begins with none of = + @, which make a formula of it in a table")
    return text


Text = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(printable_text)]
Name = Annotated[str, Field(max_length=200), AfterValidator(printable_text), AfterValidator(visible_text)]
"""Of a campaign; `check_name` says more of what is wrong with one."""
Value = Annotated[str, Field(max_length=200), AfterValidator(printable_text)] | int | float | bool
"""Of a parameter."""
Values = Annotated[list[Value], Field(min_length=1, max_length=1000)]


class Document(BaseModel):
    """What people hand in of any kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    name: Name | None = Field(None, description="of the campaign and its study; null takes a free one")
    priority: int = Field(
        0, ge=-HIGHEST, le=HIGHEST, description="a higher one is started first; above 0 needs scope admin"
    )

    @property
    def ask(self) -> Any:
        """What is asked, without what only a queue heeds."""
        asked = ASKS[self.kind]
        keys = {field.key for field in fields_of(asked)} & type(self).model_fields.keys()
        values = {key: getattr(self, key) for key in keys}
        return asked(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


@cache
def document_of(kind: str) -> type[Document]:
    """The model of what people hand in for one kind of campaign."""
    ask = ASKS[kind]
    return create_model(
        f"{kind.capitalize()}Document",
        __base__=Document,
        __doc__=ask.__doc__,
        __module__=__name__,
        **{"kind": (Literal[kind], kind), **_fields(ask)},
    )


def query_of(ask: type[Ask], base: type[BaseModel]) -> Any:
    """The model of a query for what a service answers at once."""
    name = ask.__name__.replace("Ask", "Query")
    return create_model(name, __base__=base, __doc__=ask.__doc__, __module__=__name__, **_fields(ask))


def _fields(ask: type[Ask]) -> dict[str, Any]:
    """The keys that make sense on a service, each with its type and default."""
    return {field.key: _described(field) for field in fields_of(ask) if not field.said.here}


def _described(field: AskedField) -> tuple[Any, Any]:
    """The type and the default of a key, with what is said of it."""
    said = field.said.described or named(field.said.help, key_of)
    if get_origin(field.type) is Mapping:
        of_set = Field(description=said, examples=[{"NB": [128, 192]}], max_length=MOST_SET)
        return Annotated[Mapping[Text, Value | Values], of_set], Field(default_factory=dict)
    plain = _limited(field)
    whole = plain | None if NoneType in get_args(field.type) else plain
    if field.required:
        return Annotated[whole, Field(description=said)], ...
    default = list(field.default) if isinstance(field.default, tuple) else field.default_there
    return Annotated[whole, Field(description=said)], default


def _limited(field: AskedField) -> Any:
    """The type of a value that is there, with its limits."""
    if get_origin(field.type) is tuple:
        return Annotated[list[Text], Field(max_length=MOST_LISTED)]
    (plain,) = {field.type} if not isinstance(field.type, UnionType) else set(get_args(field.type)) - {NoneType}
    if plain is str:
        return Text
    bounds = ((field.said.least, Ge), (field.said.above, Gt), (field.said.most, Le))
    limits = [bound(plain(value)) for value, bound in bounds if value is not None]
    return Annotated[plain, *limits] if limits else plain
