"""The kinds of campaigns by their names."""

from typing import Annotated

from pydantic import Field

from ....messages.documents import CheckDocument, TuneDocument
from .base import CampaignKind
from .check import CheckKind
from .tune import TuneKind

KINDS: dict[str, CampaignKind] = {kind.name: kind for kind in (TuneKind(), CheckKind())}
AnyDocument = Annotated[TuneDocument | CheckDocument, Field(discriminator="kind")]
"""A document of some kind."""
