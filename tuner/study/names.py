"""What studies may be called, what kinds of trials count in them, and where the files of their trials are."""

import re
import shlex
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from results.errors import StudyExistsError
from results.record import Kind, Study, TrialRecord, TrialState
from results.store.store import Store

from ..database import db_option
from ..engines.outcomes import Fidelity
from ..errors import TunerError, UsageError

TEXTBOOK = "the textbook"
"""What the configuration is called that others are held against at a larger N."""
KINDS = {Fidelity.SMALL: Kind.SMALL, Fidelity.PREFIX: Kind.PREFIX, Fidelity.FULL: Kind.SEARCH}
"""What a trial is called that an engine asked for."""
SEARCHED = frozenset({*KINDS.values(), Kind.GIVEN_UP})
"""Kinds of trials that an engine asked for."""
COUNTED = SEARCHED | {Kind.REFERENCE}
"""Kinds of trials that a budget of trials limits."""
RANKED = frozenset({Kind.SEARCH, Kind.REFERENCE, Kind.CONFIRMATION})
"""Kinds of trials whose rates are compared."""
FEWEST_EXPLAINED = 5
"""Runs below which there is nothing to explain."""


def is_compared(record: TrialRecord) -> bool:
    """Whether a trial has a rate that is compared."""
    return record.ranked and record.kind in RANKED


def counts(record: TrialRecord) -> bool:
    """Whether a trial is one of those that a budget of trials allows."""
    return record.kind in COUNTED and is_conclusive(record)


def is_conclusive(record: TrialRecord) -> bool:
    """Whether a trial that does not run says something of its configuration.

    One that the user ended does not, nor one whose end was not seen because hpltune was killed.
    """
    return record.state is not TrialState.CANCELLED and record.ended_at is not None


_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_KEPT = 60
"""Letters of a name that a folder keeps where it cannot keep all."""


def study_folder(name: str) -> str:
    """What the folder of a study's runs, or of its best files, is called.

    A name of at most 100 letters, digits and _ . - stays as it is; in others, every other sign is an underscore, and a
    part of the name's hash, after a + that stands in no plain name, keeps studies apart. Trials store their folder, so
    those of a study that was begun under another rule are still found.
    """
    if _PLAIN.fullmatch(name):
        return name
    like = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:_KEPT].lstrip("-")
    return f"{like}+{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def trial_folder(runs: Path, study: str, number: int) -> Path:
    """Where a trial of a study runs, below the folder of all runs."""
    return runs / study_folder(study) / f"{number:05d}"


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
            f"{what or f'⟦{field}⟧'} needs a name of printable characters without / and #, at most {LONGEST} bytes "
            f"long, that begins with neither - nor ., not {name[:40]!r}"
            + ("; leave it out and the study is named after its space" if field == "study" and not what else ""),
            field=field,
        )


def legal_name(name: str) -> str:
    """A name that is like this one, and may be used."""
    kept = "".join(letter if letter.isprintable() and letter not in "/#" else "_" for letter in name)
    return kept.lstrip("-.").encode()[:LONGEST].decode(errors="ignore")


def is_shootout(study: Study) -> bool:
    """Whether a study compares libraries in rounds, as `hpltune blas` does."""
    return bool(study.options.get("shootout"))


def made_by(study: Study) -> str | None:
    """The command other than `tune` that made a study; None of one that was tuned or imported.

    It decides which studies a list leaves out, and which is meant where no name is given.
    """
    if study.notes.lesson:
        return "learn"
    if is_shootout(study):
        return "blas"
    if not study.space_text:
        return None if study.imported else "run"
    return "predict" if study.how == "simulated" and study.name.startswith("predict-") else None


def resuming(study: Study) -> str:
    """The command that goes on with a search of the user's own database."""
    return f"hpltune {'blas' if is_shootout(study) else 'tune'} ⟦resume⟧ ⟦study⟧ {shlex.quote(study.name)}"


def resume_command(name: str, store: Store) -> str:
    """The command that goes on with a study of a store, as it is printed."""
    return f"`{resuming(store.study(name))}{db_option(store)}`"


def newest_search(store: Store, purpose: str) -> Study:
    """The study created last by `tune`.

    Args:
        purpose: what it is wanted for, as the sentence has it: "to go on with".

    Raises:
        TunerError: there is none.
    """
    searches = [study for study in store.studies() if study.space_text and made_by(study) is None]
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
