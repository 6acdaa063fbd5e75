"""A service of hpltune, for programs in Python: the keys of documents are arguments."""

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack
from uuid import uuid4

from pydantic import ValidationError

from hpl.params import Scalar

from ..messages.addresses import CAMPAIGNS, QUEUE
from ..messages.campaigns import CampaignModel, CampaignPage
from ..messages.documents import CheckDocument, Document, TuneDocument
from ..messages.queue import HandedInModel, QueueModel
from .campaign import ServedCampaign
from .connection import Connection
from .problems import RefusedDocumentError
from .server import EXAMPLE, Server


class TuneWords(TypedDict, total=False):
    """The keys of `TuneDocument`; those that are left out have its defaults."""

    name: str
    priority: int
    space: str
    cluster: str
    budget: str
    trials: int
    run_time: str
    engine: str
    objective: str
    pareto: str
    full: bool
    memory_fraction: float
    set: Mapping[str, Scalar | Sequence[Scalar]]
    points: int
    repeats: int
    confirm: int
    reference: bool
    seed: int
    blas: Sequence[str]
    program: str
    rpeak_gflops: float
    price_usd: float
    power_w: float
    parallel: int
    jobs: int
    limit: str
    from_simulation: str
    warm_start: Sequence[str]


class CheckWords(TypedDict, total=False):
    """The keys of `CheckDocument`, but for the baseline."""

    name: str
    priority: int
    runs: int
    tolerance_percent: float


class Client:
    """Asks a service; close it at the end, or use it in `with`.

    Every method raises TunerError with one sentence where the service does not answer or refuses.

    Args:
        url: its address.
        token: who asks; None takes HPLTUNE_TOKEN, or the file `token` in hpltune's data folder, where there is one.

    Raises:
        UsageError: the address is none, or the token cannot be used.
    """

    def __init__(self, url: str = EXAMPLE, token: str | None = None) -> None:
        self.connection = Connection(Server.at(url, token))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ask nothing more."""
        self.connection.close()

    def tune(self, **words: Unpack[TuneWords]) -> ServedCampaign:
        """Hand in a search, in the words of `hpltune tune`: `tune(space="quick", budget="5m", set={"NB": [128]})`.

        Raises:
            RefusedDocumentError: one of them is wrong.
        """
        return self.campaign(self.hand_in(_document(TuneDocument, words)).name)

    def check(self, baseline: str, **words: Unpack[CheckWords]) -> ServedCampaign:
        """Hand in a check: is the machine slower than in a study of it?

        Raises:
            RefusedDocumentError: something is wrong.
        """
        return self.campaign(self.hand_in(_document(CheckDocument, {"baseline": baseline, **words})).name)

    def hand_in(self, document: Document | Mapping[str, Any]) -> HandedInModel:
        """Hand in any document; where the answer is lost it is asked for again, and nothing is handed in twice.

        Raises:
            RefusedDocumentError: something in it is wrong.
        """
        plain = document if isinstance(document, Mapping) else written(document)
        headers = {"Idempotency-Key": str(uuid4())}
        return self.connection.send_again("POST", CAMPAIGNS, HandedInModel, json=plain, headers=headers)

    def campaign(self, name: str) -> ServedCampaign:
        """A campaign by its name; nothing is asked yet."""
        return ServedCampaign(self.connection, name)

    def campaigns(self, *, name: str | None = None, state: str | None = None) -> Iterator[CampaignModel]:
        """Give the campaigns that have begun, newest first.

        Args:
            name: a part of their names.
            state: running, complete, interrupted or killed.
        """
        cursor: str | None = None
        while True:
            page = self.connection.get(CAMPAIGNS, CampaignPage, name=name, state=state, cursor=cursor)
            yield from page.campaigns
            cursor = page.next_cursor
            if cursor is None:
                return

    def queue(self) -> QueueModel:
        """Read which campaigns run, wait, or are paused."""
        return self.connection.get(QUEUE, QueueModel)


def written(document: Document) -> dict[str, Any]:
    """The keys of a document that are not as they are by themselves."""
    plain = document.model_dump(mode="json", exclude_defaults=True)
    return {"kind": getattr(document, "kind"), **plain}  # noqa: B009 - each kind's own document has it


def _document(kind: type[Document], words: Mapping[str, Any]) -> Document:
    """Check words before they are sent.

    Raises:
        RefusedDocumentError: one of them is wrong.
    """
    try:
        return kind.model_validate(dict(words))
    except ValidationError as error:
        wrong = [(".".join(map(str, one["loc"])), str(one["msg"])) for one in error.errors()]
        raise RefusedDocumentError(wrong) from error
