"""Every command that a page shows is known, and runs as its reader would run it, at small size."""

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from as_user import Run, program
from doc_pages import PAGES, ROOT, Call, calls, check_words, page
from in_process import run_in_process
from replayed import replaying
from settings_builders import an_original
from vendor_programs import amd_zen_hpl, fake_gpus, hpcg, intel_hpl, nvidia_hpl

from hpl.build.simgrid import SimGrid
from results.store.store import Store

NOT_RUN = {
    "serve": "it serves until somebody ends it: tests/tuner/service starts it",
    "campaign-process": "a service starts it: tests/tuner/service/campaigns",
    "tune --objective mflops-per-watt --power-command": "it needs a meter: tests/tuner/trial/observers/energy",
    "tune --xhpl /workspace/hpl-mxp.sh": "it needs GPUs: tests/tuner/test_workloads.py",
    "tune --blas nvblas": "it needs a GPU: tests/tuner/test_nvblas.py",
    "plot front front -o front.pdf": "it draws a study of its page: tests/tuner/reports draws a front",
    "plot timeline default-1": "it draws a study of its page: tests/tuner/simulation draws a timeline",
    "show together 34": "it shows a trial of its page: tests/tuner/cli/test_commands.py shows one",
    "report size blocks": "it takes minutes: the call for two tests of these is run",
    "campaign": "it asks a service: tests/tuner/client",
    "--server": "it asks a service: tests/tuner/client",
    "test": "it runs these tests: tests/test_checks.py",
    "tune --container": "it needs an image: tests/runners/containers, tests/tuner/commands",
    "run HPL.dat --container": "it needs an image: tests/runners/containers, tests/tuner/commands",
}
"""How calls begin that are only looked at, and why."""
NAMES_NO_STUDY = {("compare",), ("compare", "--interleaved"), ("plot",)}
"""Calls in sentences that name a command alone."""
SERVED = "docs/service-client.md"
"""What this page shows asks a service: tests/tuner/client/test_served_commands.py."""
LACKS_A_WORD = {"MissingParameter", "BadOptionUsage", "ValueError"}
"""What typer raises where a word is not there that a command needs: sentences may leave it out."""
WORDS = (
    (r"STUDY|NAME…?|OLD", "default-1"),
    (r"NUMBER|TRIAL|K", "2"),
    (r"TAG…", "tag"),
    (r"SPACE", "default"),
    (r"TABLE|old-study\.csv|mine\.csv", "old.csv"),
    (r"FOLDER|results/|runs/", "old"),
    (r"OTHER\.db", "laptop.db"),
    (r"/mnt/other/hpltune\.db#(.*)", r"laptop.db#\1"),
    (r"hpl\.out|slurm-4711\.out", "old/HPL.out"),
    (r"postgresql://.*", "laptop.db"),
    (r"/var/lib/hpltune/nodes\.db", "nodes.db"),
    (r"/srv/hpl/data/best/long/HPL-full\.dat|best/HPL-full\.dat|HPL-full\.dat|one\.dat", "HPL.dat"),
    (r"(amd-zen=|)/opt/amd-zen-hpl.*/xhpl", r"\1amd/amd-zen-hpl-2024_10_08/xhpl"),
    (r"(intel=|)/opt/.*xhpl_intel64_dynamic", r"\1intel/xhpl_intel64_dynamic"),
    (r"/workspace/hpl\.sh", "nvidia/hpl.sh"),
    (r"~/hpcg/build/bin/xhpcg", "hpcg/xhpcg"),
    (r"NAME=FILE", "mine=xhpl"),
    (r"(benchmarks/landscapes/kronos\.json)", rf"{ROOT}/\1"),
)
"""What stands here for words of a page that mean something of the reader's."""


def meant(call: Call) -> list[str]:
    """The words of a call, each that means something of the reader's replaced by what is here."""
    file = {"run": "HPL.dat", "spaces": "my-space.toml"}.get(call.words[0], "my-cluster.toml")
    words = [file if word == "FILE" else word for word in call.words]
    for pattern, stand_in in WORDS:
        words = [re.sub(rf"^(?:{pattern})$", stand_in, word) for word in words]
    return words


def refusal(call: Call) -> Exception | None:
    """What typer raises of a call that it does not take."""
    try:
        check_words(meant(call))
    except Exception as error:  # noqa: BLE001 - what is wrong with words has many classes
        return error
    return None


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("home")
def test_no_call_on_a_page_has_a_word_that_hpltune_does_not_know(name: str) -> None:
    for call in calls(name):
        error = None if call.words[0] == "test" else refusal(call)
        lacks_a_word = not call.typed and type(error).__name__ in LACKS_A_WORD
        assert error is None or lacks_a_word, call


VIRTUAL = ("kronos", "infiniband64", "mine.toml", "model.toml", "noisy-kronos.toml")
"""Clusters that are simulated."""
SIMULATED = {
    call.words[call.words.index("--study") + 1]
    for name in PAGES
    for call in calls(name)
    if "--study" in call.words
    and "--cluster" in call.words
    and call.words[call.words.index("--cluster") + 1] in VIRTUAL
} | {"front", "predicted", "mine-1"}
"""Studies of the pages that were simulated."""
MADE = ("default-1", "default-2", "blas-1", "before", "first", "long", "run-HPL-1", "import-runs-1", "shared")
"""Studies of the pages that were not."""
SIMULATES = ("reproduce", "learn", "predict", "plot timeline")
COMPUTES = ("blas", "build", "calibrate", "scale", "nodes check", "doctor")
"""How calls begin that measure with real programs."""
REAL = r"openblas|netlib|--by blas|conditions"
"""What calls say that need a study of real HPL."""
SMALLER = {
    "tune": ("--trials", "2", "--confirm", "0"),
    "tune --resume": ("--trials", "14"),
    "scale --cluster": ("--n", "1000", "--nodes", "1,2", "--repeats", "1"),
    "learn kronos": ("--json",),
    "check": ("--runs", "2"),
    "reproduce": ("--trials", "0"),
    "predict": ("--trials", "1"),
    "setup": ("--dry-run",),
    "clean": ("--dry-run",),
    "study delete": ("--yes",),
    "tune --pareto": ("--power", "900", "--price", "2490", "--trials", "2", "--confirm", "0"),
    "report --as": ("--author", "Ada"),
}
"""Added to calls that begin so: a later option overrules an earlier one."""
BEFORE = {
    "token revoke ada": "token create ada --scope run",
    "token revoke default-1": "token create default-1 --scope run",
    "study tag default-1 new-switch --remove": "study tag default-1 new-switch",
    "study note default-1 --remove": "study note default-1 TEXT",
    "show --tag": "study tag default-1 new-switch tag",
}
"""What is run before calls that begin so."""


LOOKED_AT = {
    "nodes": "it needs a cluster: tests of the laboratories run such calls, in tests/tuner/commands",
    "real": "it measures with real programs: tests/tuner/cli/test_readme.py, and tests of each command",
}
"""Kinds of calls that are not run here, and why."""
CHOOSES = {"--xhpl", "--program", "--replay", "--cluster", "--blas", "--like", "--resume"}
"""Options that say what computes; where none of them is given, a program does that only prints."""


def longest(table: Mapping[str, object], words: Sequence[str]) -> str | None:
    """The longest key with which a line of words begins."""
    line = " ".join(words) + " "
    return max((key for key in table if line.startswith(f"{key} ")), key=len, default=None)


def runs(call: Call) -> bool:
    """Whether a call is run here, and not only looked at."""
    looked_at = longest(NOT_RUN, meant(call)) or call.words in NAMES_NO_STUDY or call.page == SERVED
    return not looked_at and refusal(call) is None


def after(words: Sequence[str], option: str) -> str:
    """What follows an option, or nothing where it is not there."""
    return dict(pairwise(words)).get(option, "")


def kind_of(call: Call) -> str:
    """What a call needs: nodes, a simulator, real programs, or nothing but what prints HPL's output."""
    cluster = after(call.words, "--cluster")
    if (cluster and cluster not in VIRTUAL) or "--hosts" in call.words:
        return "nodes"
    if cluster or longest(dict.fromkeys(SIMULATES), call.words) or SIMULATED & set(call.words):
        return "simulated"
    line = " ".join(call.words)
    return "real" if re.search(REAL, line) or longest(dict.fromkeys(COMPUTES), call.words) else "printed"


BUSY = "nodes check --facts"
"""What may find that the machine of these tests is busy."""
RUN = {" ".join(meant(call)): call for name in PAGES for call in calls(name) if runs(call)}
"""What is run, by what it is called here."""


def of_kind(kind: str) -> pytest.MarkDecorator:
    """All calls of a kind as the parameters of a test."""
    return pytest.mark.parametrize("line", [line for line, call in RUN.items() if kind_of(call) == kind])


def small(words: list[str]) -> list[str]:
    """The words of a call that does a small part of what the page's does."""
    more = list(SMALLER.get(longest(SMALLER, words) or "", ()))
    if set(VIRTUAL) & set(words):
        words = [re.sub(r"^N=.*", "N=2000", word) for word in words]
    if words[0] == "tune" and "--resume" not in words:
        words = [*words, "--study", "new"]
        size = "--replay" in words or any(re.match("N=|hpcg", word) for word in words)
        more += [] if size else ["--set", "N=1000"]
    if words[0] in {"tune", "run"} and not set(words) & CHOOSES:
        more += ["--xhpl", "xhpl"]
    return [*words, *more]


def run_as_shown(hpltune: Run, line: str) -> None:
    """Run a call, which may be refused only where the page shows how."""
    call = RUN[line]
    words = meant(call)
    if before := BEFORE.get(longest(BEFORE, words) or ""):
        assert hpltune(*before.split()).returncode == 0
    if "--forget" in words:
        with Store.open(Path("data/hpltune.db")) as store:
            store.network.remember([an_original(after(words, "--forget"))])
    if words[0] == "dat":
        Path("HPL.dat").unlink()
    done = hpltune(*small(words))
    said = done.stderr.strip().partition("hpltune: ")[2]
    verdict = words[0] in {"check", "nodes", "spaces"} and done.returncode in {1, 2, 3, 10, 11, 12} and not said
    assert done.returncode == 0 or verdict or (said and said in page(call.page)), (words, done.stdout, done.stderr)


PROGRAMS: Mapping[str, Callable[[Path], Path]] = {
    "amd": amd_zen_hpl,
    "intel": intel_hpl,
    "nvidia": nvidia_hpl,
    "hpcg": hpcg,
    "gpus": fake_gpus,
}
"""What stands here for the programs of vendors, each in a folder."""
STUDIES = {"studies": "name", "trials": "study", "outputs": "study"}
CHECKS = {"node_checks": "number", "node_check_runs": "node_check", "node_check_pairs": "node_check"}
"""Tables that say something of a study or a check, and the columns that name it."""


def copy_rows(database: Path, tables: Mapping[str, str], old: object, new: object) -> None:
    """Store a study or a check under another name, too, in place of what had that name."""
    with closing(sqlite3.connect(database)) as connection, connection:
        for table, key in tables.items():
            connection.execute(f"DELETE FROM {table} WHERE {key} = ?", (new,))  # noqa: S608
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            chosen = ", ".join("?" if name == key else f'"{name}"' for name in names)
            connection.execute(f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE {key} = ?", (new, old))  # noqa: S608


def shelf(
    folder: Path,
    lines: Sequence[str],
    copies: Sequence[tuple[Mapping[str, str], object, object]],
    before: Path | None = None,
) -> Path:
    """The database that some calls made, with copies of what they made; it is made once."""
    database = folder / "data/hpltune.db"
    if not (folder / "ready").exists():
        if before is not None:
            database.parent.mkdir(parents=True)
            shutil.copy(before, database)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HPLTUNE_DATA", str(folder / "data"))
            for line in lines:
                done = run_in_process(line.split(), folder)
                assert done.returncode == 0 or line == BUSY, done
        for copy in copies:
            copy_rows(database, *copy)
        (folder / "ready").touch()
    return database


@pytest.fixture
def reader(
    home: Path, prints_hpl: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of a reader who has done what came before on all pages, on this machine."""
    del prints_hpl
    folder = tmp_path_factory.getbasetemp() / "reader"
    folder.mkdir(exist_ok=True)
    for name in ("xhpl", "other"):
        replaying(folder, name=name, spread=0.03)
    programs = (
        "--program one=xhpl --program other=other --set program=one,other --set N=1000 --set layout=2x1 --price 2490"
    )
    lines = (
        "dat HPL.dat --N 1000 --ranks 2",
        "tune --xhpl xhpl --set N=1000 --set layout=2x1 --trials 12 --set NB=64,128 --confirm 1 --study plain",
        "export csv plain -o old.csv",
        f"tune {programs} --trials 6 --set NB=160,192 --confirm 1 --study after",
        f"tune {programs} --trials 12 --set NB=64,128 --confirm 1 --study made",
        BUSY,
        "nodes baseline 1",
    )
    checks = [(CHECKS, 1, number) for number in (2, 3, 12)]
    made = ((STUDIES, "made", name) for name in MADE)
    database = shelf(folder, lines, [*made, (STUDIES, "after", "stored-xhpl"), *checks])
    (home / "data").mkdir()
    shutil.copy(database, home / "data/hpltune.db")
    for name in ("laptop.db", "nodes.db"):
        shutil.copy(database, home / name)
    copy_rows(home / "laptop.db", STUDIES, "after", "default-1")
    with closing(sqlite3.connect(home / "data/hpltune.db")) as connection, connection:
        connection.execute("UPDATE node_checks SET cluster = 'my-cluster'")
        connection.execute("UPDATE node_checks SET checked_at = '2026-01-' || (10 + number) || 'T12:00:00+00:00'")
        connection.execute("UPDATE trials SET started_at = '2026-01-01' || substr(started_at, 11) WHERE number % 2")
    for name in ("HPL.dat", "old.csv"):
        shutil.copy(folder / name, home)
    (home / "my-space.toml").write_text("[parameters]\nNB = [64, 128]\nlayout = '2x1'\ngrid = '1x2'\n")
    for name, make in PROGRAMS.items():
        (home / name).mkdir()
        make(home / name)
    for name, text in {"numactl": 'shift\nexec "$@"', "upsc": "echo 900"}.items():
        program(home / "gpus" / name, f"#!/bin/sh\n{text}\n")
    monkeypatch.setenv("PATH", f"{home}/gpus:{os.environ['PATH']}")
    (home / "old").mkdir()
    shutil.copy(folder / "data/runs/made/00002/stdout", home / "old/HPL.out")
    return home


@pytest.fixture
def student(reader: Path, simgrid: SimGrid, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has also simulated what the pages simulate."""
    del simgrid
    folder = tmp_path_factory.getbasetemp() / "student"
    folder.mkdir(exist_ok=True)
    values = "--set N=1000,1500 --set NB=32,64 --set BCAST=1rg,2rM --set DEPTH=0,1 --set grid=2x4"
    values += " --set net.rx_usecs=117,0 --set net.mtu=1500,3000"
    tune = "tune --cluster kronos --space kronos-steps --engine random --trials 20 --confirm 0"
    line = f"{tune} {values} --study simulated"
    copies = [(STUDIES, "simulated", name) for name in sorted(SIMULATED - {"simulated"})]
    shutil.copy(shelf(folder, [line], copies, reader / "data/hpltune.db"), reader / "data/hpltune.db")
    for name in (name for name in VIRTUAL if name.endswith(".toml")):
        shutil.copy(ROOT / "runners/virtual/clusters/kronos.toml", reader / name)
    (reader / "designs.toml").write_text('base = "kronos"\n[[design]]\nname = "as it is"\n')
    return reader


@of_kind("printed")
@pytest.mark.heavy
@pytest.mark.usefixtures("reader")
def test_a_call_that_a_page_shows_is_not_refused(hpltune: Run, line: str) -> None:
    run_as_shown(hpltune, line)


@of_kind("simulated")
@pytest.mark.usefixtures("student")
def test_a_call_that_simulates_is_not_refused(hpltune: Run, line: str) -> None:
    run_as_shown(hpltune, line)


def test_a_call_is_run_or_a_table_says_why_it_is_only_looked_at() -> None:
    assert {kind_of(call) for call in RUN.values()} == {"printed", "simulated", *LOOKED_AT}
