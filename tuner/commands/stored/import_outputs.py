"""`hpltune import`: studies made of outputs that HPL printed without hpltune."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from results.errors import ResultsError
from results.record import IMPORT, Study, TrialRecord
from results.report.model import Report, Sentence
from results.store.store import Store

from ...errors import UsageError
from ...options import TuneOptions
from ...study.names import check_name, free_name
from ...trial.imported import imported_record
from ...trial.output_files import OutputFile, OutputFolder, folders_of
from ...words import counted, listed


@dataclass(frozen=True)
class UnprintedFacts:
    """What HPL does not print of a machine; "" and None where it is not known."""

    machine: str = ""
    blas: str = ""
    rpeak_gflops: float | None = None
    price_usd: float | None = None
    power_w: float | None = None


NO_FACTS = UnprintedFacts()


@dataclass(frozen=True)
class ImportRequest:
    """What to import.

    Attributes:
        paths: files with outputs of HPL, and folders that are searched for them.
        study: what the study is called; of several folders each name gets the folder's.
    """

    paths: tuple[Path, ...]
    facts: UnprintedFacts = NO_FACTS
    study: str | None = None


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
        done = f"Study {self.name} {'has' if self.new else 'got'} {of}; {self.counting:,} of them count."
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


def import_outputs(store: Store, request: ImportRequest) -> ImportResult:
    """Store the results of files and folders, a study for each folder; no result is stored twice.

    Raises:
        UsageError: a path cannot be read, or none of the files holds a result of HPL.
        ResultsError: a study cannot be written.
    """
    if request.study is not None:
        check_name(request.study)
    found = folders_of(request.paths)
    remarks = tuple(remark for folder in found for remark in folder.remarks)
    folders = [folder for folder in found if folder.files]
    if not folders:
        raise UsageError(_nothing(request.paths, remarks))
    known = store.imports.known_files()
    return ImportResult(
        [
            _stored(store, folder, known, request.facts, _asked_name(folder, request, len(folders)))
            for folder in folders
        ],
        remarks,
    )


def _nothing(paths: Sequence[Path], remarks: Sequence[str]) -> str:
    where = listed([str(path) for path in paths])
    why = f" ({remarks[0].rstrip('.')})" if remarks else ""
    return f"{where}: no result of HPL is in there{why}; name a folder or file with HPL's standard output"


def _stored(
    store: Store, folder: OutputFolder, known: Mapping[str, Sequence[str]], facts: UnprintedFacts, name: str | None
) -> ImportedStudy:
    """Store what is new of a folder, in the study that has other files of it, or in a new one.

    Args:
        known: names of the studies that have the results of a file, by its hash.
        name: what the user calls the study; None where nothing was said.
    """
    if name is None:
        having = [study for file in folder.files for study in known.get(file.sha256, ())]
        name, stored = having[0] if having else None, set(known)
    else:
        stored = {sha256 for sha256, studies in known.items() if name in studies}
    new = [file for file in folder.files if file.sha256 not in stored]
    records = [record for file in new for record in _records(file, folder, facts.blas)]
    existing = next((study for study in store.studies() if study.name == name), None)
    if existing is None:
        study = _study(name or free_name(store, f"import-{folder.name}"), folder, facts, records)
        store.imports.add(study, records)
        return ImportedStudy(study.name, True, records, len(new), folder.cautions)
    if not existing.imported:
        raise ResultsError(f"study {name} exists already, and was not imported: choose another --study")
    store.imports.append(existing.name, records)
    unused = ("Its machine stays as it was first imported.",) if replace(facts, blas="") != NO_FACTS else ()
    return ImportedStudy(existing.name, False, records, len(new or folder.files), (*folder.cautions, *unused))


def _asked_name(folder: OutputFolder, request: ImportRequest, folders: int) -> str | None:
    """What the user calls the study of a folder; None where nothing was said."""
    if request.study is None or folders == 1:
        return request.study
    name = f"{request.study}-{folder.name}"
    check_name(name)
    return name


def _records(file: OutputFile, folder: OutputFolder, blas: str) -> list[TrialRecord]:
    about = (file.name, file.sha256, file.changed_at)
    return [imported_record(logged, folder.dat, blas, about) for logged in file.log.results]


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
        host={"imported_from": folder.name, **({"cpu_model": facts.machine} if facts.machine else {})},
        rpeak_gflops=facts.rpeak_gflops,
        price_usd=facts.price_usd,
        power_w=facts.power_w,
        versions={"hpl": ", ".join(programs)} if programs else {},
        state="complete",
    )
