"""The form that writes what the service's file needs for a webhook; only who runs the service can put it there.

Whom the service tells is chosen on its own machine: nobody who got an admin's token can let it send to another place.
"""

import json
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from ..config import EventName, OfferedName, WebhookTable
from ..problems import wrong_document
from .start.choices import FormChoice
from .start.fields import FieldKind, FormField
from .start.filled_in import FieldError, FieldsOfForm, Texts, WrongFormError, by_field

NAME, URL, EVENTS = (
    FormField("name", "Name", hint="A word for it, such as chat."),
    FormField("url", "Address", hint="Where messages are posted: https://chat.example.org/hooks/hpl"),
    FormField("events", "Is told of", FieldKind.TICKS, "None ticked: all three."),
)
FIELDS = (NAME, URL, EVENTS)
SAID = {"done": "done: a campaign is done", "failed": "failed: one has failed", "slower": "slower: a check found so"}
CHOICES = {"events": [FormChoice(event, SAID[event]) for event in get_args(EventName)]}
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
"""What TOML takes as a key without quotes."""


@dataclass(frozen=True)
class WrittenWebhook:
    """What makes a webhook of the service.

    Attributes:
        table: of the service's file.
        secret: a fresh one, which is kept nowhere.
        secret_file: which the table names.
    """

    table: str
    secret: str
    secret_file: str


@dataclass(frozen=True)
class WebhookForm:
    """The form as a page shows it, and what was written."""

    texts: Texts
    errors: tuple[FieldError, ...] = ()
    written: WrittenWebhook | None = None

    def values(self) -> dict[str, Any]:
        """What the template takes."""
        return {
            "fields": FIELDS,
            "texts": self.texts,
            "choices": CHOICES,
            "errors": self.errors,
            "by_field": by_field(self.errors),
            "written": self.written,
        }


FRESH = WebhookForm({field.name: [] for field in FIELDS})


def filled_form(sent: FieldsOfForm) -> WebhookForm:
    """The form as somebody filled it in."""
    return WebhookForm({field.name: [text.strip() for text in sent.getlist(field.name)] for field in FIELDS})


def written_webhook(texts: Texts, taken: Collection[str]) -> WrittenWebhook:
    """Write what a form asks for.

    Args:
        taken: names of the webhooks that the service has.

    Raises:
        WrongFormError: something in it is wrong.
    """
    name, url = ("".join(texts[field.name][:1]) for field in (NAME, URL))
    errors = list[FieldError]()
    try:
        TypeAdapter(OfferedName).validate_python(name)
    except ValidationError as error:
        errors.append(FieldError(NAME, wrong_document(error).errors[0]["sentence"]))
    if name in taken:
        errors.append(FieldError(NAME, f"there is a webhook {name} already: choose another name"))
    file = f"{name}.secret"
    given = {"url": url, "secret_file": Path(file), **({"events": texts["events"]} if texts["events"] else {})}
    try:
        table = WebhookTable.model_validate(given)
    except ValidationError as error:
        places = {field.name: field for field in FIELDS}
        found = wrong_document(error).errors
        errors += [FieldError(places.get(one["path"].partition(".")[0]), one["sentence"]) for one in found]
    if errors:
        raise WrongFormError(errors)
    key = name if BARE_KEY.fullmatch(name) else json.dumps(name)
    events = f"\nevents = {json.dumps(list(table.events))}" if texts["events"] else ""
    text = f"[webhooks.{key}]\nurl = {json.dumps(url)}\nsecret_file = {json.dumps(file)}{events}\n"
    return WrittenWebhook(text, secrets.token_urlsafe(32), file)
