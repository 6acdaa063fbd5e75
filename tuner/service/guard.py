"""Puts in front of an application what watches each request, asks who sends it, and whether it may go further."""

from fastapi import FastAPI

from .identity import signing_in
from .identity.arrival import Arrivals
from .identity.doorkeeper import Doorkeeper
from .identity.gate import Gate
from .identity.rate_limit import RateLimit
from .identity.sessions import SessionKeeper
from .observed import routes as operators
from .observed.metrics import RequestMetrics
from .observed.observer import Observer
from .safety import Safety
from .settings import ServiceSettings


def guard(app: FastAPI, settings: ServiceSettings) -> None:
    """Guard an application; what is added last sees a request first."""
    config, sessions = settings.config, SessionKeeper.of_folder(settings.user_dirs.data)
    app.state.sessions = sessions
    app.state.metrics = RequestMetrics()
    app.include_router(signing_in.router)
    app.include_router(operators.router)
    app.add_middleware(
        Gate, doorkeeper=Doorkeeper(config, sessions), limit=RateLimit(config.limits.requests_per_minute)
    )
    app.add_middleware(Safety, config=config, only_by_proxy=settings.only_by_proxy)
    app.add_middleware(Arrivals, proxy=config.proxy)
    app.add_middleware(Observer, metrics=app.state.metrics)
