"""What `from hpltune.client import …` gives."""

from ..errors import TunerError
from ..messages.documents import CheckDocument, TuneDocument
from ..messages.live import CampaignEvent, Event, ProgressEvent, ShownEvent, TrialBegunEvent, TrialEndedEvent
from .campaign import ServedCampaign
from .client import Client
from .problems import NoAnswerError, RefusedDocumentError, ServiceError

__all__ = [
    "CampaignEvent",
    "CheckDocument",
    "Client",
    "Event",
    "NoAnswerError",
    "ProgressEvent",
    "RefusedDocumentError",
    "ServedCampaign",
    "ServiceError",
    "ShownEvent",
    "TrialBegunEvent",
    "TrialEndedEvent",
    "TuneDocument",
    "TunerError",
]
