"""What can be asked of a service by its name, and the keys of all of it."""

from functools import cache

from .blas import BlasAsk
from .check import CheckAsk
from .compare import CompareAsk
from .dat import DatAsk
from .field import Ask, fields_of
from .nodes import NodesAsk
from .tune import TuneAsk

ASKS: dict[str, type[Ask]] = {
    "tune": TuneAsk,
    "check": CheckAsk,
    "nodes": NodesAsk,
    "blas": BlasAsk,
}
"""By the kind of a campaign."""
ANSWERED: tuple[type[Ask], ...] = (CompareAsk, DatAsk)
"""What a service answers at once."""


@cache
def _renamed() -> dict[str, str]:
    """The keys that are called otherwise than in sentences, by what these call them."""
    every = (field for ask in (*ASKS.values(), *ANSWERED) for field in fields_of(ask))
    return {"study": "name", **{field.field: field.key for field in every if field.said.field}}


def key_of(field: str) -> str:
    """The key of a document for a field of what is asked: price_usd for price, set.NB as it is."""
    return _renamed().get(field, field)


def field_of(key: str) -> str:
    """What sentences and the command line call a key of a document: price for price_usd."""
    return next((field for field, known in _renamed().items() if known == key), key)
