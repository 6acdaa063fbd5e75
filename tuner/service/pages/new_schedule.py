"""The form that makes a schedule: its fields, and what it asks for as it is filled in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from results.errors import StudyExistsError
from results.store.store import Store

from ...messages.plain_paths import without_paths
from ..api import schedules
from ..api.queue_access import QueueAccess
from ..campaigns.wrong import WrongDocumentError
from ..problems import Problem, wrong_document
from ..schedules import local_zone
from .start.choices import FormChoice
from .start.fields import FieldKind, FormField
from .start.filled_in import FieldError, FieldsOfForm, Texts, WrongFormError, by_field

CHECK, LIKE = "check", "like"
"""What a schedule hands in: a check of a machine, or what was handed in before."""
CADENCE = FormField("cadence", "When", hint="every monday at 06:00, every weekday at 22:30 Europe/Berlin, or every 6h.")
_FIRST = (
    FormField("name", "Name", hint="Its campaigns are called NAME-2026-11-30."),
    CADENCE,
    FormField("what", "What it hands in", FieldKind.CHOICE),
)
_OF_CHECKS = (
    FormField("baseline", "Study to check against", hint="Its best configuration is measured again."),
    FormField("runs", "Runs", FieldKind.NUMBER, "Empty: 3."),
    FormField("tolerance_percent", "Loss of speed in % that is no reason to worry", FieldKind.NUMBER, "Empty: 2."),
)
_OF_COPIES = (
    FormField("like", "Earlier campaign", hint="What was asked of it is handed in again, whatever its kind."),
)
GROUPS: Mapping[str, Sequence[FormField]] = {
    "": _FIRST,
    "For a check": _OF_CHECKS,
    "For the same as an earlier campaign": _OF_COPIES,
}
"""The fields by the heading above them; everybody fills in those without one."""
FIELDS = {field.name: field for group in GROUPS.values() for field in group}
CHOICES = {
    "what": (
        FormChoice(CHECK, "a check: is a machine slower than it was?"),
        FormChoice(LIKE, "the same as an earlier campaign"),
    )
}


@dataclass(frozen=True)
class ScheduleForm:
    """The form as a page shows it.

    Attributes:
        texts: what stands in each field.
    """

    texts: Texts
    errors: tuple[FieldError, ...] = ()

    def values(self) -> dict[str, Any]:
        """What the template takes."""
        zone = f"{CADENCE.hint} Without a time zone: {local_zone()}."
        fields = {CADENCE: replace(CADENCE, hint=zone)}
        return {
            "groups": {title: [fields.get(field, field) for field in group] for title, group in GROUPS.items()},
            "texts": self.texts,
            "choices": CHOICES,
            "errors": self.errors,
            "by_field": by_field(self.errors),
        }


def fresh_form(like: str) -> ScheduleForm:
    """The form before anybody has filled it in.

    Args:
        like: the campaign that is to be handed in again; "" for none.
    """
    empty = {name: [""] for name in FIELDS}
    return ScheduleForm({**empty, "what": [LIKE if like else CHECK], "like": [like]})


def filled_form(sent: FieldsOfForm) -> ScheduleForm:
    """The form as somebody filled it in."""
    return ScheduleForm({name: [text.strip() for text in sent.getlist(name)] or [""] for name in FIELDS})


def make_schedule(texts: Texts, queue: QueueAccess) -> None:
    """Make the schedule that a form asks for.

    Raises:
        WrongFormError: something in it is wrong.
    """
    copies = _text(texts, "what") == LIKE
    try:
        document = _copied(_text(texts, "like"), queue.parts.store) if copies else _check(texts)
        asked = {"name": _text(texts, "name"), "cadence": _text(texts, "cadence"), "document": document}
        schedules.create(schedules.ScheduleDocument.model_validate(asked), queue)
    except ValidationError as error:
        errors = [_error(one["path"], one["sentence"], copies=copies) for one in wrong_document(error).errors]
        raise WrongFormError(errors) from error
    except WrongDocumentError as error:
        raise WrongFormError([_error(error.path, without_paths(error.sentence), copies=copies)]) from error
    except StudyExistsError as error:
        raise WrongFormError([FieldError(FIELDS["name"], str(error))]) from error
    except Problem as error:
        raise WrongFormError([FieldError(None, str(error.detail))]) from error


def _text(texts: Texts, name: str) -> str:
    return texts[name][0]


def _check(texts: Texts) -> dict[str, Any]:
    given = {field.name: _text(texts, field.name) for field in _OF_CHECKS}
    return {"kind": CHECK, **{name: text for name, text in given.items() if text}}


def _copied(name: str, store: Store) -> dict[str, Any]:
    """What was asked of an earlier campaign.

    Raises:
        WrongDocumentError: nobody handed in one of this name.
    """
    entry = store.queue.find(name)
    if entry is None:
        said = f"there is no campaign {name!r} that was handed in: /api/v1/campaigns lists all"
        raise WrongDocumentError(LIKE, said if name else "write the name of a campaign that was handed in")
    return {**{key: value for key, value in entry.order.document.items() if key != "name"}, "kind": entry.order.kind}


def _error(path: str, sentence: str, *, copies: bool) -> FieldError:
    """The error at the field in which somebody wrote what is at a path of a schedule."""
    inner = path.removeprefix("document.")
    if copies and path != inner:
        return FieldError(FIELDS[LIKE], f"{inner}: {sentence}")
    field = FIELDS.get(inner)
    return FieldError(field, sentence if field else f"{inner}: {sentence}")
