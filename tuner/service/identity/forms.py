"""Forms of pages: the token that each holds, and the check of what comes back."""

import hmac
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from markupsafe import Markup
from starlette.datastructures import ImmutableMultiDict

from ..problems import Problem
from .sessions import SessionKeeper

FIELD = "form_token"
MOST_FIELDS = 500
FormFields = ImmutableMultiDict[str, str]


def csrf_field(request: Request) -> Markup:
    """Return the hidden field that every form needs which changes something; `Form` checks it."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, _token(request))


async def form_fields(request: Request) -> FormFields:
    """Read the fields of a form.

    Raises:
        Problem: this is no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "This address takes a form: its type is application/x-www-form-urlencoded.")
    try:
        text = (await request.body()).decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Problem(422, f"The form cannot be read: it may have {MOST_FIELDS} fields in UTF-8.") from None
    return ImmutableMultiDict(pairs)


async def _checked(request: Request, fields: Annotated[FormFields, Depends(form_fields)]) -> FormFields:
    given = fields.get(FIELD, "").encode()
    if not hmac.compare_digest(given, _token(request).encode()):
        raise Problem(403, "This form is not yours or too old: open its page again, and send it once more.")
    return fields


def _token(request: Request) -> str:
    sessions = request.app.state.sessions
    assert isinstance(sessions, SessionKeeper)  # noqa: S101 - made with the application
    return sessions.form_token(request.state.binding)


Form = Annotated[FormFields, Depends(_checked)]
"""The fields of a form that our page has sent for the same person."""
