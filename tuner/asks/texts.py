"""Values as people write them on the command line."""

import csv
from collections.abc import Sequence

from search_spaces.parameters.dimension import DIMENSIONS

from ..errors import UsageError
from .field import Scalar


def parse_overrides(values: Sequence[str]) -> dict[str, list[str]]:
    """Split `--set NAME=V[,V]` values; one that has a comma itself stands in double quotes.

    Raises:
        TunerError: no "=", one too many, no value, or a quote without its end.
    """
    overrides: dict[str, list[str]] = {}
    for value in values:
        name, equals, given = value.partition("=")
        try:
            listed = next(csv.reader([given], skipinitialspace=True, strict=True))
        except csv.Error:
            listed = []
        choices = [choice.strip() for choice in listed if choice.strip()]
        if not name.strip() or not equals or not choices:
            raise UsageError("write NAME=VALUE[,VALUE], for example ⟦set⟧ NB=128,192", field="set", given=value)
        if name.strip() in DIMENSIONS and any("=" in choice for choice in choices):
            raise UsageError(
                f"no value of {name.strip()} has a =: write NAME=VALUE[,VALUE], and ⟦set⟧ once for each parameter",
                field="set",
                given=value,
            )
        overrides.setdefault(name.strip(), []).extend(choices)
    return overrides


def read_overrides(texts: Sequence[str]) -> dict[str, list[Scalar]]:
    """The values of `--set` as a document has them: what is a number is one.

    Raises:
        TunerError: they cannot be read.
    """
    return {
        name: [int(text) if text.isdecimal() and str(int(text)) == text else text for text in values]
        for name, values in parse_overrides(texts).items()
    }


def override_texts(given: Scalar | Sequence[Scalar]) -> list[str]:
    """The values of a parameter as they are written."""
    values = [given] if isinstance(given, str | int | float) else given
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
