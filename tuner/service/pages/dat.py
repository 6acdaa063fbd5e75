"""The page that writes an HPL.dat for any machine, which a few figures describe, and the file itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from hpl.errors import HplError

from ...asks.dat import FORM, DatAsk
from ...asks.registry import key_of
from ...commands.dat import DatResult
from ...commands.described_dat import described_dat
from ...errors import UsageError
from ...messages.documents import query_of
from ...words import named
from ..authentication import needs
from ..problems import Problem, wrong_document
from .site import page
from .start.fields import FormField, form_field
from .start.filled_in import FieldError, WrongFormError, by_field

router = APIRouter(include_in_schema=False, dependencies=[needs("read")])
ATTACHED = {"Content-Disposition": 'attachment; filename="HPL.dat"'}


class _DatForm(BaseModel):
    """A query of this form: what else is in the address is a mistake."""

    model_config = ConfigDict(extra="forbid")


if TYPE_CHECKING:
    DatQuery = _DatForm
else:
    DatQuery = query_of(DatAsk, _DatForm)


@router.get("/dat")
def dat_page(request: Request) -> HTMLResponse:
    """Show the form, and the file once it is filled in."""
    given = _given(request)
    result: DatResult | None = None
    errors: Sequence[FieldError] = ()
    try:
        result = _result(given) if given else None
    except WrongFormError as error:
        errors = error.errors
    return page(
        request,
        "dat/page.html.j2",
        422 if errors else 200,
        fields=[form_field(field) for field in FORM],
        texts={
            field.key: [given.get(field.key, "" if field.default is None else str(field.default))] for field in FORM
        },
        choices={},
        by_field=by_field(errors),
        errors=errors,
        result=result,
        reasons=[named(reason, _label_of) for reason in result.reasons] if result else [],
        query=urlencode(given),
    )


@router.get("/dat/HPL.dat")
def dat_file(request: Request) -> Response:
    """Send the file.

    Raises:
        Problem: something in the address is wrong.
    """
    try:
        return PlainTextResponse(_result(_given(request)).text, headers=ATTACHED)
    except WrongFormError as error:
        said = (f"{one.field.label}: {one.sentence}" if one.field else one.sentence for one in error.errors)
        raise Problem(422, "; ".join(said)) from error


def _label_of(field: str) -> str:
    """What the form calls a field."""
    found = _field(field)
    return f"“{found.label}”" if found else field


def _given(request: Request) -> dict[str, str]:
    """What is filled in."""
    return {key: text.strip() for key, text in request.query_params.items() if text.strip()}


def _result(given: dict[str, str]) -> DatResult:
    """What comes of it.

    Raises:
        WrongFormError: something is wrong.
    """
    try:
        values = DatQuery.model_validate(given).model_dump()
        return described_dat(DatAsk(**{**values, "blas": tuple(values["blas"])}))
    except ValidationError as error:
        raise WrongFormError([_error(one["path"], one["sentence"]) for one in wrong_document(error).errors]) from error
    except UsageError as error:
        key = key_of(error.field or "")
        told = named(str(error), _label_of).removeprefix(f"{_label_of(key)} {given.get(key, '')}: ")
        raise WrongFormError([FieldError(_field(key), told)]) from error
    except HplError as error:
        raise WrongFormError([FieldError(None, str(error))]) from error


def _error(key: str, sentence: str) -> FieldError:
    field = _field(key)
    return FieldError(field, sentence if field else f"{key}: {sentence}")


def _field(key: str) -> FormField | None:
    return next((form_field(one) for one in FORM if one.key == key), None)
