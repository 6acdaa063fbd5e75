"""Where people sign in with a token in a browser, and out again."""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from results.store.service.tokens import TokenState

from ..authentication import needs, valid_token
from ..callers import Caller, cookie_name
from ..forms import FIELD, FormFields, asked_again, form_fields
from ..parts import Parts
from ..problems import Problem
from .rendering import FILLED_HEADERS, rendered
from .site import Visitor

router = APIRouter(include_in_schema=False)
KEPT, KEPT_MARK = "kept:", "keeps"
"""What stands before the fields of a form that is kept, and the field that says that one is."""


@router.get("/sign-in")
def sign_in_page(request: Request, parts: Parts, next: str = "/") -> HTMLResponse:  # noqa: A002 - the word in the address
    """Show the form that takes a token, and why there is no session any more."""
    session = parts.sessions.read(request.cookies.get(cookie_name(request), ""))
    entry = parts.store.tokens.of_hash(session.token_hash) if session else None
    if entry is not None and entry.state(datetime.now(UTC)) is not TokenState.VALID:
        return _page(200, next, f"The token of {entry.name} works no more: ask for a new one.")
    return _page(200, next, signed_in=entry is not None)


@router.post("/sign-in")
async def sign_in(request: Request, parts: Parts, fields: Annotated[FormFields, Depends(form_fields)]) -> Response:
    """Begin a session of a browser."""
    target, kept = fields.get("next", "/"), _kept(fields)
    try:
        entry = await run_in_threadpool(valid_token, parts.store, fields.get("token", "").strip())
    except Problem as problem:
        return _page(403, target, str(problem.detail), kept=kept)
    cookie, session = parts.sessions.begin(entry)
    if kept is None:
        response: Response = RedirectResponse(_inside(target), 303)
    else:
        token = parts.sessions.form_token(session.binding)
        visitor = Visitor.of(Caller(entry.name, entry.scope, ""), signed_in=True)
        response = asked_again(kept, _inside(target), token, "Your session had ended before it was sent.", visitor)
    secure = request.url.scheme == "https"
    name = cookie_name(request)
    response.set_cookie(name, cookie, expires=session.ends_at, secure=secure, httponly=True, samesite="strict")
    request.state.who = entry.name
    return response


@router.get("/signed-in", status_code=204, dependencies=[needs("read")])
def signed_in() -> None:
    """Tell a page that lost its stream that its session still lasts: nobody else is let in here."""


@router.post("/sign-out")
def sign_out(request: Request, parts: Parts) -> Response:
    """End the session of a browser, also for who has a copy of its cookie."""
    parts.sessions.end(request.cookies.get(cookie_name(request), ""))
    response = RedirectResponse("/sign-in", 303)
    secure = request.url.scheme == "https"
    response.delete_cookie(cookie_name(request), secure=secure, httponly=True, samesite="strict")
    return response


async def kept_form(request: Request) -> HTMLResponse:
    """Let somebody sign in whose session had ended when a form was sent; what is in the form is kept.

    Raises:
        Problem: this is no form.
    """
    fields = await form_fields(request)
    wrong = "Your session has ended. What you filled in is kept, and asked again when you have signed in."
    return _page(401, request.url.path, wrong, kept=fields)


def _kept(fields: FormFields) -> FormFields | None:
    """The form that was sent when the session had ended; None where none was."""
    if KEPT_MARK not in fields:
        return None
    return FormFields([(name.removeprefix(KEPT), text) for name, text in fields.multi_items() if name.startswith(KEPT)])


def _page(
    status: int, target: str, wrong: str = "", *, signed_in: bool = False, kept: FormFields | None = None
) -> HTMLResponse:
    values = {"target": _inside(target), "wrong": wrong, "signed_in": signed_in, "kept": _hidden(kept)}
    return HTMLResponse(rendered("sign_in.html.j2", **values), status, FILLED_HEADERS)


def _hidden(kept: FormFields | None) -> list[tuple[str, str]]:
    """The fields by which the sign-in form keeps another one."""
    if kept is None:
        return []
    return [(KEPT_MARK, "yes"), *((f"{KEPT}{name}", text) for name, text in kept.multi_items() if name != FIELD)]


def _inside(target: str) -> str:
    """The address after signing in, if it is one of ours; else the first page."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return "/"
    ours = not parts.scheme and not parts.netloc and target.startswith("/") and target.isprintable()
    return target if ours and "\\" not in target and not target.startswith("//") else "/"
