"""Handing in: a document becomes a campaign in the queue."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from results.store.service.campaign_entry import CampaignEntry, CampaignOrder
from results.store.store import Store

from ...messages.documents import Document
from ...study.names import check_name, legal_name
from .expected import SpaceSize
from .host_survey import HostSurvey
from .kinds.registry import KINDS
from .offered import Offers
from .wrong import read_as_document


@dataclass(frozen=True)
class HandIn:
    """What somebody hands in.

    Attributes:
        user: who.
        key: the same one of the same user hands in the same campaign; None for a new one.
    """

    document: Document
    user: str
    key: str | None = None


def checked(document: Document, offered: Offers, store: Store, survey: HostSurvey) -> tuple[tuple[str, ...], SpaceSize]:
    """Check a document as far as can be done before its turn: all doors take and refuse the same.

    Returns:
        The machines that it would work on, and how large its space is there.

    Raises:
        WrongDocumentError: something in it is wrong; it says where.
    """
    kind = KINDS[document.kind]
    if document.name is not None:
        read_as_document(lambda: check_name(document.name or "", "name", "a campaign"))
    return kind.check(document, offered, store), kind.size(document, offered, store, survey)


def hand_in(request: HandIn, offered: Offers, store: Store, survey: HostSurvey) -> CampaignEntry:
    """Check a document and put it into the queue.

    Raises:
        WrongDocumentError: something in it is wrong.
        results.errors.StudyExistsError: its name is taken.
        results.errors.KeyReusedError: the key stands for another document.
    """
    document, kind = request.document, KINDS[request.document.kind]
    nodes, _ = checked(document, offered, store, survey)
    name = document.name or legal_name(kind.base_name(document))
    plain: Mapping[str, Any] = document.model_dump(mode="json", exclude={"priority"}, exclude_defaults=True)
    order = CampaignOrder(
        name,
        kind.name,
        {"kind": kind.name, **plain},
        nodes,
        request.user,
        document.priority,
        request.key,
        (offered.machine or None) if nodes == (platform.node(),) else None,
    )
    return store.queue.add(order, numbered=document.name is None)
