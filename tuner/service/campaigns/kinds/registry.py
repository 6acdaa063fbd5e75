"""The kinds of campaigns by their names."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from ....messages.documents import CheckDocument, NodesDocument, TuneDocument
from .base import CampaignKind
from .check import CheckKind
from .nodes import NodesKind
from .tune import TuneKind

KINDS: dict[str, CampaignKind] = {kind.name: kind for kind in (TuneKind(), CheckKind(), NodesKind())}
AnyDocument = Annotated[TuneDocument | CheckDocument | NodesDocument, Field(discriminator="kind")]
"""A document of some kind."""
DOCUMENTS: TypeAdapter[Any] = TypeAdapter(AnyDocument)
