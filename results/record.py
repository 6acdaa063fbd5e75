"""The records of a study and of a trial, as frozen values with units in their names."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from hpl.output import SHORTEST_S, proves
from hpl.params import HplParams, Scalar
from hpl.workload import Workload, workload_named

from .disturbance import Conditions, Disturbance, judge_run
from .plain import time_text

WORKLOAD = "workload"
"""The fact of a host that names what the program of a study computes; studies of HPL lack it."""
SIMULATOR = "simulator"
"""The key of `versions` that only simulated and replayed studies and trials have."""
REPLAY_OF = "replay of "
"""What stands in place of a simulator's name, before that of a table, where trials are replayed."""
SIMULATED_TABLE = "table_simulated"
"""The fact of a host that the table which is replayed has the rates of a simulator."""
IMPORT = "import"
"""What stands in place of an engine in a study of imported outputs."""
IMPORTED_FROM, IMPORTED_SHA256 = "imported_from", "imported_sha256"
"""Keys of `versions` that only imported trials have: the file that HPL's output was in, and the hash of its content."""
StudyState = Literal["running", "complete", "interrupted"]
MEASURED = "measured"
"""The word for rates that a machine gave."""
IMPORTED = "imported"
"""The word for rates that an output of HPL tells, of a machine that hpltune did not see."""


def rates_of(versions: Mapping[str, str]) -> str:
    """How rates came about, in a word, from the versions of a trial: measured, imported, simulated or replayed."""
    if IMPORTED_FROM in versions:
        return IMPORTED
    if SIMULATOR not in versions:
        return MEASURED
    return "replayed" if str(versions[SIMULATOR]).startswith(REPLAY_OF) else "simulated"


def is_untouched(versions: Mapping[str, str]) -> bool:
    """Whether nothing else can have taken the machine: a simulator ran it, or a landscape (*.json) tells its runs.

    A landscape has the runs of a machine that did nothing else; of the rows of other tables nobody knows that.
    """
    simulator = str(versions.get(SIMULATOR, ""))
    return bool(simulator) and (simulator.lower().endswith(".json") or not simulator.startswith(REPLAY_OF))


class TrialState(StrEnum):
    """The state of a trial. It is RUNNING from before its launch until its outcome is committed."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Invalidity(StrEnum):
    """The stage at which a trial failed, in the words of the T4 results schema of autotuners."""

    CONSTRAINTS = "constraints"
    COMPILE = "compile"
    RUNTIME = "runtime"
    TIMEOUT = "timeout"
    CORRECTNESS = "correctness"


class Kind(StrEnum):
    """The purpose of a trial; only full runs at the study's N are ranked against each other.

    SEARCH: an engine asked for it. SMALL: an engine asked for it at a smaller N. PREFIX: an engine asked for its first
    columns only. GIVEN_UP: an engine asked for it, and it was stopped because it could not win. PILOT: a small run that
    shows how long runs take. REFERENCE: a repeated run during the search, which shows whether the machine changes.
    CONFIRMATION: a repeated run of a finalist. EXTRAPOLATION: one of the best, or the textbook, at another N, or
    its first columns there. RUN: the user's own HPL.dat. IMPORTED: HPL ran without hpltune, its output was imported.
    """

    SEARCH = "search"
    SMALL = "small"
    PREFIX = "prefix"
    GIVEN_UP = "given-up"
    PILOT = "pilot"
    REFERENCE = "reference"
    CONFIRMATION = "confirmation"
    EXTRAPOLATION = "extrapolation"
    RUN = "run"
    IMPORTED = "imported"


SMALLER_RUNS = frozenset({Kind.PILOT, Kind.EXTRAPOLATION, Kind.SMALL, Kind.PREFIX, Kind.GIVEN_UP})
"""Kinds that are less than a full run at the study's N: their GFLOPS cannot be compared with those of the rest."""


MOST_NOTED, MOST_TAGS = 500, 20
"""Characters of a note, and tags of a study."""
TAG_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""What a tag may be."""


@dataclass(frozen=True)
class ToldCaution:
    """A caution that was told while a study ran.

    Attributes:
        text: without its full stop.
        at: with its time zone; None where it is not known.
        about: what it is about: of those about the same the last counts; "" for what its own words say.
    """

    text: str
    at: datetime | None = None
    about: str = ""


@dataclass(frozen=True)
class StudyNotes:
    """What is noted of a study beside the facts of its machine; a new note is one line.

    `Store.note` changes them; of damaged ones what is whole is read.

    Attributes:
        note: what somebody wrote of it, at most `MOST_NOTED` characters.
        tags: words by which somebody finds it again, at most `MOST_TAGS`, in the order of letters.
        lesson: the lesson of which it is a step: no command takes such a study for the newest.
        like: whose launch the study of a file has, as STUDY#TRIAL.
        programs_of: the studies whose programs and libraries a comparison ran, where these differ.
        imported_from: the folder of its outputs.
        power_source: which measurement of the power counts; "" where none does.
        cautions: the first that was told first; each text once.
        disturbed: the sentence how many of its runs were disturbed, and by what.
        nodes_lost, nodes_left: nodes it went on without, the first first, and how many ran each trial then.
        noise_at_first: noise of runs before anything ran twice, as a standard deviation in logarithms.
        moved_during_search: largest relative change of a small run that was repeated; only older studies have it.
        machine_changes: of each reference configuration, by the number of its first run: its runs in the search, and
            the relative change that they showed, below 0 for slower; 0 for none.
        two_speeds_apart: how far two speeds are apart, in logarithms; 0 for one.
        small_n_told: the N of which was told that another library may win at the whole memory; 0 for none.
        all_tried: no configuration of its space is left.
        whole_memory: what was predicted of the whole memory, for `prediction_of`; empty for nothing.
        dgemm_half_nb: the NB at which dgemm has half its rate.
        dgemm_gflops_by_blas: the rate of dgemm of each library.
        cannot_have: values that cannot be had together on its nodes.
        lost_with: the settings of each launch that lost a node.
        simulated_opening: configurations that were simulated when it began, with their GFLOPS, the fastest first.
    """

    note: str = ""
    tags: tuple[str, ...] = ()
    lesson: str = ""
    like: str = ""
    programs_of: tuple[str, ...] = ()
    imported_from: str = ""
    power_source: str = ""
    cautions: tuple[ToldCaution, ...] = ()
    disturbed: str = ""
    nodes_lost: tuple[str, ...] = ()
    nodes_left: int = 0
    noise_at_first: float = 0.0
    moved_during_search: float = 0.0
    machine_changes: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    two_speeds_apart: float = 0.0
    small_n_told: int = 0
    all_tried: bool = False
    whole_memory: Mapping[str, object] = field(default_factory=dict)
    dgemm_half_nb: float | None = None
    dgemm_gflops_by_blas: Mapping[str, float] = field(default_factory=dict)
    cannot_have: tuple[Mapping[str, Scalar], ...] = ()
    lost_with: tuple[Mapping[str, Scalar], ...] = ()
    simulated_opening: tuple[tuple[Mapping[str, Scalar], float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Make what is noted a dictionary for JSON, without what is not."""
        nothing = asdict(StudyNotes())
        told = {name: value for name, value in asdict(self).items() if value != nothing[name]}
        return dict(json.loads(json.dumps(told, default=time_text)))


@dataclass(frozen=True)
class Study:
    """A study: the facts that are needed to continue or to repeat it.

    Attributes:
        name: unique within a store.
        created_at: with its time zone.
        space_name: the name of a shipped space, or the file of the space.
        space_text: the TOML text of the space.
        engine: name of the search engine.
        options: the user's choices (seed, budget, repeats, overrides …), as values for JSON.
        host: facts of the machine by name, with units in the names.
        rpeak_gflops: theoretical peak in GFLOPS, above 0, of the machine, or of one trial's nodes if several trials run
            at a time; None if not known.
        price_usd: price in US dollars, above 0, of the same hardware; None if not given.
        power_w: power under load in watts, above 0, of the same hardware; None if not given.
        versions: of hpltune, HPL, MPI, the compiler, Python and each BLAS.
        notes: what is noted of it while it is planned, runs, and later.
    """

    name: str
    created_at: datetime
    space_name: str
    space_text: str
    engine: str
    options: Mapping[str, object]
    host: Mapping[str, object]
    rpeak_gflops: float | None = None
    price_usd: float | None = None
    power_w: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    state: StudyState = "running"
    notes: StudyNotes = field(default_factory=StudyNotes)

    @property
    def workload(self) -> Workload:
        """What its program computes."""
        return workload_named(self.host.get(WORKLOAD))

    @property
    def simulated(self) -> bool:
        """Whether no machine ran its trials: a simulator did, or a table told what they gave."""
        return SIMULATOR in self.versions

    @property
    def replayed(self) -> bool:
        """Whether a table told what its trials gave."""
        return rates_of(self.versions) == "replayed"

    @property
    def table(self) -> str:
        """The name of the table that is replayed; "" where none is."""
        return self.versions[SIMULATOR].removeprefix(REPLAY_OF) if self.replayed else ""

    @property
    def how(self) -> str:
        """How its rates came about, in a word: measured, imported, simulated or replayed."""
        return IMPORTED if self.imported else rates_of(self.versions)

    @property
    def marked_name(self) -> str:
        """Its name, with "(simulated)" or "(replayed)" where no machine ran its trials, or with its workload."""
        if not self.workload.is_hpl:
            return f"{self.name} ({self.workload.title})"
        return f"{self.name} ({self.how})" if self.simulated else self.name

    @property
    def imported(self) -> bool:
        """Whether its trials were imported from outputs of HPL."""
        return self.engine == IMPORT


@dataclass(frozen=True)
class BlasObservation:
    """The BLAS that really ran, as the ranks reported it.

    Attributes:
        library: path of the mapped file.
        version: the library's version; "" where it does not tell.
        kernel: the set of kernels it chose; "" where it does not tell.
        threads: per rank, at least 1; None where the library does not tell.
        hosts: names of the hosts with ranks.
    """

    library: str
    version: str
    kernel: str
    threads: int | None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialRecord:
    """The record of a trial, one evaluation of one configuration. A repeat is another record with the same key.

    Attributes:
        study: name of the study it belongs to.
        number: its number in the study, from 1; 0 before the store has given it one.
        params: the complete configuration in the words of the space.
        key: identity of the configuration; points that make HPL run the same instructions share it.
        started_at, ended_at: with their time zone; the end is None while it runs, or if nobody saw it.
        invalidity: the stage that failed; None unless the state is FAILED.
        reason: the sentence why it does not count; "" if it counts.
        hpl: HPL's parameters; None if the trial failed before it had them, if an imported output does not tell all, and
            in studies of another workload.
        blas, kernel: the BLAS and the kernel that were asked for; `observed` says what ran.
        ranks: MPI ranks, at least 1.
        threads: per rank, at least 1.
        time_s: HPL's own time of the solve in seconds; of a stopped one the seconds until then.
        gflops: HPL's own rate in GFLOPS; it is kept even if the residual FAILED, but never ranked then.
        part: its part of a full run: n / N of a small run, the part of the columns of a stopped one, else 1.
        session: number of its session of the study, from 0.
        measurements: what observers measured while it ran, by a name with its unit; empty where nothing was measured.
        residual, passed: HPL's check, the residual without a unit; None if the run ended before.
        command: the command line, quoted for a shell.
        directory: the folder of the run's files.
        hpl_dat: the file that runs this trial alone; in a shared launch HPL read one with more values.
        output, errors_text: HPL's output, and standard error of all ranks; "" unless asked for, like `hpl_dat`.
        cost_s: wall seconds from launch to the end of the process tree; where trials shared a launch, HPL's
            time of this one and an equal part of the rest.
        xhpl_key: identity of the program.
        versions: versions that differ from those of the study.
    """

    study: str
    number: int
    kind: Kind
    state: TrialState
    params: Mapping[str, Scalar]
    key: str
    started_at: datetime
    invalidity: Invalidity | None = None
    reason: str = ""
    hpl: HplParams | None = None
    blas: str = ""
    kernel: str = ""
    ranks: int | None = None
    threads: int | None = None
    time_s: float | None = None
    gflops: float | None = None
    residual: float | None = None
    passed: bool | None = None
    observed: BlasObservation | None = None
    command: str = ""
    directory: str = ""
    hpl_dat: str = ""
    output: str = ""
    errors_text: str = ""
    ended_at: datetime | None = None
    cost_s: float | None = None
    xhpl_key: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    part: float = 1.0
    session: int = 0
    measurements: Mapping[str, float] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Whether no machine ran it: nothing was computed, and there need not be a residual."""
        return SIMULATOR in self.versions

    @property
    def rates(self) -> str:
        """How its rate came about, in a word: measured, imported, simulated or replayed."""
        return rates_of(self.versions)

    @property
    def ranked(self) -> bool:
        """Whether its GFLOPS count: a run whose residual passed and is small, or a simulated or replayed one."""
        checked = self.passed and proves(self.residual, scaled=self.hpl is not None)
        if self.state is not TrialState.COMPLETE or not (checked or self.simulated):
            return False
        return self.gflops is not None and math.isfinite(self.gflops) and self.gflops > 0

    @cached_property
    def _conditions(self) -> tuple[Conditions, Disturbance | None]:
        hosts = len(self.observed.hosts) if self.observed else 0
        return judge_run(self.measurements, self.ranks, self.threads, hosts, untouched=is_untouched(self.versions))

    @property
    def conditions(self) -> Conditions:
        """Whether something else took the machine from it.

        A simulated run had no machine that anything could take. Of all other runs during which nothing was measured,
        or of which a table does not tell it, it is not known.
        """
        return self._conditions[0]

    @property
    def known_start(self) -> datetime | None:
        """When it started; None of an import whose output does not tell it, which has the time of its file."""
        return None if self.kind is Kind.IMPORTED and self.ended_at is None else self.started_at

    @property
    def undisturbed(self) -> bool:
        """Whether it is known that nothing took the machine from it."""
        return self.conditions is Conditions.UNDISTURBED

    @property
    def disturbed(self) -> Disturbance | None:
        """What took the machine from it while it ran; None unless it is known to be disturbed."""
        return self._conditions[1]

    @property
    def too_short(self) -> bool:
        """Whether it was measured, and took so little time that HPL's clock cannot tell its rate."""
        return not self.simulated and self.time_s is not None and self.time_s < SHORTEST_S
