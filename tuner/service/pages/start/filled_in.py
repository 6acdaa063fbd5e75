"""Between a form as people filled it in and the document of a campaign."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from search_spaces.parameters.dimension import DIMENSIONS

from ....messages.documents import MOST_SET, Document, document_of
from ...forms import FIELD, FormFields
from ...problems import LONGEST_PATH, Problem, wrong_document
from ..queue import value_text
from .fields import BY_NAME, FIELDS, OTHER_PARAMETERS, FormField

_NAME = re.compile(r"[\w.-]+")
KEY = "key"
"""The hidden field that makes one campaign of a form that is sent twice."""
LINE_SHOWN = 80
"""Characters of a line that cannot be read."""
_SET = "set."
Texts = Mapping[str, Sequence[str]]
"""What stands in the fields by their names; a field of ticks may have several."""


@dataclass(frozen=True)
class FieldError:
    """Something is wrong in a form.

    Attributes:
        field: where; None where no field is to blame.
    """

    field: FormField | None
    sentence: str


def by_field(errors: Iterable[FieldError]) -> dict[str, str]:
    """What is wrong, by the name of the field in which it stands; without what no field is to blame for."""
    return {error.field.name: error.sentence for error in errors if error.field}


class WrongFormError(Exception):
    """What is filled in is wrong."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__(errors[0].sentence)
        self.errors = errors


def texts_of_form(fields: FormFields) -> Texts:
    """What somebody filled in.

    Raises:
        Problem: the form has no such field.
    """
    for name in fields.keys() - {*BY_NAME, KEY, FIELD, "do"}:
        raise Problem(422, f"{name[:LONGEST_PATH]}: the form has no such field.")
    return {field.name: [text.strip() for text in fields.getlist(field.name)] for field in FIELDS}


def texts_of_document(document: Document) -> Texts:
    """Fill in a form as a document says."""
    known = document.model_dump(mode="json")
    given: dict[str, Any] = known.pop("set", {})
    own = {name.removeprefix(_SET) for name in BY_NAME if name.startswith(_SET)}
    others = [f"{name} = {value_text(values)}" for name, values in given.items() if name not in own]
    texts: dict[str, Sequence[str]] = {OTHER_PARAMETERS: ["\n".join(others)]}
    for field in FIELDS:
        if field.name.startswith(_SET):
            texts[field.name] = [value_text(given.get(field.name.removeprefix(_SET), []))]
        elif field.name != OTHER_PARAMETERS:
            texts[field.name] = _shown(field, known[field.name])
    return texts


def _shown(field: FormField, value: Any) -> Sequence[str]:
    match field.kind, value:
        case "ticks", _:
            return list(value)
        case "tick" | "tick-not", _:
            return ["yes"] if value is (field.kind == "tick") else []
        case _, None:
            return [""]
        case _, list():
            return [value_text(value)]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def document_filled_in(texts: Texts) -> Document:
    """Read what somebody filled in.

    Raises:
        WrongFormError: something cannot be read.
    """
    given: dict[str, Any] = {}
    for field in FIELDS:
        if field.name == OTHER_PARAMETERS or field.name.startswith(_SET):
            continue
        value = _value(field, texts[field.name])
        if value not in ("", [], None):
            given[field.name] = value
    try:
        return document_of("tune").model_validate({**given, "set": _overrides(texts)})
    except ValidationError as error:
        raise WrongFormError(
            [field_error(one["path"], one["sentence"], texts) for one in wrong_document(error).errors]
        ) from error


def _value(field: FormField, texts: Sequence[str]) -> Any:
    if field.kind == "tick":
        return bool(texts) or None
    if field.kind == "tick-not":
        return False if texts else None
    if field.kind == "ticks":
        return [text for text in texts if text]
    text = texts[0] if texts else ""
    return _parts(text) if field.listed else text


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def on_lines(texts: Texts) -> dict[str, str]:
    """Values of parameters that are written on lines, by their names.

    Raises:
        WrongFormError: a line cannot be read, or names a parameter whose own field has values.
    """
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, "\n".join(texts[OTHER_PARAMETERS]).splitlines())):
        name, _, values = (part.strip() for part in line.partition("="))
        shown = line[:LINE_SHOWN]
        if not values or not _NAME.fullmatch(name):
            raise _wrong_line(f"{shown}: write NAME = VALUE, VALUE")
        if name in DIMENSIONS and "=" in values:
            raise _wrong_line(f"{shown}: no value of {name} has a =: write NAME = VALUE, VALUE")
        if len(found) == MOST_SET:
            raise _wrong_line(f"give values of {MOST_SET} parameters at most")
        if name in found:
            raise _wrong_line(f"{shown}: {name} has a line already")
        if any(texts.get(_SET + name, ())):
            raise _wrong_line(f"{shown}: the field {name} has values already")
        found[name] = values
    return found


def _wrong_line(sentence: str) -> WrongFormError:
    return WrongFormError([FieldError(BY_NAME[OTHER_PARAMETERS], sentence)])


def _overrides(texts: Texts) -> dict[str, list[str | int]]:
    """Values of parameters: those with a field of their own, and those on lines.

    Raises:
        WrongFormError: a line cannot be read.
    """
    found = {
        field.name.removeprefix(_SET): _parts(texts[field.name][0] if texts[field.name] else "")
        for field in FIELDS
        if field.name.startswith(_SET)
    }
    return {
        name: [int(value) if re.fullmatch(r"-?\d{1,9}", value) else value for value in values]
        for name, values in {**found, **{name: _parts(values) for name, values in on_lines(texts).items()}}.items()
        if values
    }


def field_error(path: str, sentence: str, texts: Texts) -> FieldError:
    """The error at the field in which somebody wrote what is at a path of the document."""
    parameter = path.removeprefix(_SET)
    if path in BY_NAME and not (path.startswith(_SET) and parameter in on_lines(texts)):
        return FieldError(BY_NAME[path], sentence)
    if path.startswith(_SET):
        return FieldError(BY_NAME[OTHER_PARAMETERS], f"{parameter}: {sentence}")
    field = BY_NAME.get(path.partition(".")[0])
    return FieldError(field, sentence if field or path == "document" else f"{path}: {sentence}")
