"""Every error as problem+json (RFC 9457): the right status and one sentence, with no traceback and no path."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import Receive, Scope, Send

from results.errors import (
    CampaignStateError,
    KeyReusedError,
    NoHplDatError,
    NoValidRunError,
    ResultsError,
    StudyExistsError,
    UnknownStudyError,
    UnknownTrialError,
)
from runners.toml_file import IN_OUR_WORDS, in_our_words

from ..errors import UsageError
from ..messages.plain_paths import without_paths
from ..words import counted
from .campaigns.kinds.registry import KINDS
from .campaigns.wrong import WrongDocumentError
from .pages.site import page
from .responses import SECURITY_HEADERS, PlainPathsResponse

MEDIA_TYPE = "application/problem+json"
SENTENCES = {
    404: "There is nothing at this address: /api/v1/openapi.json lists what there is.",
    405: "This address does not take this method: the Allow header lists those that it takes.",
}
"""For errors that the framework raises with no sentence of its own."""


OTHER_FILE = "The file of the database was removed or replaced: start the service again."
NO_DATABASE = "The database cannot be used now: `hpltune show` on the service's machine says why."


class Problem(HTTPException):
    """An error of a request: its status of HTTP, and a sentence that says what is wrong and what to do."""


OF_SET = "expected a value or a list of values, 1 to 1,000, each a number or a word of 200 characters at most"


MOST_SHOWN, LONGEST_PATH = 40, 200
"""Characters of what somebody wrote that are repeated, and of a place."""
MOST_TOLD = 20
"""Mistakes that are told; one sentence counts the others."""


class DocumentProblem(Problem):
    """A document is wrong.

    Args:
        errors: what is wrong, each with its `path` and a `sentence`.
    """

    def __init__(self, errors: Sequence[Mapping[str, str]]) -> None:
        super().__init__(422, _summary(errors))
        self.errors = errors


def wrong_document(error: ValidationError) -> DocumentProblem:
    """Make the problem of a document that pydantic refuses."""
    return DocumentProblem(all_wrong(error.errors()))


class ProblemAnswer(PlainPathsResponse):
    """The answer that tells of an error: a page for people, a document for programs.

    Args:
        errors: what is wrong in a document or a query, each with its `path` and a `sentence`.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        status: int,
        sentence: str,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, str]] = (),
    ) -> None:
        more = {"errors": list(errors)} if errors else {}
        body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": sentence, **more}
        super().__init__(body, status, headers)
        self._sentence, self._given = sentence, dict(headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not wants_page(scope):
            await super().__call__(scope, receive, send)
            return
        said = {"title": HTTPStatus(self.status_code).phrase, "sentence": without_paths(self._sentence)}
        forbidden = self.status_code == HTTPStatus.FORBIDDEN
        made = page(HTTPConnection(scope), "problem.html.j2", self.status_code, **said, forbidden=forbidden)
        made.headers.update({name: text for name, text in self._given.items() if name not in made.headers})
        await made(scope, receive, send)


def wants_page(scope: Scope) -> bool:
    """Whether a person in a browser asks for a page, and no program, and no script of a page for a part of it."""
    headers = Headers(scope=scope)
    api = scope["path"].startswith("/api/")
    return "text/html" in headers.get("accept", "") and "hx-request" not in headers and not api


def add_problems(app: FastAPI) -> None:
    """Let an application answer every error as a problem."""
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_request)
    for error in (UnknownStudyError, UnknownTrialError):
        app.add_exception_handler(error, _unknown)
    app.add_exception_handler(WrongDocumentError, _of_document)
    for conflict in (StudyExistsError, CampaignStateError, KeyReusedError):
        app.add_exception_handler(conflict, _conflict)
    app.add_exception_handler(NoValidRunError, _no_valid_run)
    app.add_exception_handler(NoHplDatError, _no_hpl_dat)
    app.add_exception_handler(UsageError, _wrong_usage)
    app.add_exception_handler(ResultsError, _no_database)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _failed)


async def _gone(_request: Request, _error: Exception) -> JSONResponse:
    return ProblemAnswer(400, "The request ended before its body did.")


async def _of_http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - that is what it is registered for
    ours = error.detail if isinstance(error, Problem) else SENTENCES.get(error.status_code, error.detail)
    return ProblemAnswer(
        error.status_code, ours, error.headers, error.errors if isinstance(error, DocumentProblem) else ()
    )


async def _of_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - that is what it is registered for
    return await _of_http(request, DocumentProblem(all_wrong(error.errors())))


async def _of_document(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, WrongDocumentError)  # noqa: S101 - that is what it is registered for
    return await _of_http(request, DocumentProblem([{"path": error.path, "sentence": error.sentence}]))


async def _conflict(_request: Request, error: Exception) -> JSONResponse:
    said = str(error)
    return ProblemAnswer(409, f"{said[0].upper()}{said[1:]}.")


def _summary(errors: Sequence[Mapping[str, str]]) -> str:
    """The first thing that is wrong, and how many more are."""
    rest = f" ({len(errors) - 1} more in `errors`)" if len(errors) > 1 else ""
    return f"{errors[0]['path']}: {errors[0]['sentence']}{rest}"


def all_wrong(errors: Sequence[Any]) -> list[dict[str, str]]:
    """What is wrong, each place once: a value of several types is refused by each of them."""
    found: dict[str, dict[str, str]] = {}
    for wrong in map(_wrong, errors):
        found.setdefault(wrong["path"], wrong)
    more = [f"and {counted(len(found) - MOST_TOLD, 'more mistake')}"] if len(found) > MOST_TOLD else []
    return [*islice(found.values(), MOST_TOLD), *({"path": "document", "sentence": sentence} for sentence in more)]


def _wrong(error: Any) -> dict[str, str]:
    """One thing that is wrong, with its place: query.limit, path.number, set.NB."""
    place, kind = [str(part)[:LONGEST_PATH] for part in error["loc"]], error["type"]
    if place[:1] == ["body"]:
        place = [] if kind == "json_invalid" else place[1:]
    if kind.startswith("union_tag"):
        kinds = error["ctx"].get("expected_tags", ", ".join(map(repr, KINDS)))
        return {"path": "kind", "sentence": f"say which kind of campaign: {kinds}"}
    if len(place) > 1 and place[0] in KINDS:
        place = place[1:]
    if place[:1] == ["set"] and len(place) > 2:
        return {"path": ".".join(place[:2]), "sentence": OF_SET}
    said = "this is not JSON" if kind == "json_invalid" else _with_value(error)
    return {"path": ".".join(place) or "document", "sentence": said}


def _with_value(error: Any) -> str:
    kind, given, said = error["type"], error.get("input"), in_our_words(error)
    shown = isinstance(given, str | int | float) and len(str(given)) <= MOST_SHOWN
    shown = shown and kind in IN_OUR_WORDS and kind != "extra_forbidden"
    return f"{said}, not {given!r}" if shown else said


async def _unknown(request: Request, error: Exception) -> JSONResponse:
    name = request.path_params.get("name", "")
    if isinstance(error, UnknownTrialError):
        return ProblemAnswer(404, f"Campaign {name} has no trial {request.path_params.get('number')}.")
    return ProblemAnswer(404, f"There is no campaign {name} that has begun: /api/v1/campaigns lists all.")


async def _no_valid_run(request: Request, _error: Exception) -> JSONResponse:
    return ProblemAnswer(
        409, f"Campaign {request.path_params.get('name')} has no run that counts yet, so it has no best one."
    )


async def _no_hpl_dat(request: Request, _error: Exception) -> JSONResponse:
    name, number = request.path_params.get("name"), request.path_params.get("number")
    run = f"{'The best run' if number is None else f'Trial {number}'} of campaign {name}"
    return ProblemAnswer(409, f"{run} has no HPL.dat: not all of its parameters are known.")


async def _wrong_usage(_request: Request, error: Exception) -> JSONResponse:
    return ProblemAnswer(422, f"{error}.")


async def _no_database(request: Request, _error: Exception) -> JSONResponse:
    request.state.database_error = True
    return ProblemAnswer(503, NO_DATABASE, {"Retry-After": "10"})


async def _failed(_request: Request, _error: Exception) -> JSONResponse:
    # it is outside of what gives the headers to all else
    return ProblemAnswer(500, "The service failed at this request; its standard error says where.", SECURITY_HEADERS)
