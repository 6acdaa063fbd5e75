"""A service of hpltune, for programs in Python: the keys of documents are arguments."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from pydantic import ValidationError

from runners.toml_file import in_our_words

from ..messages.addresses import CAMPAIGNS, QUEUE
from ..messages.campaigns import CampaignModel, CampaignPage
from ..messages.documents import Document, document_of
from ..messages.queue import HandedInModel, QueueModel
from .campaign import ServedCampaign
from .connection import Connection
from .problems import RefusedDocumentError
from .server import EXAMPLE, Server

Method = TypeVar("Method", bound=Callable[..., Any])


def _words(kind: str) -> Callable[[Method], Method]:
    """Let Python, editors and people see the keys of a document as arguments of a method."""

    def told(method: Method) -> Method:
        whole = inspect.signature(method)
        named = {name: given for name, given in whole.parameters.items() if given.kind is not given.VAR_KEYWORD}
        keys = [
            inspect.Parameter(
                key, inspect.Parameter.KEYWORD_ONLY, default=field.get_default(), annotation=field.annotation
            )
            for key, field in document_of(kind).model_fields.items()
            if key not in {"kind", *named}
        ]
        method.__signature__ = whole.replace(parameters=[*named.values(), *keys])  # type: ignore[attr-defined]  # inspect reads it
        return method

    return told


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

    @_words("tune")
    def tune(self, **words: Any) -> ServedCampaign:
        """Hand in a search, in the words of `hpltune tune`: `tune(space="quick", budget="5m", set={"NB": [128]})`.

        Raises:
            RefusedDocumentError: one of them is wrong.
        """
        return self.ask("tune", **words)

    @_words("check")
    def check(self, baseline: str, **words: Any) -> ServedCampaign:
        """Hand in a check: is the machine slower than in a study of it?

        Raises:
            RefusedDocumentError: something is wrong.
        """
        return self.ask("check", baseline=baseline, **words)

    def ask(self, kind: str, **words: Any) -> ServedCampaign:
        """Hand in a campaign of any kind: `ask("nodes", cluster="ours")`.

        Raises:
            RefusedDocumentError: something is wrong.
        """
        return self.campaign(self.hand_in(_document(kind, words)).name)

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
            state: how they stand, as running, complete, interrupted, killed or failed.
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
    return {"kind": document.kind, **document.model_dump(mode="json", exclude_defaults=True)}


def _document(kind: str, words: Mapping[str, Any]) -> Document:
    """Check words before they are sent.

    Raises:
        RefusedDocumentError: one of them is wrong.
    """
    try:
        return document_of(kind).model_validate(words)
    except ValidationError as error:
        wrong = [(".".join(map(str, one["loc"])), in_our_words(one)) for one in error.errors()]
        raise RefusedDocumentError(wrong) from error
