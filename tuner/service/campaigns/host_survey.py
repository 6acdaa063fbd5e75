"""This machine as the service knows it: looked at without timing anything, which would disturb running trials."""

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from cachetools import TTLCache

from hpl.errors import HplError
from hpl.rpeak import Rpeak, detect
from runners.hosts.host_facts import HostFacts, host_facts

from ...errors import TunerError
from ...machine.equipment import PROGRAM
from ...machine.inventory import Inventory
from ...options import TuneOptions
from ...trial.workbench import look_around
from ...user_dirs import UserDirs

KEPT_S = 300.0
"""Seconds after which the machine is looked at again."""
MOST_KEPT = 64


@dataclass(frozen=True)
class HostView:
    """What was found.

    Attributes:
        inventory: MPI, libraries and the kernels that were timed before; None where something is missing.
        missing: the sentence what is missing; "" for nothing.
    """

    host: HostFacts
    rpeak: Rpeak
    inventory: Inventory | None
    missing: str = ""


class HostSurvey:
    """Looks at this machine and remembers what it saw for a while."""

    def __init__(self, user_dirs: UserDirs) -> None:
        self._user_dirs = user_dirs
        self._seen: TTLCache[Hashable, HostView] = TTLCache(MOST_KEPT, KEPT_S)
        self._lock = threading.Lock()

    def view(self, options: TuneOptions | None = None) -> HostView:
        """The machine as the options of a tuning want it seen."""
        options = options or TuneOptions()
        key = _key(options)
        with self._lock:  # who asks at the same time waits for the same look
            view = self._seen.get(key) or _look(options, self._user_dirs)
            return self._seen.setdefault(key, view)


def _key(options: TuneOptions) -> Hashable:
    files: Any = sorted((options.blas_files or {}).items())
    asked = tuple(tuple((options.overrides or {}).get(name, ())) for name in ("blas", PROGRAM))
    return options.blas_only, tuple(files), asked, options.xhpl, options.rpeak_gflops


def _look(options: TuneOptions, user_dirs: UserDirs) -> HostView:
    try:
        found = look_around(options, user_dirs, lambda _: None, probing=False)
    except (HplError, TunerError) as error:
        rpeak = detect()
        return HostView(host_facts(rpeak.cores), rpeak, None, str(error))
    return HostView(found.host, found.rpeak, found)
