"""The application: its parts put together, and what stands in front of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from results.store.store import Store

from ..database import folder_of, open_store
from .api import (
    campaigns,
    catalogue,
    downloads,
    handed_in,
    node_checks,
    operators,
    previews,
    printed,
    trials,
)
from .authentication import Authenticator
from .cache import Answers
from .campaigns.dispatcher import Dispatcher
from .campaigns.host_survey import HostSurvey
from .campaigns.logs import log_file
from .campaigns.offered import offered_by
from .campaigns.this_machine import machine_id
from .config import ServiceSettings
from .forms import StaleFormProblem, stale_form
from .live import routes as live
from .live.reader import LiveReader
from .metrics import ServiceMetrics
from .middleware import add_middleware
from .notifications import Notifier
from .pages import api_page, dat, home, operation, rendering, sign_in, waiting
from .pages import nodes as node_pages
from .pages.campaign import routes as campaign_pages
from .pages.campaign.explanations import Explanations
from .pages.campaign.live_pages import LivePages
from .pages.start import routes as start
from .parts import ServiceParts
from .problems import add_problems
from .sessions import SessionKeeper
from .study_files import StudyFiles

OPENAPI = "/api/v1/openapi.json"


def create_app(settings: ServiceSettings) -> FastAPI:
    """Make the application of a service; the database is open from its start to its end."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = await run_in_threadpool(open_store, settings.db, settings.user_dirs)
        with store:
            app.state.parts = parts = await parts_for(store, settings)
            if settings.starts_campaigns:
                for duty in parts.duties:
                    duty.start()
            yield
            await run_in_threadpool(parts.files.close)
            await run_in_threadpool(parts.pages.close)
            parts.live.drain()
            await run_in_threadpool(parts.live.join)
            await run_in_threadpool(parts.notifier.close)
            for duty in parts.duties:
                await run_in_threadpool(duty.close)

    app = FastAPI(
        title="hpltune",
        version=version("hpltune"),
        description="Tuning campaigns for High Performance Linpack: studies, their trials and what they found.",
        openapi_url=OPENAPI,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    add_problems(app)
    app.add_exception_handler(StaleFormProblem, stale_form)
    add_middleware(app, settings)
    apis = (
        *(handed_in, previews, campaigns, trials, live, downloads),
        *(catalogue, printed, node_checks),
    )
    pages = (home, api_page, dat, start, waiting, campaign_pages, node_pages, operation, rendering)
    routers = [part.router for part in (sign_in, operators, *apis, *pages)]
    for router in routers:
        app.include_router(router)
    app.state.actions_in_words = operation.actions_in_words(routers)
    return app


async def parts_for(store: Store, settings: ServiceSettings) -> ServiceParts:
    """Make the parts of a service that works on a database."""
    dirs, config = settings.user_dirs, settings.config
    place = settings.db or str(dirs.database)
    file = None if "://" in store.place else Path(store.place).resolve()
    offered = offered_by(config, await run_in_threadpool(machine_id, dirs.data))
    opened = file.stat() if file else None
    dispatcher = Dispatcher(store, dirs, settings.db, settings.config_file, offered, opened)
    notifier = Notifier(store, config.notify, config.listen.public_url, place)
    sessions = SessionKeeper.of_folder(dirs.data)
    answers = Answers(store)
    runs = folder_of("runs", store, dirs)
    reader = LiveReader(store, runs, config.limits.watchers)
    return ServiceParts(
        store=store,
        folders={dirs.data, *([file.parent] if file else [])},
        sessions=sessions,
        authenticator=Authenticator(store, config, sessions, settings.uid_of),
        metrics=ServiceMetrics(store, lambda: reader.watchers),
        survey=HostSurvey(dirs),
        notifier=notifier,
        dispatcher=dispatcher,
        duties=(dispatcher.duty, notifier.duty),
        answers=answers,
        files=StudyFiles(answers, place),
        live=reader,
        pages=LivePages(store, runs, Explanations(place), dispatcher.starts, partial(log_file, store, dirs)),
    )
