"""Reads TOML files of clusters, of bounded size and depth; every mistake is named with its file, line and key.

`search_spaces/load.py` reads texts in the same way: the two folders are siblings that never import each other.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from .errors import RunnerError
from .price import price_usd

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**6)]
PriceUsd = Annotated[float, BeforeValidator(price_usd)]
"""A price above zero."""
PartPriceUsd = Annotated[
    float, BeforeValidator(lambda given: 0.0 if given == 0 and not isinstance(given, bool) else price_usd(given))
]
"""A price of a part; 0 where it is in the price of the whole."""
GIB = 2**30
Model = TypeVar("Model", bound=BaseModel)

LARGEST_BYTES = 2**20
"""Most bytes of a file: a thousand nodes with a line each take only some tens of kilobytes."""
DEEPEST = 50
"""Most tables and lists inside each other; a deeper text is no description of a cluster."""


def matching(pattern: str, expected: str) -> AfterValidator:
    """Make a validator that refuses a text unless the whole text matches a pattern, and says what is expected."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"expected {expected}")
        return text

    return AfterValidator(check)


NO_CLUSTER_FILE = "you write this file yourself, and docs/clusters.md shows how"
"""What to do where the file of a cluster is not there."""


class Part(BaseModel):
    """A frozen part of a cluster's description, which refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


IN_OUR_WORDS: Mapping[str, str] = {
    "int_parsing": "write a whole number",
    "int_parsing_size": "write a whole number of fewer digits",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "finite_number": "write a number that is not infinite",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "string_type": "write a text",
    "string_too_short": "write {min_length} or more characters",
    "string_too_long": "write {max_length} characters at most",
    "string_unicode": "write characters of Unicode only",
    "datetime_type": "write a moment, as 2026-11-28T12:00:00Z",
    "datetime_parsing": "write a moment, as 2026-11-28T12:00:00Z",
    "datetime_from_date_parsing": "write a moment, as 2026-11-28T12:00:00Z",
    "datetime_object_invalid": "write a moment that there is, as 2026-11-28T12:00:00Z",
    "timezone_aware": "write a moment with its time zone, as 2026-11-28T12:00:00Z",
    "path_type": "write the name of a file",
    "list_type": "write a list",
    "tuple_type": "write a list",
    "dict_type": "write a table of names and their values",
    "mapping_type": "write a table of names and their values",
    "dataclass_type": "write a table of names and their values",
    "model_type": "write a table of names and their values",
    "model_attributes_type": "write a table of names and their values",
    "literal_error": "choose {expected}",
    "enum": "choose {expected}",
    "greater_than": "write more than {gt}",
    "greater_than_equal": "write {ge} or more",
    "less_than": "write less than {lt}",
    "less_than_equal": "write {le} or less",
    "too_short": "give {min_length} or more",
    "too_long": "give {max_length} at most",
    "missing": "this is missing",
    "extra_forbidden": "there is no such field here",
}
"""By pydantic's kind of error."""


def in_our_words(error: Mapping[str, Any]) -> str:
    """Say one error of pydantic's list as what to do; kinds without words of ours keep pydantic's."""
    kind, context = error["type"], error.get("ctx", {})
    if kind not in IN_OUR_WORDS:
        said = str(error["msg"]).removeprefix("Value error, ")
        return said[:1].lower() + said[1:] if said == error["msg"] else said
    plain = {name: f"{limit:.15g}" if isinstance(limit, float) else limit for name, limit in context.items()}
    return IN_OUR_WORDS[kind].format(**plain)


class ClusterFileError(RunnerError):
    """A cluster file cannot be used."""


def read_text(file: Path, missing: str = "") -> str:
    """Read the text of a file.

    Args:
        missing: what to do where there is no such file.

    Raises:
        ClusterFileError: the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        with file.open("rb") as opened:
            read = opened.read(LARGEST_BYTES + 1)
        if len(read) > LARGEST_BYTES:
            raise ClusterFileError(f"cannot read {file}: the file is larger than {LARGEST_BYTES / 2**20:g} MiB")
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ClusterFileError(f"cannot read {file}: it is not UTF-8 text") from error
    except OSError as error:
        advice = f"; {missing}" if missing and isinstance(error, FileNotFoundError) else ""
        raise ClusterFileError(f"cannot read {file}: {error.strerror or error}{advice}") from error


def parse_table(place: str, text: str) -> dict[str, Any]:
    """Parse a TOML text; `place` names it in errors.

    Raises:
        ClusterFileError: the text is no TOML, is nested too deeply, or has a whole number of more than 64 bits.
    """
    too_deep, too_large = f"tables or lists are more than {DEEPEST} deep", "a whole number is larger than 64 bits"
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClusterFileError(f"{place}: {error}") from error
    except RecursionError as error:
        raise ClusterFileError(f"{place}: {too_deep}") from error
    except ValueError as error:  # int() refuses texts of thousands of digits
        raise ClusterFileError(f"{place}: {too_large}") from error
    left: list[tuple[object, int]] = [(table, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ClusterFileError(f"{place}: {too_large}")
        within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if within and depth > DEEPEST:
            raise ClusterFileError(f"{place}: {too_deep}")
        left += [(each, depth + 1) for each in within]
    return table


def validated(
    model: type[Model], place: str, table: Mapping[str, Any], text: str = "", folder: Path | None = None
) -> Model:
    """Make the model that a table describes.

    Args:
        folder: of the file, for validators that read what it names; None for a table that no file of the user's is.

    Raises:
        ClusterFileError: a key or a figure in the table is wrong.
    """
    try:
        return model.model_validate(dict(table), context=folder)
    except ValidationError as error:
        raise ClusterFileError(_sentence(model, place, table, text, error)) from error


def _sentence(model: type[BaseModel], place: str, table: Mapping[str, Any], text: str, error: ValidationError) -> str:
    first = error.errors()[0]
    missing = first["type"] == "missing"
    steps = [*_steps(table, first["loc"]), *(first["loc"][-1:] if missing else ())]
    key = ".".join(map(str, steps)) or "the file"
    line = _line_of(text, steps)
    where = f"{place}, line {line}" if line else place
    problem = in_our_words(first)
    if missing:
        return f"{where}: {key} is missing"
    if first["type"] == "extra_forbidden":
        return f"{where}: {key} is not known here: {_instead(model, first['loc'])}"
    if first["type"] == "tuple_type":
        problem += f"; each table of a list begins with [[{key}]]" if isinstance(first["input"], dict) else ""
    given = first["input"]
    if isinstance(given, dict | list | tuple) or first["loc"][-1] == "[key]":
        return f"{where}: {key}: {problem}"
    return f"{where}: {key} = {given if str(given).isprintable() else repr(given)}: {problem}"


def _instead(model: Any, location: Sequence[int | str]) -> str:
    """Say which key was probably meant by one that its table does not have, or which there are."""
    for step in location[:-1]:
        within = getattr(model, "model_fields", {})
        model = _model_in(within[step].annotation) if step in within else model
    keys = [
        getattr(one.validation_alias, "choices", [name])[0]
        for name, one in getattr(model, "model_fields", {}).items()
        if not one.json_schema_extra  # no file may name such a field
    ]
    if near := get_close_matches(str(location[-1]), keys, n=1):
        return f"did you mean {near[0]}?"
    return f"known are {', '.join(keys)}" if keys else "leave it out"


def _model_in(annotation: Any) -> Any:
    """Find the model of a field, also of one that is a list or a table of them; None where it has no single one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [model for one in get_args(annotation) if (model := _model_in(one)) is not None]
    return found[0] if len(found) == 1 else None


def _steps(table: Any, location: Sequence[int | str]) -> list[int | str]:
    """Return the keys and indices of a location that exist in the table; pydantic adds its own steps."""
    steps: list[int | str] = []
    for step in location:
        if step in (table if isinstance(table, dict) else range(len(table)) if isinstance(table, list) else ()):
            table = table[step]
            steps.append(step)
    return steps


def _line_of(text: str, steps: Sequence[int | str]) -> int | None:
    """Find the first line of a key, or of the nearest table around it; None if neither is found."""
    lines, found = text.splitlines(), None
    for step, following in zip(steps, [*steps[1:], ""], strict=False):
        if isinstance(step, int):
            continue
        name = rf"(?:[\w.\"'-]+\.)?[\"']?{re.escape(step)}[\"']?"
        begins = re.compile(rf"\s*(?:\[+{name}(?:\.[^]=]*)?\]|{name}\s*[.=])")
        places = [number for number in range(found or 0, len(lines)) if begins.match(lines[number])]
        nth = following if isinstance(following, int) and len(places) > following else 0
        found = places[nth] if places else found
    return None if found is None else found + 1
