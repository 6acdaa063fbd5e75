"""A client of the service: `from hpltune.client import Client`."""

from tuner.client.campaign import ServedCampaign
from tuner.client.client import Client
from tuner.client.problems import NoAnswerError, RefusedDocumentError, ServiceError
from tuner.errors import TunerError
from tuner.messages.documents import CheckDocument, TuneDocument
from tuner.messages.live import CampaignEvent, Event, ProgressEvent, TrialBegunEvent, TrialEndedEvent

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
    "TrialBegunEvent",
    "TrialEndedEvent",
    "TuneDocument",
    "TunerError",
]
