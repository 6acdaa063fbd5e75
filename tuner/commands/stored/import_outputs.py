"""`hpltune import`: studies made of outputs that HPL printed without hpltune."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from results.errors import ResultsError
from results.printed_run import PrintedRun
from results.record import IMPORT, Study, StudyNotes, TrialRecord
from results.report.model import Report, Sentence
from results.store.store import Store

from ...errors import TunerError, UsageError
from ...options import TuneOptions
from ...study.cautions import note_short
from ...study.names import check_name, free_name
from ...trial.output_files import OutputFile, OutputFolder, folders_of, imported_record
from ...words import counted, listed

MAGIC = b"SQLite format 3\0"
"""How every SQLite file begins."""


@dataclass(frozen=True)
class CopiedStudy:
    """A study of the other database.

    Attributes:
        study: its name there; `stored_as` its name here.
        trials: how many were copied; 0 where the study was here before.
    """

    study: str
    stored_as: str
    trials: int


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def import_database(store: Store, path: Path) -> Report:
    """Copy each study that is not here, and report each; nothing of the other database is changed.

    That is so too where its schema is older.

    Raises:
        ResultsError: it is no database of hpltune, or one of a newer version.
        TunerError: it cannot be read.
    """
    if Path(store.place).resolve() == path.resolve():
        raise UsageError(f"{path} is the database that would be written: name another one")
    copied, known = [], []
    with _snapshot(path) as snapshot, Store.open(snapshot, create=False, keep=False) as other:
        here = store.imports.digests()
        taken = {study.name for study in store.studies()}
        for digest, name in other.imports.digests().items():
            if digest in here:
                known.append(CopiedStudy(name, here[digest], 0))
                continue
            new_name = free_name(store, name) if name in taken else name
            taken.add(new_name)
            copied.append(CopiedStudy(name, new_name, other.imports.copy_to(store.imports, name, new_name)))
    said = []
    for one in copied:
        name = f", called {one.stored_as} here because that name was taken" * (one.study != one.stored_as)
        said.append(f"Copied study {one.study} with {counted(one.trials, 'trial')}{name}.")
    if known:
        names = listed([one.study for one in known])
        said.append(f"{names}: here already with the same content, and not copied again.")
    if not said:
        said.append(f"{path} holds no study.")
    facts = {"copied": [asdict(one) for one in copied], "known": [asdict(one) for one in known]}
    return Report("Import", tuple(map(Sentence, said)), facts)


@contextmanager
def _snapshot(path: Path) -> Iterator[Path]:
    """Copy a database into a folder that lives as long as the block."""
    with TemporaryDirectory(prefix="hpltune-") as folder:
        copy = Path(folder) / "other.db"
        log = path.with_name(path.name + "-wal")
        try:
            if log.exists() and log.stat().st_size:
                address = f"file:{quote(str(path.resolve()))}?mode=ro"
                with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
                    source.backup(target)
            else:
                shutil.copyfile(path, copy)
        except (OSError, sqlite3.Error) as error:
            raise TunerError(f"{path} cannot be read: {error}") from error
        yield copy


@dataclass(frozen=True)
class UnprintedFacts:
    """What HPL does not print of a machine; "" and None where it is not known."""

    machine: str = ""
    blas: str = ""
    rpeak_gflops: float | None = None
    price_usd: float | None = None
    power_w: float | None = None


NO_FACTS = UnprintedFacts()
MOST_REASONS = 3
"""Of so many files a message says why they have no result."""
UNLIKE = 0.1
"""Runs of one configuration on one machine rarely differ by more."""


@dataclass(frozen=True)
class _FileResult:
    """A result in a file.

    Attributes:
        record: its trial, without study and number.
        place: as `LoggedResult.place`.
    """

    file: OutputFile
    record: TrialRecord
    run: PrintedRun
    place: tuple[int, int, int] | None

    @property
    def completeness(self) -> tuple[bool, bool, bool, bool]:
        """How much the output says of the run; of two that say as much, one that speaks for itself says more."""
        return *self.run.completeness, self.place is not None, self.record.ranked

    def same_as(self, other: "_FileResult") -> bool:
        """Whether both are of one run; a launch prints each of its runs once, in a table of its own."""
        dated = self.run.stamps is not None or other.run.stamps is not None
        if self.place and other.place and not dated and self.file.name == other.file.name:
            return self.place[:2] != other.place[:2] and self.run.same_as(other.run)
        return self.run.same_as(other.run)


@dataclass(frozen=True)
class ImportedStudy:
    """What a study got.

    Attributes:
        new: the study was made; else trials were added to it.
        records: the new trials.
        files: how many files they are from.
        remarks: what a reader must know of the files.
    """

    name: str
    new: bool
    records: Sequence[TrialRecord]
    files: int
    remarks: tuple[str, ...] = ()

    @property
    def counting(self) -> int:
        """How many of the new trials are ranked."""
        return sum(record.ranked for record in self.records)

    @property
    def sentences(self) -> list[str]:
        """What was stored, and what does not count and why."""
        of = f"{counted(len(self.records), 'result')} of {counted(self.files, 'file')}"
        counts = f"{self.counting:,} of them {'counts' if self.counting == 1 else 'count'}"
        done = f"Study {self.name} {'has' if self.new else 'got'} {of}; {counts}."
        if not self.records:
            done = f"Study {self.name} has the results of {counted(self.files, 'file')} already: nothing is new."
        why: dict[str, int] = {}
        for record in self.records:
            if record.reason:
                why[record.reason] = why.get(record.reason, 0) + 1
        return [done, *(f"{counted(count, 'result')}: {reason}." for reason, count in why.items()), *self.remarks]

    def to_json(self) -> dict[str, object]:
        """All of it for scripts."""
        return {
            "study": self.name,
            "new": self.new,
            "results": len(self.records),
            "counting": self.counting,
            "files": self.files,
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class ImportResult:
    """What was imported.

    Attributes:
        remarks: what was left out, and why.
    """

    studies: Sequence[ImportedStudy]
    remarks: tuple[str, ...]

    def report(self) -> Report:
        """Report each study, and what was left out."""
        said = [sentence for study in self.studies for sentence in study.sentences]
        said += self.remarks
        best = next((study.name for study in self.studies if study.counting), None)
        if best:
            said.append(f"`hpltune best {best}` ranks the configurations.")
        facts = {"studies": [study.to_json() for study in self.studies], "remarks": list(self.remarks)}
        return Report("Import", tuple(map(Sentence, said)), facts)


def import_outputs(
    store: Store, paths: Sequence[Path], facts: UnprintedFacts = NO_FACTS, name: str | None = None
) -> ImportResult:
    """Store the runs of files and folders, a study for each folder; no run is stored twice.

    Args:
        name: of the study; None for import-FOLDER-1. Of several folders each gets its own behind it.

    Raises:
        UsageError: a path cannot be read, or none of the files holds a result of HPL.
        ResultsError: a study cannot be written.
    """
    if name is not None:
        check_name(name)
    found = folders_of(paths)
    remarks = tuple(remark for folder in found for remark in folder.remarks)
    folders = [folder for folder in found if folder.files]
    if not folders:
        raise UsageError(_nothing(paths, remarks))
    studies: list[ImportedStudy] = []
    for folder in folders:
        before = frozenset(study.name for study in studies)
        studies.append(_stored(store, folder, before, facts, _asked_name(folder, name, len(folders))))
    return ImportResult(studies, remarks)


def _nothing(paths: Sequence[Path], remarks: Sequence[str]) -> str:
    nothing = f"{listed([str(path) for path in paths])}: no result of HPL is in there"
    if not remarks:
        return f"{nothing}; name a folder or file with HPL's standard output"
    said = list(remarks[:MOST_REASONS])
    if len(remarks) > MOST_REASONS:
        said.append(f"{counted(len(remarks) - MOST_REASONS, 'more file')} without a result.")
    return f"{nothing}. {' '.join(said)}".removesuffix(".")


def _stored(
    store: Store, folder: OutputFolder, before: frozenset[str], facts: UnprintedFacts, name: str | None
) -> ImportedStudy:
    """Store the new runs of a folder, in the study that has other runs of it, or in a new one.

    Args:
        before: the studies that the same import made of other folders.
        name: what the user calls the study; None where nothing was said.
    """
    results = [result for file in folder.files for result in _results(file, folder, facts)]
    runs = _each_once(results)
    anywhere = _having(runs, store.imports.known_runs())
    having = [[study for study in found if name is None or study in before | {name}] for found in anywhere]
    new = [run for run, studies in zip(runs, having, strict=True) if not studies]
    homes = list(dict.fromkeys(study for studies in having for study in studies))
    studies = {study.name: study for study in store.studies()}
    of_folder = [home for home in homes if studies[home].notes.imported_from == folder.name]
    if name is None or (not new and name not in homes):
        name = next(iter([*of_folder, *([] if new else homes)]), name)
    elsewhere = dict.fromkeys(study for found in anywhere for study in found if study not in homes)
    remarks = (
        *_stored_before(len(runs) - len(new), homes if new else ()),
        *(
            [f"Some of these runs are in {listed(list(elsewhere))}, too: what is said of both counts them twice."]
            if new and elsewhere
            else []
        ),
        *_repeats(results, runs),
        *folder.cautions,
        *_unlike(new),
    )
    records = [run.record for run in new]
    files = len({run.file.name for run in new})
    existing = studies.get(name) if name else None
    if existing is None:
        study = _study(name or free_name(store, f"import-{folder.name}"), folder, facts, records)
        store.imports.add(study, records)
        return ImportedStudy(study.name, True, records, files, (*remarks, *note_short(store, study.name)))
    if not existing.imported:
        raise ResultsError(f"study {name} exists already, and was not imported: choose another ⟦study⟧")
    store.imports.append(existing.name, records)
    unused = ("Its machine stays as it was first imported.",) if replace(facts, blas="") != NO_FACTS else ()
    remarks = (*remarks, *note_short(store, existing.name), *unused)
    return ImportedStudy(existing.name, False, records, files or len(folder.files), remarks)


def _results(file: OutputFile, folder: OutputFolder, facts: UnprintedFacts) -> list[_FileResult]:
    about = (file.name, file.sha256, file.changed_at)
    return [
        _FileResult(file, record, PrintedRun.of(record), logged.place)
        for logged in file.log.results
        if (record := imported_record(logged, folder.dat, facts.blas, about, facts.rpeak_gflops or 0.0))
    ]


def _each_once(results: Sequence[_FileResult]) -> list[_FileResult]:
    """Return each run once, from the output that says most of it, in the order of the outputs."""
    kept: dict[object, list[_FileResult]] = {}
    for result in sorted(results, key=lambda result: result.completeness, reverse=True):
        alike = kept.setdefault(result.run.row, [])
        if not any(map(result.same_as, alike)):
            alike.append(result)
    chosen = {id(result) for alike in kept.values() for result in alike}
    return [result for result in results if id(result) in chosen]


def _having(runs: Sequence[_FileResult], known: Mapping[str, Sequence[PrintedRun]]) -> list[list[str]]:
    """Return the studies that have each run; one that has only an extract without the residual does not have it."""
    found: dict[object, list[tuple[str, PrintedRun]]] = {}
    for study, stored in known.items():
        for run in stored:
            found.setdefault(run.row, []).append((study, run))
    return [
        list(
            dict.fromkeys(
                study
                for study, stored in found.get(result.run.row, ())
                if result.run.same_as(stored) and stored.checked >= result.run.checked
            )
        )
        for result in runs
    ]


def _unlike(runs: Sequence[_FileResult]) -> tuple[str, ...]:
    """Say which configuration gave rates so unlike that something else than chance parted them."""
    rates: dict[str, list[float]] = {}
    for run in runs:
        if run.record.ranked and run.record.gflops:
            rates.setdefault(run.record.key, []).append(run.record.gflops)
    furthest = max(rates.values(), key=lambda found: max(found) / min(found), default=[1.0])
    apart = max(furthest) / min(furthest) - 1
    if apart < UNLIKE:
        return ()
    same = f"{counted(len(furthest), 'run')} of one configuration differ by {apart:.1%}".replace("%", " %")
    return (f"{same}. HPL prints no machine, BLAS or number of threads: where these differ, import each alone.",)


def _stored_before(count: int, studies: Sequence[str]) -> tuple[str, ...]:
    """Say how many results are in studies already, where others are new."""
    if not count or not studies:
        return ()
    return (f"{counted(count, 'more result')} {'was' if count == 1 else 'were'} stored before, in {listed(studies)}.",)


def _repeats(results: Sequence[_FileResult], runs: Sequence[_FileResult]) -> tuple[str, ...]:
    """Say which results are left out because their run is printed elsewhere, too."""
    left = len(results) - len(runs)
    if not left:
        return ()
    kept = {id(run) for run in runs}
    files = counted(len({result.file.name for result in results if id(result) not in kept}), "file")
    what = f"{counted(left, 'result')} of {files} {'repeats a run that is' if left == 1 else 'repeat runs that are'}"
    undated = any(result.run.stamps is None for result in results if id(result) not in kept)
    apart = (
        " Where there are no time stamps, two runs that print the same figures cannot be told apart." if undated else ""
    )
    return (f"{what} printed elsewhere, too (same row, residual and time stamps): each run counts once.{apart}",)


def _asked_name(folder: OutputFolder, asked: str | None, folders: int) -> str | None:
    """What the user calls the study of a folder; None where nothing was said."""
    if asked is None or folders == 1:
        return asked
    name = f"{asked}-{folder.name}"
    check_name(name)
    return name


def _study(name: str, folder: OutputFolder, facts: UnprintedFacts, records: Sequence[TrialRecord]) -> Study:
    """A study without a search space, whose trials ran elsewhere."""
    programs = sorted({record.versions["hpl"] for record in records if "hpl" in record.versions})
    options = TuneOptions(rpeak_gflops=facts.rpeak_gflops, price_usd=facts.price_usd, power_w=facts.power_w)
    return Study(
        name=name,
        created_at=datetime.now(UTC),
        space_name=folder.name,
        space_text="",
        engine=IMPORT,
        options=options.to_json(),
        host={"cpu_model": facts.machine} if facts.machine else {},
        rpeak_gflops=facts.rpeak_gflops,
        price_usd=facts.price_usd,
        power_w=facts.power_w,
        versions={"hpl": ", ".join(programs)} if programs else {},
        state="complete",
        notes=StudyNotes(imported_from=folder.name),
    )
