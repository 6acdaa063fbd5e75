"""What commands tell of stored studies, letter by letter: `--update` writes the files that hold it."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from golden import hold, hold_scene, seen
from made_study import point
from record_builders import DISTURBED, a_study, begun, finished

from hpl.params import HplParams
from results.record import IMPORT, SIMULATOR, Invalidity, Kind, StudyNotes, TrialRecord, TrialState
from results.store.store import Store
from search_spaces.load import space_text
from tuner.options import TuneOptions

SIMULATED = {SIMULATOR: "SimGrid 4.0"}
NODES = {"nodes": 2, "physical_cores": 2, "memory_total_bytes": 2**37, "cpu_model": "AMD EPYC"}
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "disturbed": {},
    "cluster": {
        "host": NODES,
        "notes": StudyNotes(nodes_lost=("n2",), nodes_left=1),
        "rpeak_gflops": 3200.0,
        "space_name": "host",
    },
    "simulated": {"host": NODES, "versions": SIMULATED, "rpeak_gflops": 3200.0},
    "imported": {"engine": IMPORT, "options": {}, "space_name": "", "space_text": ""},
    "failures": {},
}
"""In what the studies differ from each other."""
NONE = {"gflops": None, "passed": None, "residual": None}
ENDS: dict[int, dict[str, Any]] = {
    2: {"state": TrialState.FAILED, "invalidity": Invalidity.RUNTIME, "reason": "rank 1 ended with code 139", **NONE},
    3: {
        "state": TrialState.FAILED,
        "invalidity": Invalidity.CORRECTNESS,
        "reason": "the residual FAILED",
        "passed": False,
    },
    4: {"state": TrialState.CANCELLED, "reason": "the run was cancelled", **NONE},
    5: {"measurements": {}},
    6: {"measurements": DISTURBED},
    7: {
        "state": TrialState.FAILED,
        "invalidity": Invalidity.TIMEOUT,
        "reason": "stopped at its time limit of 9 s",
        **NONE,
    },
}
"""What came of the runs of the study of failures that do not count, or not for sure."""
FACES = (
    *("show STUDY", "show STUDY --json", "show STUDY#1", "show STUDY#1 --json", "show STUDY#9", "best STUDY"),
    *(
        "best STUDY --json",
        "best STUDY --pareto usd-per-gflops",
        "compare STUDY --by NB",
        "compare STUDY --by NB --json",
    ),
    *("plot --study STUDY", "explain STUDY", "export csv STUDY", "export jsonl STUDY", "export md STUDY"),
    *("export dat STUDY", "export sheet STUDY"),
)
OF_ALL = ("show --all", "show --json", "compare plain cluster", "compare plain disturbed simulated --json", "best")


def trials(study: str) -> Iterator[TrialRecord]:
    """Four configurations with two runs each; of failures one run that counts, and one of each end."""
    rates = {(192, "openblas"): 70.0, (128, "openblas"): 64.0, (192, "blis"): 75.0, (128, "blis"): 61.0}
    common: dict[str, Any] = {"study": study, "output": "", "hpl_dat": ""}
    common |= (
        {"versions": SIMULATED, "measurements": {}}
        if study == "simulated"
        else {"measurements": {}}
        if study == "imported"
        else {}
    )
    common |= {"measurements": DISTURBED} if study == "disturbed" else {}
    for number, ((NB, blas), rate) in enumerate([*rates.items(), *rates.items()], 1):
        params = point(NB=NB, blas=blas, N=6000, **({"net.mtu": 15 * NB} if study == "cluster" else {}))
        kind = Kind.SEARCH if number <= len(rates) else Kind.CONFIRMATION
        hpl, gflops, key = HplParams(6000, NB, 1, 2), rate + 0.3 * (7 * number % 5 - 2), f"{NB}|{blas}"
        ended = ENDS.get(number, {}) if study == "failures" else {}
        yield finished(
            number,
            **{
                "gflops": gflops,
                "key": key,
                "params": params,
                "hpl": hpl,
                "blas": blas,
                "kind": kind,
                **common,
                **ended,
            },
        )


@pytest.fixture
def golden_db(home: Path) -> None:
    with Store.open(home / "golden.db") as store:
        for name, changes in STUDIES.items():
            store.create_study(
                a_study(name, **{"space_text": space_text("quick"), "options": TuneOptions().to_json(), **changes})
            )
            for record in trials(name):
                store.begin(begun(name, record.key, record.kind, params=record.params))
                store.finish(record)
            store.end_study(name, "complete")


BESIDE_STORE = {"known", "learn", "spaces", "dat"}
"""Commands without a database."""


def told(hpltune: Run, home: Path, words: str) -> str:
    ours = () if words.split(maxsplit=1)[0] in BESIDE_STORE else ("--db", "golden.db")
    done = hpltune(*shlex.split(words), *ours)
    said = words.replace("\x1b", "ESC")
    return f"$ hpltune {said}\n{done.stdout}{done.stderr}exit {done.returncode}\n".replace(str(home), "HOME")


@pytest.mark.usefixtures("golden_db")
@pytest.mark.parametrize("study", [*STUDIES, "all"])
def test_commands_tell_of_stored_studies_what_they_always_told(
    hpltune: Run, home: Path, study: str, request: pytest.FixtureRequest
) -> None:
    """A change of a letter here is meant: it has a reason in its commit."""
    faces = OF_ALL if study == "all" else [face.replace("STUDY", study) for face in FACES]
    hold(request, study, "\n".join(told(hpltune, home, face) for face in faces))


DIALOGUES = {
    "published results": (
        "known epyc 7763",
        "known raspberry",
        "known kronos --json",
        "known cray-1 abacus",
        "known --by price",
    ),
    "lessons": ("learn", "learn --json", "learn krons"),
    "reports to hand in": ("report --as krnos", "report --author Ada"),
    "points of a space": (
        *(f"spaces quick --explain {point}" for point in ("NB=64", "NB=63", "threshold=16", "threshold=16.0")),
        *(f"spaces quick --explain {point} --json" for point in ("NB=63", "colour=3")),
        *(f"spaces default --cores 2 --explain {point}" for point in ("layout=1x2", "grid=1x1", "grid=2x1")),
        *(f"spaces default --cores 2 --explain layout=1x2,grid={grid}" for grid in ("1x1", "1x2")),
    ),
    "notes and tags": (
        "study note plain 'before the <b>new</b> switch'",
        "study tag plain old-switch blis",
        *("study note plain --json", "show --tag blis", "show --tag blis --json", "show --tag nothing"),
        *("show plain", "study note plain --remove", "study tag plain blis old-switch --remove"),
    ),
    "what is no note or tag": (
        *(f"study tag plain {tags}" for tags in ("'two words'", "x" * 41, " ".join(map(str, range(21))))),
        *(f"study note plain {note}" for note in ("x" * 501, "'a\x1b[31mb'")),
    ),
    "numbers out of range": tuple(f"dat --nodes {number}" for number in ("0", "many", "2000000")),
    "studies that go on elsewhere": ("tune --resume --study plain --cluster kronos",),
}


@pytest.mark.usefixtures("golden_db")
@pytest.mark.parametrize("scene", DIALOGUES)
def test_commands_answer_one_after_the_other_as_they_did(
    hpltune: Run, home: Path, scene: str, request: pytest.FixtureRequest
) -> None:
    text = "\n".join(told(hpltune, home, words) for words in DIALOGUES[scene])
    hold_scene(request, "dialogues", DIALOGUES, scene, text)


@pytest.mark.usefixtures("golden_db")
@pytest.mark.parametrize("study", STUDIES)
def test_pages_of_stored_studies_show_what_they_always_showed(
    hpltune: Run, home: Path, study: str, request: pytest.FixtureRequest
) -> None:
    done = hpltune("report", study, "--db", "golden.db", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    hold(request, f"{study}.page", seen((home / "page.html").read_text()))
