"""What studies may be called, and studies that nobody named."""

from dataclasses import replace

from results.errors import StudyExistsError
from results.record import Study
from results.store.store import Store

from ..errors import TunerError, UsageError

LONGEST = 200
"""Bytes of a name: folders are called so, which may have 255, and a number may follow."""


def check_name(name: str, field: str = "study", what: str | None = None) -> None:
    """Refuse what cannot name a folder, or could not be told from an option or a trial (STUDY#TRIAL).

    Args:
        field: of what was asked that it was given to.
        what: asks for it, in the sentence; None for the field.

    Raises:
        TunerError: it is such a name.
    """
    if name != legal_name(name) or not name.strip():
        raise UsageError(
            f"{what or f'«{field}»'} needs a name of printable characters without / and #, at most {LONGEST} bytes "
            f"long, that begins with neither - nor ., not {name[:40]!r}"
            + ("; leave it out and the study is named after its space" if field == "study" and not what else ""),
            field=field,
        )


def legal_name(name: str) -> str:
    """A name that is like this one, and may be used."""
    kept = "".join(letter if letter.isprintable() and letter not in "/#" else "_" for letter in name)
    return kept.lstrip("-.").encode()[:LONGEST].decode(errors="ignore")


def newest_search(store: Store, purpose: str) -> Study:
    """The study created last by `tune`; those of `hpltune run` have no space.

    Args:
        purpose: what it is wanted for, as the sentence has it: "to go on with".

    Raises:
        TunerError: there is none.
    """
    searches = [study for study in store.studies() if study.space_text]
    if not searches:
        raise TunerError(f"{store.place} holds no study {purpose}: `hpltune tune` makes one")
    return searches[-1]


def free_name(store: Store, base: str) -> str:
    """The first of base-1, base-2 … that the store does not hold, made a legal name where it is none."""
    base = legal_name(base)
    taken = {study.name for study in store.studies()}
    return next(f"{base}-{number}" for number in range(1, len(taken) + 2) if f"{base}-{number}" not in taken)


def create_unnamed(store: Store, study: Study) -> str:
    """Store a new study under the first of NAME-1, NAME-2 … that is free, and return that.

    Args:
        study: called NAME.
    """
    while True:
        name = free_name(store, study.name)
        try:
            store.create_study(replace(study, name=name))
        except StudyExistsError:  # another process was faster
            continue
        return name
