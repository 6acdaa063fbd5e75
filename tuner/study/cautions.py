"""What a reader of a study's rates must know besides them: cautions that were told while it ran, kept with it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from results.errors import ResultsError
from results.record import Study, ToldCaution, TrialRecord
from results.stats.disturbed_runs import DisturbedRuns
from results.stats.headline import short_sentence
from results.stats.ranking import is_full_run
from results.store.store import Store

from ..events import CAUTION, OTHERS, Event, Listener, Notice, TrialEnded
from ..words import listed
from .machine_changes import change_sentences
from .shootout import SMALL_N, memory_n

if TYPE_CHECKING:
    from ..trial.workbench import Workbench

MOST_TOLD = 500
"""Letters of the names of lost nodes that are shown."""
RECOUNTED = 0.1
"""Once one was disturbed, runs are counted anew after each that makes them more by this part, and at the end."""
VIRTUAL = "this is a virtual machine: other programs on its host may cost GFLOPS, and nothing here shows them"


class CautionKeeper:
    """Passes events on to a listener, and keeps the cautions among them with the study; from any thread.

    Attributes:
        study: the one that has begun in this process; None before.
    """

    def __init__(self, listener: Listener, store: Store) -> None:
        self._listener = listener
        self._store = store
        self._lock = Lock()
        self.study: str | None = None
        self._waiting: dict[str, ToldCaution] = {}
        self._short_told = False
        self._runs = 0
        self._disturbed = False
        self._counted = 0

    def __call__(self, event: Event) -> None:
        """Pass an event on; of the first full run that is too short for HPL's clock there is a caution, too."""
        if isinstance(event, Notice) and event.caution:
            self.keep(event.text, event.about)
        self._listener(event)
        if isinstance(event, TrialEnded) and not self._short_told and is_too_short(event.record):
            self._short_told = True
            self(Notice(f"{short_sentence(event.record)}.", caution=True))
        if isinstance(event, TrialEnded):
            self._count(event.record)

    def _count(self, record: TrialRecord) -> None:
        with self._lock:
            self._runs += 1
            self._disturbed |= record.disturbed is not None
            due = self._disturbed and self._runs >= max(self._counted + 1, self._counted * (1 + RECOUNTED))
            self._counted = self._runs if due else self._counted
        if due:
            self.ended()

    def ended(self) -> None:
        """Keep with the study how many of its runs were disturbed; nothing where none was."""
        if self.study is not None and self._disturbed:
            with suppress(ResultsError):
                note_disturbed(self._store, self.study)

    def keep(self, caution: str, about: str = "") -> None:
        """Keep a caution, told or not; before the study has begun it waits for it."""
        with self._lock:
            told = ToldCaution(caution.rstrip("."), datetime.now(UTC), about)
            self._waiting.setdefault(told.text, told)
            self._store_waiting()

    def begun(self, study: str) -> None:
        """Say to which study all cautions of this process belong: those from before it began too."""
        with self._lock:
            self.study = study
            self._store_waiting()

    def _store_waiting(self) -> None:
        """Store what waits; where that fails now, as on a full disk, the next caution tries again."""
        if self.study is None or not self._waiting:
            return
        with suppress(ResultsError):
            note_cautions(self._store, self.study, self._waiting.values())
            self._waiting = {}


def note_cautions(store: Store, study: str, told: Iterable[ToldCaution]) -> None:
    """Keep cautions with a study; of those with the same words the last."""
    store.note(
        study,
        lambda notes: replace(notes, cautions=tuple({one.text: one for one in (*notes.cautions, *told)}.values())),
    )


def is_too_short(record: TrialRecord) -> bool:
    """Whether a trial is a full run whose rate HPL's clock cannot tell."""
    return is_full_run(record) and record.too_short


def note_short(store: Store, study: str) -> list[str]:
    """Keep with a study whose trials were not run here that one of them is too short, and say so."""
    short = next(filter(is_too_short, store.records(study)), None)
    if short is None:
        return []
    note_cautions(store, study, [ToldCaution(short_sentence(short), datetime.now(UTC))])
    return [f"{CAUTION}{short_sentence(short)}."]


def note_disturbed(store: Store, study: str) -> None:
    """Keep with a study how many of its runs were disturbed, and by what."""
    found = DisturbedRuns.of(store.records(study))
    if found.disturbed:
        store.note(study, lambda notes: replace(notes, disturbed=found.sentence().rstrip(".")))


def note_lost(store: Store, study: str, lost: Sequence[str], there: "Workbench") -> None:
    """Keep with a study which of its nodes were lost, in an earlier session too, and are not there."""
    here, left = (there.whole or there.site).node_names, len(there.site.node_names)
    if lost or store.study(study).notes.nodes_lost:
        store.note(
            study,
            lambda notes: replace(
                notes,
                nodes_lost=tuple(name for name in dict.fromkeys((*notes.nodes_lost, *lost)) if name not in here),
                nodes_left=left,
            ),
        )


def fewer_nodes(study: Study) -> list[str]:
    """The sentence on how many of its nodes a study went on, without its full stop; none where none was lost."""
    lost, left, count = study.notes.nodes_lost, study.notes.nodes_left, study.host.get("nodes")
    if not (lost and isinstance(count, int) and 0 < left < count):
        return []
    names = listed(lost)[:MOST_TOLD]
    return [f"the rates are on {left} of {count} nodes: {names} {'was' if len(lost) == 1 else 'were'} lost"]


def told_cautions(study: Study) -> dict[str, tuple[datetime | None, str]]:
    """Cautions that were told while a study ran, each with when, the first first; without full stops.

    They stand by what they are about, or by their own words; of those about the same there is the last.
    """
    told = sorted(study.notes.cautions, key=lambda one: one.at or study.created_at)
    return {one.about or one.text: (one.at, one.text) for one in told}


def cautions_of(study: Study) -> list[str]:
    """The sentences that stand wherever rates of a study are shown; none of a simulated one's machine."""
    return [f"Caution{_when(study, at)}: {text}." for at, text in _known(study)]


def _known(study: Study) -> list[tuple[datetime | None, str]]:
    """All cautions of a study, with when they were told; None for those that follow from its facts."""
    changes = [(None, text) for text in change_sentences(study.notes)]
    virtual = study.host.get("hypervisor") is True and not study.simulated
    told = told_cautions(study)
    at, wait = told.pop(OTHERS, (None, ""))
    others = "; ".join(filter(None, (study.notes.disturbed, wait)))
    disturbed = [(at, others)] if others else []
    cluster = study.options.get("cluster")
    model = cluster.get("caution") if study.simulated and isinstance(cluster, Mapping) else None
    follow = [*([VIRTUAL] if virtual else []), *([str(model).rstrip(".")] if model else [])]
    return [*disturbed, *told.values(), *changes, *((None, text) for text in (*fewer_nodes(study), *follow))]


def small_caution(study: Study, N: int) -> str | None:
    """The sentence that runs at N tell little of the machine's best rate; None where they do, or nobody knows."""
    whole = None if study.simulated else memory_n(study)
    if whole is None or SMALL_N * whole <= N or study.notes.small_n_told:
        return None
    return (
        f"{CAUTION}N={N:,} is small: the memory holds N={whole:,}, where the machine is faster and another "
        "configuration may be the best."
    )


def cautions_of_all(studies: Sequence[Study]) -> list[str]:
    """The cautions of several studies: each names its study."""
    if len(studies) == 1:
        return cautions_of(studies[0])
    return [
        f"Caution, study {study.name}{_when(study, at)}: {text}." for study in studies for at, text in _known(study)
    ]


def _when(study: Study, at: datetime | None) -> str:
    """The day on which a caution was told, where it is another than that on which its study began."""
    days = None if at is None else (at.astimezone().date(), study.created_at.astimezone().date())
    return f", told on {days[0]}" if days and days[0] != days[1] else ""
