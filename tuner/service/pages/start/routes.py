"""Addresses of the form that starts a campaign, and what it tells of the machine and of a preview."""

import secrets
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from results.errors import StudyExistsError
from results.metrics import four_digits
from results.store.store import Store

from ....messages.documents import Name, document_of
from ....messages.plain_paths import without_paths
from ....units import dollars, duration, gibibytes
from ....words import counted, listed
from ...api.queue_access import OpenQueue, QueueAccess
from ...authentication import needs
from ...campaigns.host_survey import HostView
from ...campaigns.preview import Preview
from ...campaigns.wrong import WrongDocumentError
from ...forms import Form, csrf_field
from ...problems import Problem
from ...request_log import PREVIEW
from ..frames import address_of
from ..queue import first_of
from ..rendering import FILLED_HEADERS, Fact, rendered
from ..site import page
from .choices import choices, fresh_texts
from .fields import GROUPS
from .filled_in import (
    KEY,
    FieldError,
    Texts,
    WrongFormError,
    by_field,
    document_filled_in,
    field_error,
    texts_of_document,
    texts_of_form,
)

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
WRONG = (WrongFormError, WrongDocumentError, StudyExistsError)
"""What may be wrong in a form; the last says that its name is taken."""

MOST_NAMED = 5
"""Campaigns ahead that are named."""


def form_page(
    request: Request,
    queue: QueueAccess,
    texts: Texts,
    key: str,
    errors: Sequence[FieldError] = (),
    seen: Preview | None = None,
) -> HTMLResponse:
    """The whole page.

    Args:
        key: of this form; no other form has the same.
        seen: what would come of it; None where nobody asked.
    """
    host = queue.parts.survey.view()
    return page(
        request,
        "start/page.html.j2",
        422 if errors else 200,
        groups=GROUPS,
        texts=texts,
        choices=choices(queue.parts.offered, host),
        errors=errors,
        by_field=by_field(errors),
        facts=machine_facts(host),
        key=key,
        csrf=csrf_field(request),
        **_previewed(seen),
    )


@router.get("/new")
def new(
    request: Request,
    queue: OpenQueue,
    like: Annotated[Name | None, Query(alias="from")] = None,
) -> HTMLResponse:
    """Show the form, filled in as another campaign was where one is named."""
    texts = fresh_texts() if like is None else _texts_of(queue.parts.store, like)
    return form_page(request, queue, texts, secrets.token_urlsafe(16))


@router.post("/new")
def start(request: Request, queue: OpenQueue, sent: Form) -> Response:
    """Start a campaign."""
    texts, key = texts_of_form(sent), sent.get(KEY) or secrets.token_urlsafe(16)
    try:
        document = document_filled_in(texts)
        once = sha256(f"{key} {document.model_dump_json()}".encode()).hexdigest()  # who goes back may hand in another
        name = request.state.target = queue.hand_in(document, once).name
        return RedirectResponse(address_of(name), 303)
    except WRONG as error:
        return form_page(request, queue, texts, key, _errors(error, texts))


@router.get(PREVIEW, dependencies=[needs("run")])
def empty_form() -> RedirectResponse:
    """Lead who comes to the address of a preview anew to the form."""
    return RedirectResponse("/new", 303)


@router.post(PREVIEW)
def preview_form(request: Request, queue: OpenQueue, sent: Form) -> HTMLResponse:
    """Tell what would come of a campaign: a page, or for a script of a page the part that tells it."""
    texts, key = texts_of_form(sent), sent.get(KEY) or secrets.token_urlsafe(16)
    seen, errors = None, tuple[FieldError, ...]()
    try:
        seen = queue.preview(document_filled_in(texts))
    except WRONG as error:
        errors = _errors(error, texts)
    return (
        HTMLResponse(rendered("start/preview.html.j2", errors=errors, **_previewed(seen)), headers=FILLED_HEADERS)
        if "hx-request" in request.headers
        else form_page(request, queue, texts, key, errors, seen)
    )


def _errors(error: Exception, texts: Texts) -> tuple[FieldError, ...]:
    """What is wrong in a form, each at its field."""
    match error:
        case WrongFormError():
            return tuple(error.errors)
        case WrongDocumentError():
            return (field_error(error.path, without_paths(error.sentence), texts),)
    return (field_error("name", str(error), texts),)


def _previewed(seen: Preview | None) -> dict[str, Any]:
    if seen is None:
        return {"seen": None, "cautions": ()}
    return {"seen": preview_facts(seen), "cautions": [without_paths(caution) for caution in seen.cautions]}


def _texts_of(store: Store, name: str) -> Texts:
    """What stands in the form for another campaign like one.

    Raises:
        Problem: there is none that this form can make.
    """
    entry = store.queue.find(name)
    if entry is None or entry.order.kind != "tune":
        raise Problem(404, f"There is no tuning {name} that was handed in: `/new` shows an empty form.")
    try:
        document = document_of("tune").model_validate({**entry.order.document, "name": None})
    except ValidationError as error:
        raise Problem(
            409, f"Campaign {name} was handed in to another version of hpltune: fill in a new form."
        ) from error
    return {**texts_of_document(document), "priority": [str(entry.order.priority)]}


def machine_facts(seen: HostView) -> list[Fact]:
    """What is known of this machine without timing anything."""
    host, inventory = seen.host, seen.inventory
    facts = [
        ("CPU", f"{host.cpu_model}, {counted(host.physical_cores, 'core')}"),
        ("Memory", f"{gibibytes(host.memory_available_bytes)} free of {gibibytes(host.memory_total_bytes)}"),
        ("Rpeak", f"{four_digits(seen.rpeak.gflops)} GFLOPS"),
    ]
    if inventory is None:
        return [*facts, ("Missing", without_paths(seen.missing))]
    names = [entry.name for entry in inventory.blas]
    mpis = [f"{mpi.name} {mpi.version}" for mpi in inventory.mpis]
    return [*facts, ("BLAS", ", ".join(names)), ("MPI", ", ".join(dict.fromkeys(mpis)))]


def preview_facts(seen: Preview) -> list[Fact]:
    """What would come of a campaign."""
    expected = seen.expected
    facts = [("Works on", listed(list(seen.nodes)) + (", by simulating" if expected.simulated else ""))]
    if seen.points is not None:
        facts.append(("Space", f"{counted(seen.points, 'valid combination')}"))
    facts.append(("Ends after", expected.limits + (" of the virtual cluster" if expected.simulated else "")))
    if expected.usd is not None:
        facts.append(("Costs", f"about {dollars(expected.usd)} of the machine's time"))
    wait = "" if seen.wait_s is None else f", for about {duration(seen.wait_s)}"
    before = f"{listed(first_of(seen.ahead, MOST_NAMED))}{wait}" if seen.ahead else "nothing: it starts now"
    return [*facts, ("Before it", before)]
