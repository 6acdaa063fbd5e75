"""Checks of the nodes of clusters."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import Field

from results.errors import ResultsError
from results.store.store import Store

from ...messages.campaigns import AskedQuery, Cursor
from ...messages.node_checks import NodeCheckModel, NodeCheckPage, WholeNodeCheckModel
from ...messages.plain_paths import without_paths
from ...nodes.figures import node_scores
from ...nodes.keeping import show_check
from ..authentication import needs
from ..parts import Parts, no_query
from ..problems import Problem
from ..responses import as_json
from .campaigns import Word
from .cursors import LARGEST, trial_cursor, trial_place

router = APIRouter(prefix="/api/v1/node-checks", tags=["nodes"], dependencies=[needs("read")])
CheckNumber = Annotated[int, InPath(ge=1, le=LARGEST, description="of the check")]


class NodeChecksQuery(AskedQuery):
    """Which checks."""

    cluster: Word | None = None
    campaign: Word | None = Field(None, description="the campaign that made it")
    limit: int = Field(50, ge=1, le=200)
    cursor: Cursor | None = None


@router.get("", response_model=NodeCheckPage)
async def node_checks(request: Request, parts: Parts, query: Annotated[NodeChecksQuery, Query()]) -> Response:
    """List checks of nodes, newest first; a campaign of kind nodes makes one."""
    before = trial_place(query.cursor) if query.cursor is not None else None

    def page() -> NodeCheckPage:
        asked = {"before": require_check(parts.store, before)} if before is not None else {}
        found = parts.store.node_checks.lines(query.cluster, query.limit + 1, campaign=query.campaign, **asked)
        shown = found[: query.limit]
        more = trial_cursor(shown[-1].number) if len(found) > len(shown) else None
        return NodeCheckPage(checks=[NodeCheckModel.of(line) for line in shown], next_cursor=more)

    return as_json(await parts.answers.of_all(request, page))


@router.get("/{number}", response_model=WholeNodeCheckModel, dependencies=[Depends(no_query)])
async def node_check(request: Request, parts: Parts, number: CheckNumber) -> Response:
    """Tell all that a check found."""
    return as_json(await parts.answers.of_all(request, lambda: whole_check(parts.store, number)))


def require_check(store: Store, number: int) -> int:
    """Return the number of a check that is there.

    Raises:
        Problem: it is not.
    """
    try:
        return store.node_checks.line(number).number
    except ResultsError as error:
        raise Problem(404, f"There is no check {number} of nodes: /api/v1/node-checks lists all.") from error


def whole_check(store: Store, number: int) -> WholeNodeCheckModel:
    """Tell all that a check found.

    Raises:
        Problem: there is none of this number.
    """
    shown = show_check(store, str(require_check(store, number)))
    verdict = shown.result.verdict
    check = verdict.check
    return WholeNodeCheckModel(
        **NodeCheckModel.of(shown.line).model_dump(),
        names=list(check.nodes),
        silent={node: without_paths(reason) for node, reason in check.silent.items()},
        out=list(verdict.out),
        slow=list(verdict.slow),
        scores=node_scores(verdict),
        waiting=[asdict(one) for one in verdict.waiting],
        findings=[asdict(finding) for finding in verdict.findings],
        results={name: dict(values) for name, values in verdict.results.items()},
        facts={name: dict(values) for name, values in check.facts.items()},
        notes=list(shown.result.notes),
    )
