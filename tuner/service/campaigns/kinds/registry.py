"""The kinds of campaigns by their names."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from ....messages.documents import Document, document_of
from .base import CampaignKind
from .blas import BlasKind
from .check import CheckKind
from .nodes import NodesKind
from .predict import PredictKind
from .tune import TuneKind

_ALL = (TuneKind(), CheckKind(), NodesKind(), BlasKind(), PredictKind())
KINDS: dict[str, CampaignKind] = {kind.name: kind for kind in _ALL}
if TYPE_CHECKING:
    AnyDocument = Document
else:
    AnyDocument = Annotated[reduce(or_, map(document_of, KINDS)), Field(discriminator="kind")]
"""A document of some kind."""
DOCUMENTS: TypeAdapter[Any] = TypeAdapter(AnyDocument)
