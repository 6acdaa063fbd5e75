"""One controller of a node that speaks Redfish, and what it tells of the node's power.

Source: DMTF DSP2046: a chassis has the resources EnvironmentMetrics (PowerWatts.Reading) and, deprecated, Power
(PowerControl[].PowerConsumedWatts).
"""

import ssl
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from .contract import LONGEST_READING_S, PowerSourceError

if TYPE_CHECKING:
    from runners.hosts.power_table import RedfishTable

CHASSIS = "/redfish/v1/Chassis"
LARGEST_BYTES = 1 << 20
"""Of an answer: those of controllers have some kilobytes."""
MOST_CHASSIS = 64


class Controller:
    """The controller of one node.

    Args:
        host: its node.
        address: as https://10.0.0.1.

    Raises:
        PowerSourceError: its account or the certificates that it is checked with cannot be read.
    """

    def __init__(self, host: str, address: str, table: "RedfishTable") -> None:
        self._host, self._path = host, ""
        try:
            account = (table.user, table.password) if table.user else None
            trusted = ssl.create_default_context(cafile=table.certificate or None) if table.verify else False
            self._http = httpx2.Client(
                base_url=address, auth=account, verify=trusted, timeout=LONGEST_READING_S, follow_redirects=False
            )
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            raise PowerSourceError(f"of {host} cannot be asked: {error}") from error

    def watts(self) -> float:
        """The power of the node.

        Raises:
            PowerSourceError: the controller does not tell it.
        """
        for path in [self._path] if self._path else self._resources():
            told = _consumed(self._get(path, may_lack=not self._path))
            if told is not None:
                self._path = path
                return told
        raise PowerSourceError(f"of {self._host} tells no power")

    def _resources(self) -> Iterable[str]:
        """Yield where a controller may have its power, chassis by chassis."""
        members = self._get(CHASSIS).get("Members")
        for member in members[:MOST_CHASSIS] if isinstance(members, list) else ():
            path = member.get("@odata.id") if isinstance(member, dict) else None
            if isinstance(path, str) and path.startswith("/"):
                yield f"{path.rstrip('/')}/EnvironmentMetrics"
                yield f"{path.rstrip('/')}/Power"

    def _get(self, path: str, *, may_lack: bool = False) -> Mapping[str, Any]:
        """Read one resource.

        Args:
            may_lack: an empty one stands for a resource that is not there.

        Raises:
            PowerSourceError: the controller does not answer, or not as one.
        """
        try:
            with self._http.stream("GET", path) as answer:
                if may_lack and answer.status_code in {404, 405, 501}:
                    return {}
                if answer.status_code in {401, 403}:
                    raise PowerSourceError(f"of {self._host} refuses the account (HTTP {answer.status_code})")
                if answer.status_code != httpx2.codes.OK:
                    raise PowerSourceError(f"of {self._host} answered HTTP {answer.status_code}")
                body = b""
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > LARGEST_BYTES:
                        raise PowerSourceError(f"of {self._host} answers too much")
                told = httpx2.Response(200, content=body).json()
        except httpx2.TimeoutException as error:
            raise PowerSourceError(f"of {self._host} did not answer within {LONGEST_READING_S:.0f} s") from error
        except (httpx2.HTTPError, ssl.SSLError) as error:
            raise PowerSourceError(f"of {self._host} cannot be asked: {str(error)[:120]!a}") from error
        except (ValueError, RecursionError) as error:
            raise PowerSourceError(f"of {self._host} answered no JSON") from error
        return told if isinstance(told, dict) else {}


def _consumed(resource: Mapping[str, Any]) -> float | None:
    """The watts that a resource tells; None where it tells none."""
    metrics, control = resource.get("PowerWatts"), resource.get("PowerControl")
    told = metrics.get("Reading") if isinstance(metrics, dict) else None
    if told is None and isinstance(control, list) and control and isinstance(control[0], dict):
        told = control[0].get("PowerConsumedWatts")
    return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None
