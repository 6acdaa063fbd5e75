"""The application: its parts put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from ..database import folder_of, open_store
from . import health
from .api import campaigns, catalogue, downloads
from .identity.gate import Gate
from .live import routes as live
from .live.reader import LiveReader
from .pages import routes
from .problems import add_problems
from .safety import Safety
from .settings import ServiceSettings

OPENAPI = "/api/v1/openapi.json"


def create_app(settings: ServiceSettings) -> FastAPI:
    """Make the application of a service; the database is open from its start to its end."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = await run_in_threadpool(open_store, settings.db, settings.user_dirs)
        with store:
            app.state.store = store
            app.state.live = LiveReader(store, folder_of("runs", store, settings.user_dirs))
            yield
            app.state.live.drain()
            await run_in_threadpool(app.state.live.join)

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
    app.add_middleware(Gate)
    app.add_middleware(Safety)
    for part in (health, campaigns, live, downloads, catalogue, routes):
        app.include_router(part.router)
    return app
