"""What can be asked of a service by its name, and the keys and options of all of it."""

import re
from functools import cache

from .blas import BlasAsk
from .check import CheckAsk
from .field import Ask, fields_of
from .nodes import NodesAsk
from .tune import TuneAsk

ASKS: dict[str, type[Ask]] = {"tune": TuneAsk, "check": CheckAsk, "nodes": NodesAsk, "blas": BlasAsk}
"""By the kind of a campaign."""
_OPTION = re.compile(r"--([a-z][a-z-]*)")


@cache
def _renamed() -> dict[str, str]:
    """The keys that are called otherwise than their options, by these."""
    every = (field for ask in ASKS.values() for field in fields_of(ask))
    return {"--study": "name", **{field.option: field.key for field in every if field.said.option}}


def key_of(option: str) -> str:
    """The key of a document for an option: price_usd for --price."""
    return _renamed().get(option) or option.removeprefix("--").replace("-", "_")


def option_of(key: str) -> str:
    """The option for a key of a document."""
    return next((option for option, known in _renamed().items() if known == key), f"--{key.replace('_', '-')}")


def in_keys(sentence: str) -> str:
    """A sentence with keys of a document in place of options: `--run-time` becomes run_time."""
    return _OPTION.sub(lambda found: key_of(found[0]), sentence)
