"""What `from hpltune.client import …` gives."""

from ..errors import TunerError
from ..messages.documents import document_of
from ..messages.live import CampaignEvent, Event, ProgressEvent, ShownEvent, TrialBegunEvent, TrialEndedEvent
from .campaign import ServedCampaign
from .client import Client
from .problems import NoAnswerError, RefusedDocumentError, ServiceError

TuneDocument, CheckDocument, NodesDocument = map(document_of, ("tune", "check", "nodes"))

__all__ = [
    "CampaignEvent",
    "CheckDocument",
    "Client",
    "Event",
    "NoAnswerError",
    "NodesDocument",
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
