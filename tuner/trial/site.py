"""The contract of a site: what runs plans, be it this machine, some hosts, an allocation, a simulator or a table."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from hpl.params import Scalar

from ..engines.outcomes import Rung
from ..machine.inventory import Inventory
from ..stopping import Stopping
from .launch import LaunchResult, LaunchWatch
from .observers.contract import LaunchObserver, WatchedLaunch
from .plan import P
from .plausible import MachineLimits


class Site(Protocol[P]):
    """Runs plans, one after the other, or several at a time if it stands several times in a list of sites."""

    @property
    def machine(self) -> Inventory | None:
        """What is there, of which nodes may be lost; None where there is nothing to look at."""
        ...

    @property
    def simulator(self) -> str:
        """Name and version of what stands for a machine, "" where a machine runs.

        What it tells is of virtual time: runs end in the order in which they began, and one that does not start took
        no time.
        """
        ...

    @property
    def shares_launches(self) -> bool:
        """Whether one launch may run several configurations, as HPL does with lists in HPL.dat."""
        ...

    @property
    def left_s(self) -> Callable[[], float | None]:
        """Tells the seconds that are left of the budget, within which all waits end; None of no limit."""
        ...

    def plan(self, params: Mapping[str, Scalar], rung: Rung, key: str, repeat: int) -> P:
        """Plan a run of a complete point. Pure.

        Args:
            rung: how much of a full run it is.
            key: of the configuration.
            repeat: how often the same ran before, by which simulated runs differ.

        Raises:
            PlanError, HplError: it cannot be had here.
        """
        ...

    def observers(self, launch: WatchedLaunch) -> Sequence[LaunchObserver]:
        """Make what watches a launch here."""
        ...

    def run(self, plan: P, directory: Path, limit_s: float, stop: Stopping, watch: LaunchWatch) -> LaunchResult:
        """Run a plan, in any thread; what goes wrong with the run itself is a fault, no error.

        `sound` judges what all sites tell.

        Args:
            directory: made here; it keeps what went in and what came out.
            limit_s: seconds after which the run is ended.
            stop: looked at all the time; `at_once` ends the run.

        Raises:
            RunnerError: it cannot be started, or something befell it.
            TunerError: nothing can be started here.
        """
        ...

    def limits(self, plan: P, *, exactly: bool) -> MachineLimits:
        """What the cores of a run can do, as far as that is known.

        Args:
            exactly: a result is doubted: find out what is not known.
        """
        ...

    def close(self) -> None:
        """End the simulations that run here, for good; what a machine runs goes to its end."""
        ...
