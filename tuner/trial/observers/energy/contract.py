"""The contract of a source of power or energy: where it is found, what it reads, and how it says that it cannot.

A source only reads. `sampling.py` reads it once a second, `trace.py` says what its readings are worth.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from runners.hosts.cluster import Cluster
    from runners.hosts.hearing import CommandResult

HERE = ""
"""The host of a part that belongs to this machine."""
WHOLE = "*"
"""The host of a part that stands for all nodes together, as a meter at the wall does."""
COMMANDED = "meter"
"""The name of the source that is a command of the user's."""
LONGEST_READING_S = 5.0
"""Seconds after which a reading that has not come is given up."""


class PowerSourceError(Exception):
    """A source is there and cannot tell: why, as the part of a sentence that follows its name."""


@dataclass(frozen=True)
class PowerPart:
    """A thing of which a source tells the power, or the energy since some time.

    Attributes:
        host: the node that it belongs to, HERE or WHOLE.
        name: of the thing, such as "package-0"; "" where a node has one only.
        counts: it is a counter in joules; else power in watts.
        range_j: the counter begins again at 0 after so many joules; None where it does not.
    """

    host: str
    name: str = ""
    counts: bool = False
    range_j: float | None = None

    def __str__(self) -> str:
        """Its name with the node, as a sentence has it."""
        return f"{'' if self.host in {HERE, WHOLE} else self.host} {self.name}".strip()


@dataclass(frozen=True)
class Places:
    """Where sources are looked for.

    Attributes:
        root: the folder in which /sys is; "/" but in tests.
        cluster: the cluster on which HPL runs; None for this machine.
        command: a program of the user, with its arguments, that prints the watts of all nodes; "" for none.
    """

    root: Path
    cluster: "Cluster | None" = None
    command: str = ""

    @property
    def here(self) -> bool:
        """Whether HPL runs on this machine, so that its own sensors tell."""
        return self.cluster is None


class PowerSource(ABC):
    """Reads the power or the energy of some parts.

    Attributes:
        lock: who reads it holds it.
        period_s: seconds after which it tells something new; 0 where it always tells of now.
    """

    name: ClassVar[str]
    """The first word of its measurements, such as "rapl" in "rapl_energy_j"."""
    what: ClassVar[str]
    """What it measures, in words that follow "power of"."""

    def __init__(self, parts: Sequence[PowerPart]) -> None:
        self.parts, self.lock, self.period_s = tuple(parts), Lock(), 0.0

    @classmethod
    @abstractmethod
    def find(cls, places: Places) -> Self | None:
        """Look for it; None where there is none.

        Raises:
            PowerSourceError: it is there, and cannot be read; the sentence has the remedy.
        """

    @abstractmethod
    def read(self) -> Sequence[float]:
        """Read each of its parts now, in watts or joules, in their order, within about LONGEST_READING_S.

        Raises:
            PowerSourceError: it does not tell.
        """

    def tells_all_of(self, nodes: Sequence[str]) -> bool:
        """Whether it has a part of each of these nodes, or one for all of them; no nodes are this machine."""
        hosts = {part.host for part in self.parts}
        return WHOLE in hosts or (set(nodes) <= hosts if nodes else HERE in hosts)


class GpuPower(PowerSource):
    """All GPUs of this machine that one library knows: their counters, or their power where one has none."""

    what = "the GPUs alone"

    def __init__(self, library: Any, devices: Sequence[Any], *, counts: bool) -> None:
        super().__init__([PowerPart(HERE, f"GPU {number}", counts=counts) for number in range(len(devices))])
        self._library, self._devices, self._counts = library, tuple(devices), counts

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for the library, the driver and its devices."""
        if not places.here:
            return None
        try:
            library, devices = cls.opened()
        except Exception:  # noqa: BLE001 - without a driver it says so in ways of its own
            return None
        if not devices:
            return None
        found = cls(library, devices, counts=True)
        try:
            found.read()
        except PowerSourceError:
            found = cls(library, devices, counts=False)
            found.read()
        return found

    @staticmethod
    @abstractmethod
    def opened() -> tuple[Any, Sequence[Any]]:
        """Load the library, and return it with the GPUs that it knows; any error says that it cannot be used."""

    @abstractmethod
    def power_of(self, device: Any) -> float:
        """Read a GPU, in joules or watts; an error of the library says that it does not tell."""

    def read(self) -> Sequence[float]:
        """Read all GPUs, in joules or watts."""
        try:
            return [self.power_of(device) for device in self._devices]
        except PowerSourceError:
            raise
        except Exception as error:
            raise PowerSourceError(f"does not tell: {str(error)[:120]!a}") from error


class FilePower(PowerSource):
    """Reads files of the kernel on this machine, one of each part.

    Attributes:
        unit: joules or watts of the numbers in them.
    """

    unit: ClassVar[float]

    def __init__(self, parts: Sequence[PowerPart], files: Sequence[Path]) -> None:
        super().__init__(parts)
        self._files = tuple(files)

    def read(self) -> Sequence[float]:
        """Read the files in watts or joules."""
        try:
            return [self.unit * first_figure(read_text(file)) for file in self._files]
        except OSError as error:
            raise PowerSourceError(f"stopped telling ({error.filename}: {error.strerror})") from error


def answers(commands: Mapping[str, Sequence[str]]) -> "Mapping[str, CommandResult]":
    """Ask programs at once, each for a host or for HERE, and return what came of them.

    Raises:
        PowerSourceError: one cannot be started, or does not answer in time.
    """
    from runners.errors import RunnerError  # noqa: PLC0415 - only programs need it
    from runners.hosts.hearing import Call, Unheard, hear  # noqa: PLC0415 - slow to import

    found: dict[str, CommandResult] = {}
    try:
        heard = hear({host: Call(tuple(command), LONGEST_READING_S) for host, command in commands.items()})
    except RunnerError as error:
        raise PowerSourceError(f"cannot be asked: {error}") from error
    for host, said in heard.items():
        of = f"of {host} " if host else ""
        if isinstance(said, Unheard):
            raise PowerSourceError(f"{of}did not answer within {LONGEST_READING_S:.0f} s")
        if isinstance(said, OSError):
            raise PowerSourceError(f"{of}cannot be asked: {Path(commands[host][0]).name}: {said.strerror}")
        found[host] = said
    return found


def read_text(file: Path) -> str:
    """Read the first bytes of a small file of the kernel.

    Raises:
        OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        return opened.read(4096).decode("ascii", errors="replace").strip()


def first_figure(text: str) -> float:
    """Read the number with which a text begins, such as "4711 J".

    Raises:
        PowerSourceError: it begins with none.
    """
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    try:
        return float(word)
    except ValueError:
        raise PowerSourceError(f"told {word[:20]!a} in place of a number") from None
