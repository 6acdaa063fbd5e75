"""The application: its parts put together, and what stands in front of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from ..database import folder_of, open_store
from .api import (
    campaigns,
    catalogue,
    downloads,
    handed_in,
    health,
    machine,
    node_checks,
    previews,
    printed,
    schedules,
    trials,
    webhooks,
)
from .campaigns.dispatcher import Dispatcher
from .campaigns.host_survey import HostSurvey
from .campaigns.offered import offered_by
from .campaigns.this_machine import machine_id
from .identity import signing_in
from .identity.arrival import Arrivals
from .identity.doorkeeper import Doorkeeper
from .identity.forms import StaleFormProblem, stale_form
from .identity.gate import Gate
from .identity.rate_limit import RateLimit
from .identity.sessions import SessionKeeper
from .kept.answers import Answers
from .kept.files import Files
from .kept.workshop import Workshop
from .live import routes as live
from .live.reader import LiveReader
from .observed import routes as operators
from .observed.metrics import RequestMetrics
from .observed.observer import Observer
from .pages import api_page, home, shipped
from .pages import nodes as node_pages
from .pages import queue as queue_pages
from .pages.campaign import routes as campaign_pages
from .pages.campaign.beliefs import Beliefs
from .pages.campaign.live_pages import LivePages
from .pages.start import routes as start
from .problems import add_problems
from .safety import Safety
from .schedules import ScheduleKeeper
from .settings import ServiceSettings
from .webhooks.announcer import announcer_of
from .webhooks.couriers import Couriers

OPENAPI = "/api/v1/openapi.json"


def create_app(settings: ServiceSettings) -> FastAPI:
    """Make the application of a service; the database is open from its start to its end."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = await run_in_threadpool(open_store, settings.db, settings.user_dirs)
        with store:
            machine = await run_in_threadpool(machine_id, settings.user_dirs.data)
            offered = offered_by(settings.config, machine)
            announcer = announcer_of(settings.config)
            dispatcher = Dispatcher(store, settings.user_dirs, settings.db, settings.config_file, offered, announcer)
            couriers = Couriers(store, announcer.webhooks)
            keeper = ScheduleKeeper(store, offered, dispatcher.wake)
            app.state.duties = duties = (dispatcher.duty, keeper.duty, *couriers.duties)
            file = [] if "://" in store.place else [Path(store.place).resolve().parent]
            app.state.folders = {settings.user_dirs.data, *file}
            app.state.announcer = announcer
            app.state.store, app.state.offered, app.state.dispatcher = store, offered, dispatcher
            app.state.answers = Answers(store)
            place = settings.db or str(settings.user_dirs.database)
            app.state.files = Files(app.state.answers, place)
            app.state.workshop = Workshop(store, app.state.answers, place)
            runs = folder_of("runs", store, settings.user_dirs)
            app.state.live = LiveReader(store, runs, settings.config.limits.watchers)
            app.state.pages = LivePages(store, runs, Beliefs(place), offered.starts)
            if settings.starts_campaigns:
                for duty in duties:
                    duty.start()
            yield
            await run_in_threadpool(app.state.files.close)
            await run_in_threadpool(app.state.workshop.close)
            app.state.pages.close()
            app.state.live.drain()
            await run_in_threadpool(app.state.live.join)
            for duty in duties:
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
    app.state.survey = HostSurvey(settings.user_dirs)
    add_problems(app)
    app.add_exception_handler(StaleFormProblem, stale_form)
    guard(app, settings)
    apis = (
        *(handed_in, previews, campaigns, trials, live, downloads),
        *(catalogue, machine, printed, webhooks, schedules, node_checks),
    )
    pages = (home, api_page, start, queue_pages, campaign_pages, node_pages, shipped)
    for part in (health, *apis, *pages):
        app.include_router(part.router)
    return app


def guard(app: FastAPI, settings: ServiceSettings) -> None:
    """Guard an application; what is added last sees a request first."""
    config, sessions = settings.config, SessionKeeper.of_folder(settings.user_dirs.data)
    app.state.sessions = sessions
    app.state.metrics = RequestMetrics()
    app.include_router(signing_in.router)
    app.include_router(operators.router)
    app.state.doorkeeper = Doorkeeper(config, sessions, settings.uid_of)
    app.add_middleware(Gate, doorkeeper=app.state.doorkeeper, limit=RateLimit(config.limits.requests_per_minute))
    app.add_middleware(Safety, config=config, only_by_proxy=settings.only_by_proxy)
    app.add_middleware(Arrivals, proxy=config.proxy, uid_of=settings.uid_of)
    app.add_middleware(Observer, metrics=app.state.metrics)
