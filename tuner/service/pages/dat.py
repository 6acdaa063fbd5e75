"""The page that writes an HPL.dat for any machine, which a few figures describe, and the file itself."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from hpl.errors import HplError
from runners.virtual.load import load_cluster
from runners.virtual.load import shipped as shipped_clusters

from ...asks.dat import FORM, DatAsk
from ...asks.registry import key_of
from ...commands.cpu_names import sold_cpus
from ...commands.dat import DatResult
from ...commands.described_dat import described_dat
from ...errors import UsageError
from ...messages.documents import query_of
from ...words import counted, named
from ..authentication import needs
from ..parts import Parts
from ..problems import Problem, wrong_document
from .rendering import FILLED_HEADERS, rendered
from .site import page
from .start.choices import FormChoice
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


FIRST = ("cpu", "nodes", "cores", "memory", "network")
"""Fields that everybody sees."""


@router.get("/dat")
def dat_page(request: Request, parts: Parts) -> HTMLResponse:
    """Show the form, and the file once it is filled in."""
    given, written = _given(request), _written(request)
    fields = {field.key: form_field(field) for field in FORM}
    here = parts.survey.view().host
    memory_gib = here.memory_total_bytes // 2**30
    machines = {
        f"This machine: {counted(here.physical_cores, 'core')}, {memory_gib} GiB": {
            "cores": str(here.physical_cores),
            "memory": f"{memory_gib}GiB",
        },
        **known_machines(),
    }
    texts = {one.key: [given.get(one.key, "" if one.default is None else str(one.default))] for one in FORM}
    return page(
        request,
        "dat/page.html.j2",
        422 if written["errors"] else 200,
        first=[fields.pop(key) for key in FIRST],
        more=list(fields.values()),
        texts=texts,
        choices={"cpu": [FormChoice(name, "") for name in cpu_examples()]},
        machines={name: urlencode(figures) for name, figures in machines.items()},
        by_field=by_field(written["errors"]),
        **written,
    )


@router.get("/dat/preview")
def dat_part(request: Request) -> HTMLResponse:
    """Send the part that shows the file, while somebody fills in the form."""
    return HTMLResponse(rendered("dat/written.html.j2", **_written(request)), headers=FILLED_HEADERS)


def _written(request: Request) -> Mapping[str, Any]:
    """What comes of what is filled in, for a template: the file, or what is wrong."""
    given, errors = _given(request), []
    result: DatResult | None = None
    try:
        result = _result(given) if given else None
    except WrongFormError as error:
        errors = list(error.errors)
    reasons = [named(reason, _label_of) for reason in result.reasons] if result else []
    return {"result": result, "errors": errors, "reasons": reasons, "query": urlencode(given)}


@cache
def cpu_examples() -> tuple[str, ...]:
    """CPUs as they are sold, with an x for a sign that may be any other."""
    patterns = (re.sub(r"\[(.)[^]]*\]", r"\1", one.name) for one in sold_cpus())
    return tuple(dict.fromkeys(name.replace("?", "x").replace(" *", " x").replace("*", "") for name in patterns))


@cache
def known_machines() -> Mapping[str, Mapping[str, str]]:
    """The fields of the clusters that come with hpltune, by their descriptions; those of unlike nodes are left out."""
    found = dict[str, Mapping[str, str]]()
    for cluster in map(load_cluster, shipped_clusters()):
        nodes, networks = cluster.nodes, list(cluster.networks.values())
        found[f"{cluster.name}: {cluster.description}"] = {
            "nodes": str(sum(one.count for one in nodes)),
            "cores": str(nodes[0].cores),
            "memory": f"{nodes[0].memory_gib:g}GiB",
            "network": f"{max(one.gbit_s for one in networks):g}g",
            "ghz": f"{nodes[0].clock_ghz:g}",
            "flops_per_cycle": str(nodes[0].flops_per_cycle),
        }
    return found


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
