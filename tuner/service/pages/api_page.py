"""The API as a page, made from its own description: it needs no script, and nothing from another site."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import HTMLResponse

from results.report.html import to_html
from results.report.model import Heading, Part, Report, Sentence, facts_table

from ..authentication import needs
from ..parts import no_query
from .frames import FRAME
from .site import kept_page

Described = Mapping[str, Any]
"""A part of an OpenAPI document."""

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[needs("read")])


def api_page(openapi: Described, address: str) -> str:
    """Show what the API takes and answers.

    Args:
        openapi: the document that describes it.
        address: where that document is.
    """
    said = f"{openapi['info']['description']} Programs read the same at {address}."
    parts: list[Part] = [Sentence(said)]
    for tag, described in _by_tag(openapi).items():
        parts.append(Heading(tag))
        parts += [part for one in described for part in _operation(*one, openapi)]
    return to_html(
        [Report(f"The API of hpltune {openapi['info']['version']}", tuple(parts))],
        interactive=False,
        frame=replace(FRAME, links=(("OpenAPI document", address),)),
    )


def _by_tag(openapi: Described) -> dict[str, list[tuple[str, str, Described]]]:
    found: dict[str, list[tuple[str, str, Described]]] = {}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            found.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    return found


def _operation(method: str, path: str, operation: Described, openapi: Described) -> Iterator[Part]:
    """Show one address: what it is for, what it takes, and what it answers."""
    rows = [_parameter(one, openapi) for one in operation.get("parameters", ())]
    if "requestBody" in operation:
        body = operation["requestBody"]
        needed = "" if body.get("required") else "; may be left out"
        kinds = (one.get("schema", {}) for one in body.get("content", {}).values())
        rows.append(("body", ", ".join(f"{_type(one, openapi)}{needed}" for one in kinds)))
    answers = [f"{kind}: {_type(one, openapi)}" for kind, one in _kinds(operation["responses"])]
    rows.append(("answer", "\n".join(answers) or "nothing"))
    first = " ".join(str(operation.get("description") or operation["summary"]).partition("\n\n")[0].split())
    yield facts_table(f"{method} {path}: {first}", rows)


def _parameter(parameter: Described, openapi: Described) -> tuple[str, str]:
    place = "" if parameter["in"] == "query" else f" ({parameter['in']})"
    told = str(parameter.get("description") or parameter["schema"].get("description") or "")
    kind = _type(parameter["schema"], openapi)
    return f"{parameter['name']}{place}", f"{kind}; {told}" if told else kind


def _kinds(responses: Described) -> Iterator[tuple[str, Described]]:
    for status, response in responses.items():
        if status.startswith("2"):
            for kind, one in response.get("content", {}).items():
                yield kind.partition(";")[0], one.get("schema", {})


def _type(schema: Described, openapi: Described) -> str:
    """What a value is, in a few words; of an object its fields."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _object(name, openapi["components"]["schemas"][name], openapi)
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(_type(one, openapi) for one in schema.get("anyOf") or schema["oneOf"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), openapi)}"
    limits = {"minimum": "from {}", "maximum": "to {}", "maxLength": "of at most {} characters", "default": "else {}"}
    told = [text.format(schema[key]) for key, text in limits.items() if schema.get(key) is not None]
    return " ".join([str(schema.get("format") or schema.get("type") or "any value"), *told])


def _object(name: str, schema: Described, openapi: Described) -> str:
    if "properties" not in schema:
        return name if "enum" not in schema else _type({"enum": schema["enum"]}, openapi)
    return f"{name} ({', '.join(schema['properties'])})"


@router.get("/docs", dependencies=[Depends(no_query)])
def api(request: Request) -> HTMLResponse:
    """Show the API."""
    return kept_page(request, _api_page(request.app))


@lru_cache(maxsize=1)
def _api_page(app: FastAPI) -> str:
    return api_page(app.openapi(), app.openapi_url or "")
