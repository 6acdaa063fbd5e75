"""All sensors of nodes: a new one is one class in a file of this folder, and one line here."""

from collections.abc import Sequence

from .clock import CpuClock
from .contract import FileSensor
from .heat import Temperature, ThrottleEvents

FILE_SENSORS: Sequence[FileSensor] = (
    CpuClock(),
    Temperature(),
    ThrottleEvents(),
)
