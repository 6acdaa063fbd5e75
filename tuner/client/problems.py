"""What goes wrong between a client and a service, as one sentence that says what to do."""

import ssl
from collections.abc import Iterator, Mapping, Sequence

import httpx2
from pydantic import BaseModel, ValidationError

from ..errors import TunerError, UsageError

AWAY = frozenset({502, 503, 504})
"""Answers of a service, or of a proxy before it, that may be another soon."""
LISTS_ALL, SHOW_LISTS = "/api/v1/campaigns lists all", "`show` lists all"


class ServiceError(TunerError):
    """A service did not do what it was asked for.

    Attributes:
        status: of HTTP; None where there was no answer.
    """

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


class NoAnswerError(ServiceError):
    """A service does not answer now; it may do so later."""


class RefusedDocumentError(UsageError):
    """A service refuses a document or a query.

    Attributes:
        errors: each thing that is wrong, as the place in the document and a sentence.
    """

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {sentence}" for path, sentence in errors))
        self.errors = tuple(errors)


class WrongPart(BaseModel):
    """One thing that is wrong in what a service was asked."""

    path: str
    sentence: str


class ProblemModel(BaseModel):
    """An answer that tells of an error (RFC 9457)."""

    status: int
    detail: str
    errors: list[WrongPart] = []


def checked(response: httpx2.Response, url: str) -> httpx2.Response:
    """Return an answer that is no error.

    Args:
        url: of the service.

    Raises:
        ServiceError, RefusedDocumentError: a sentence says what is wrong.
    """
    if response.is_success:
        return response
    response.read()
    if response.is_redirect:
        raise ServiceError(f"{url} sends to {response.headers.get('location')}: use that address", response.status_code)
    problem = _problem(response)
    if response.status_code in AWAY:
        raise NoAnswerError(_plain(problem) or f"{url} cannot be used now", response.status_code)
    if problem is None:
        raise not_a_service(url)
    if problem.errors:
        raise RefusedDocumentError([(one.path, one.sentence) for one in problem.errors])
    if response.status_code == 422:
        raise UsageError(_plain(problem))
    raise ServiceError("; ".join([_plain(problem), *_advice(response)]), response.status_code)


def not_a_service(url: str) -> ServiceError:
    """The error that something else answers at an address."""
    return ServiceError(f"what answers at {url} is no service of hpltune: check the address")


def of_transport(error: httpx2.TransportError, url: str) -> NoAnswerError:
    """The error that no answer came."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return NoAnswerError(
                f"the certificate of {url} is not trusted ({cause.verify_message}): use the name for which "
                "it was made, or let SSL_CERT_FILE name a file with the certificate of who signed it"
            )
        if isinstance(cause, ssl.SSLError):
            return NoAnswerError(f"{url} does not speak TLS as it should: is it an address with http://?")
    if isinstance(error, httpx2.ConnectError):
        return NoAnswerError(f"nobody answers at {url} ({_why(causes)}): does `hpltune serve` run there?")
    if isinstance(error, httpx2.TimeoutException):
        return NoAnswerError(f"{url} did not answer in time: is its machine very busy, or the network cut?")
    if isinstance(error, httpx2.RemoteProtocolError):
        return NoAnswerError(f"{url} ended the connection without an answer: is it an address with https://?")
    return NoAnswerError(f"the connection to {url} was lost")


def _problem(response: httpx2.Response) -> ProblemModel | None:
    try:
        return ProblemModel.model_validate_json(response.content)
    except ValidationError:
        return None


def _plain(problem: ProblemModel | None) -> str:
    """The sentence as the command line says it: without the addresses of the API, and without a full stop."""
    if problem is None:
        return ""
    return problem.detail.replace(LISTS_ALL, SHOW_LISTS).removesuffix(".")


def _advice(response: httpx2.Response) -> list[str]:
    """What to do where the caller is not known, or may not do this."""
    headers: Mapping[str, str] = response.headers
    if response.status_code == 401:
        return [
            "put the token into the variable HPLTUNE_TOKEN, or into the file `token` of hpltune's data folder, mode 600"
        ]
    if response.status_code == 403 and "insufficient_scope" in headers.get("www-authenticate", ""):
        return ["ask who runs the service for a token with that scope"]
    return []


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _why(causes: Sequence[BaseException]) -> str:
    """What the system said."""
    for cause in causes:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror[0].lower() + cause.strerror[1:]
    return str(causes[0]) or "no connection"
