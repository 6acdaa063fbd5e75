"""Forms of pages: the token that each holds, the check of what comes back, and a form that is asked again."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict

from .pages.rendering import FILLED_HEADERS, rendered
from .pages.site import Visitor, visitor_of
from .parts import Parts, parts_of
from .problems import Problem, ProblemAnswer, wants_page

FIELD = "form_token"
MOST_FIELDS = 500
FormFields = ImmutableMultiDict[str, str]


class StaleFormProblem(Problem):
    """A form that our page has not sent for this session: of an earlier one, or of somebody else.

    Args:
        fields: what is in it.
        token: with which it may be sent again.
    """

    def __init__(self, fields: FormFields, token: str) -> None:
        super().__init__(403, "This form is not yours or too old: open its page again, and send it once more.")
        self.fields = fields
        self.token = token


def csrf_field(request: Request) -> Markup:
    """Return the hidden field that every form needs which changes something; `Form` checks it."""
    return _field(parts_of(request).sessions.form_token(request.state.binding))


def _field(token: str) -> Markup:
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, token)


def asked_again(
    fields: FormFields, target: str, token: str, why: str, visitor: Visitor | None, status: int = 200
) -> HTMLResponse:
    """Make the page that shows what is in a form that was not taken, and lets a person send it once more.

    Args:
        target: where it was sent.
        why: it was not taken.
    """
    kept = [(name, text) for name, text in fields.multi_items() if name != FIELD]
    values = {"fields": kept, "target": target, "csrf": _field(token), "why": why, "do": fields.get("do", "")}
    return HTMLResponse(rendered("asked_again.html.j2", visitor=visitor, **values), status, headers=FILLED_HEADERS)


async def form_fields(request: Request) -> FormFields:
    """Read the fields of a form.

    Raises:
        Problem: this is no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "This address takes a form: its type is application/x-www-form-urlencoded.")
    body = await request.body()
    try:
        pairs = await run_in_threadpool(
            parse_qsl, body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Problem(422, f"The form cannot be read: it may have {MOST_FIELDS} fields in UTF-8.") from None
    return ImmutableMultiDict(pairs)


async def stale_form(request: Request, error: Exception) -> Response:
    """Answer a form of an earlier session: a person sees what is in it, and may send it once more."""
    assert isinstance(error, StaleFormProblem)  # noqa: S101 - that is what it is registered for
    if not wants_page(request.scope):
        return ProblemAnswer(error.status_code, str(error.detail))
    why = "It is of an earlier session, or not yours."
    return asked_again(error.fields, request.url.path, error.token, why, visitor_of(request), error.status_code)


async def _checked(request: Request, parts: Parts, fields: Annotated[FormFields, Depends(form_fields)]) -> FormFields:
    binding = request.state.binding
    if not parts.sessions.is_form_token(fields.get(FIELD, ""), binding):
        raise StaleFormProblem(fields, parts.sessions.form_token(binding))
    return fields


Form = Annotated[FormFields, Depends(_checked)]
"""The fields of a form that our page has sent for the same person."""
