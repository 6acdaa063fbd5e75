"""IPMI: what the controllers of nodes tell of the power at their inputs, through `ipmitool dcmi power reading`.

Source: ipmitool(1); DCMI 1.5, "Get Power Reading". Of this machine it needs /dev/ipmi0, which root may open; of others
the addresses of their controllers in a cluster file, with an account and the file of its password.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from typing import Self

from runners.hosts.hearing import CommandResult

from .contract import HERE, Places, PowerPart, PowerSource, PowerSourceError, answers

READING = ("dcmi", "power", "reading")
DEVICES = ("dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0")
_WATTS = re.compile(r"Instantaneous power reading:\s*(-?\d+(?:\.\d+)?)\s*Watts", re.IGNORECASE)
_OFF = re.compile(r"Power reading state is:\s*deactivated", re.IGNORECASE)


class Ipmi(PowerSource):
    """The controllers of some nodes, or of this machine, asked at the same time."""

    name = "ipmi"
    what = "the nodes' inputs, as their controllers tell it"

    def __init__(self, commands: Mapping[str, Sequence[str]]) -> None:
        super().__init__([PowerPart(host) for host in commands])
        self._commands = {host: tuple(command) for host, command in commands.items()}

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for ipmitool, and for a device or addresses; ask once, because most machines have no such meter."""
        table = places.cluster.power.ipmi if places.cluster is not None and places.cluster.power else None
        program = shutil.which("ipmitool")
        if table is None:
            if not places.here or program is None or not any((places.root / name).exists() for name in DEVICES):
                return None
            found = cls({HERE: (program, *READING)})
        else:
            if program is None:
                raise PowerSourceError("cannot be asked: ipmitool is not installed")
            account = ("-I", table.interface, *(("-U", table.user) if table.user else ()))
            secret = ("-f", str(table.secret)) if table.secret else ()
            found = cls(
                {
                    host: (program, *account, *secret, "-H", address, *READING)
                    for host, address in table.addresses.items()
                }
            )
        found.read()
        return found

    def read(self) -> Sequence[float]:
        """Ask all controllers for the power at this moment, in watts."""
        heard = answers(self._commands)
        return [_watts(host, heard[host]) for host in self._commands]


def _watts(host: str, heard: CommandResult) -> float:
    """Read what ipmitool printed of one controller.

    Raises:
        PowerSourceError: that is no reading.
    """
    of = f"of {host} " if host else ""
    said = _WATTS.search(heard.stdout)
    if heard.exit_code or said is None:
        said_last = heard.complaint or (heard.stdout.strip().splitlines() or ["nothing"])[-1]
        why = ascii("".join(sign for sign in said_last if sign.isprintable())[:120])
        rights = " (root may open the device)" if "Could not open device" in heard.stderr else ""
        raise PowerSourceError(f"{of}cannot be asked: ipmitool said {why}{rights}")
    if _OFF.search(heard.stdout):
        raise PowerSourceError(f"{of}does not measure: its power reading is deactivated")
    return float(said[1])
