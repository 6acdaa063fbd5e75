"""Settings that no host has: a value in a file, a variable, and a command before the program."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from runners.errors import RefusedError
from runners.hosts.system_facts import SystemFacts
from runners.settings import registry
from runners.settings.setting import Command, HostSetting, LaunchSetting, Reading, Values, whole

PLACE = "value-of-a-test"
VARIABLE, STEP = "HPLTUNE_TEST_PACE", "HPLTUNE_TEST_STEP"
NUMBERS, PACES = whole(1, 9), Values("slow or fast", "slow|fast")
MEANING = "What a test writes into a file. It never matters."


@dataclass(frozen=True)
class FileValue(HostSetting):
    """A number in a file, as /proc and /sys have them; its owner may write it."""

    file: Path
    needs_root: ClassVar[bool] = False

    def show(self, interface: str) -> Command:
        del interface
        return ("cat", str(self.file))

    def read(self, printed: str) -> Reading:
        if self.values.text(printed.strip()) is None:
            raise RefusedError(printed.strip() or "it said nothing")
        return Reading(printed.strip())

    def write(self, interface: str, value: str) -> Command:
        del interface
        return ("sh", "-c", 'printf "%s\\n" "$1" >"$2"', "write", value, str(self.file))


@dataclass(frozen=True)
class Variable(LaunchSetting):
    """A variable of the ranks."""

    variable: str = VARIABLE

    def environment(self, value: str) -> Mapping[str, str]:
        return {self.variable: value}


class Starter(LaunchSetting):
    """A command that starts the program."""

    def command(self, value: str, system: SystemFacts | None) -> Command:
        del system
        return ("env", f"{STEP}={value}")


def register(folder: Path) -> None:
    """Add settings to the registry, one line each; the value lies in a file of a folder."""
    made_up = (
        FileValue("sys.test_value", NUMBERS, folder / PLACE, meaning=MEANING),
        Variable("sys.test_pace", PACES),
        Starter("sys.test_step", NUMBERS),
    )
    registry.SETTINGS = {**registry.SETTINGS, **{setting.name: setting for setting in made_up}}
