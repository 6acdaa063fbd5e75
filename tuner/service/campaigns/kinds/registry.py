"""The kinds of campaigns by their names."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from ....errors import TunerError
from ....messages.documents import Document, document_of
from .base import CampaignKind
from .blas import BlasKind
from .check import CheckKind
from .nodes import NodesKind
from .tune import TuneKind

_ALL = (TuneKind(), CheckKind(), NodesKind(), BlasKind())
KINDS: dict[str, CampaignKind] = {kind.name: kind for kind in _ALL}
if TYPE_CHECKING:
    AnyDocument = Document
else:
    AnyDocument = Annotated[reduce(or_, map(document_of, KINDS)), Field(discriminator="kind")]
"""A document of some kind."""
DOCUMENTS: TypeAdapter[Any] = TypeAdapter(AnyDocument)


def kind_of(name: str) -> CampaignKind:
    """Return the kind of a campaign that is stored.

    Raises:
        TunerError: an older service took such campaigns, and this one has none.
    """
    kind = KINDS.get(name)
    if kind is None:
        raise TunerError(f"a service has no campaigns of kind {name} any more: run `hpltune {name}` on a machine")
    return kind
