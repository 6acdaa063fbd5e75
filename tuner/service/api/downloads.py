"""A campaign as files: its report, HPL.dat and command of its best run, and its trials."""

from collections.abc import Iterator

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from results.store.store import Store

from ...commands.stored.best import best_command
from ...commands.stored.export import export_study
from ..authentication import needs
from ..pages.frames import PAGE_HEADERS
from ..parts import CampaignName, OpenStore, Parts, no_query
from ..problems import Problem
from ..responses import (
    CsvResponse,
    JsonLinesResponse,
    ParquetResponse,
    PlainResponse,
    ScriptResponse,
    as_text,
    saved,
)
from ..study_files import FileKind

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", tags=["downloads"], dependencies=[needs("read"), Depends(no_query)]
)
KEPT_TRIALS = 2_000
"""Trials of a campaign whose CSV is written once for all who ask; more are written for each, a part at a time."""
PART = 64_000
"""Characters that are sent at a time."""


@router.get("/report.html", response_class=HTMLResponse)
async def report(parts: Parts, name: CampaignName) -> HTMLResponse:
    """Write the report of a campaign as one page that needs no network."""
    page = await parts.files.of(name, FileKind.REPORT)
    return HTMLResponse(page, headers={**PAGE_HEADERS, **saved(f"{name}.html", shown=True)})


@router.get("/HPL.dat", response_class=PlainResponse)
async def hpl_dat(request: Request, parts: Parts, name: CampaignName) -> PlainResponse:
    """Write the HPL.dat of the best run of a campaign."""
    text = await parts.answers.of_study(request, name, lambda: "".join(_parts(parts.store, name, "dat")))
    return PlainResponse(text, headers=saved("HPL.dat"))


@router.get("/command.sh", response_class=ScriptResponse)
async def command_sh(request: Request, parts: Parts, name: CampaignName) -> ScriptResponse:
    """Write the command that repeats the best run of a campaign, on its machine and beside its HPL.dat."""

    def script() -> str:
        text = best_command(parts.store, name)
        if text is None:
            raise Problem(
                409,
                f"The best run of campaign {name} was launched by no command: it was simulated, replayed or imported.",
            )
        return text

    return ScriptResponse(await parts.answers.of_study(request, name, script), headers=saved("command.sh"))


@router.get("/trials.csv", response_class=CsvResponse)
async def trials_csv(request: Request, parts: Parts, name: CampaignName) -> Response:
    """Write all trials of a campaign as CSV, a line for each."""
    read, headers = parts.answers.read, saved(f"{name}.csv")
    if (await read(lambda: parts.store.lists.extent(name))).last > KEPT_TRIALS:
        return CsvResponse(_joined(await read(lambda: _parts(parts.store, name, "csv"))), headers=headers)
    text = await parts.answers.of_study(request, name, lambda: as_text("".join(_parts(parts.store, name, "csv"))))
    return Response(text, media_type=CsvResponse.media_type, headers=headers)


@router.get("/trials.jsonl", response_class=JsonLinesResponse)
def trials_jsonl(store: OpenStore, name: CampaignName) -> JsonLinesResponse:
    """Write all trials of a campaign with their outputs as JSON lines."""
    return JsonLinesResponse(_joined(_parts(store, name, "jsonl")), headers=saved(f"{name}.jsonl"))


@router.get("/trials.parquet", response_class=ParquetResponse)
async def trials_parquet(parts: Parts, name: CampaignName) -> ParquetResponse:
    """Write all trials of a campaign as a table with types and units, in Parquet."""
    return ParquetResponse(await parts.files.of(name, FileKind.PARQUET), headers=saved(f"{name}.parquet"))


def _parts(store: Store, name: str, kind: str) -> Iterator[str]:
    return export_study(store, kind, name)


def _joined(parts: Iterator[str]) -> Iterator[bytes]:
    """Put small parts together, because each that is sent costs a change of threads."""
    waiting: list[str] = []
    length = 0
    for part in parts:
        waiting.append(part)
        length += len(part)
        if length >= PART:
            yield as_text("".join(waiting))
            waiting, length = [], 0
    yield as_text("".join(waiting))
