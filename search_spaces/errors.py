"""Errors of search spaces, and where a mistake is."""

import re
from dataclasses import dataclass

from hpl.errors import AskedError


class SpaceError(Exception):
    """An error in a space or a point; the message is one sentence for the user."""


class SettingError(SpaceError, AskedError):
    """A parameter was given, beside the space, a value that it cannot have."""


@dataclass(frozen=True)
class MistakePlace:
    """Where a mistake is: in a space's file, or in a parameter that was given beside it.

    Attributes:
        name: the file, with the key in it.
        field: of what was asked, as set.NB; "" for a file.
    """

    name: str
    field: str = ""

    @classmethod
    def of_setting(cls, parameter: str) -> "MistakePlace":
        """Return the place of a parameter that was given beside the space."""
        field = f"set.{parameter}" if re.fullmatch(r"[A-Za-z0-9_.]+", parameter) else "set"
        return cls(f"⟦{field}⟧", field)

    def wrong(self, sentence: object, value: str = "") -> SpaceError:
        """Make the error of a mistake there.

        Args:
            value: as " = 100", where one value of several is wrong.
        """
        if self.field:
            return SettingError(str(sentence), field=self.field, given=value.strip())
        return SpaceError(f"{self.name}{value}: {sentence}")
