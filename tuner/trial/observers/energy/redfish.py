"""Redfish: what the controllers of nodes tell of their power by HTTP.

The addresses of the controllers are in a cluster file, with an account and the file of its password, which is neither
stored nor shown.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from .contract import Places, PowerPart, PowerSource

if TYPE_CHECKING:
    from .redfish_controller import Controller

AT_ONCE = 32


class Redfish(PowerSource):
    """The controllers of some nodes, asked at the same time."""

    name = "redfish"
    what = "the nodes' inputs, as their controllers tell it"

    def __init__(self, controllers: Mapping[str, "Controller"]) -> None:
        super().__init__([PowerPart(host) for host in controllers])
        self._controllers = dict(controllers)

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Take the addresses of the cluster's file, and look where each controller has its power."""
        table = places.cluster.power.redfish if places.cluster is not None and places.cluster.power else None
        if table is None:
            return None
        from .redfish_controller import Controller  # noqa: PLC0415 - what speaks HTTP is slow to import

        found = cls({host: Controller(host, address, table) for host, address in table.addresses.items()})
        found.read()
        return found

    def read(self) -> Sequence[float]:
        """Ask all controllers for the power at this moment, in watts."""
        with ThreadPoolExecutor(min(AT_ONCE, len(self._controllers))) as pool:
            return list(pool.map(lambda one: one.watts(), self._controllers.values()))
