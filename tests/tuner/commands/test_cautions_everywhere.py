"""What speaks against the rates of a study stands wherever these rates are shown."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from as_user import Run
from record_builders import add_facts

from results.store.store import Store
from tuner.service.pages.campaign.explanations import Explanations
from tuner.service.pages.campaign.live_page import LivePage

BUSY = "the machine was busy in the last minute (load "
STUDIES = ("run-HPL-1", "run-HPL-2")


@pytest.fixture
def busy(hpltune: Run, home: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with two runs of a file, the first while other programs kept the machine busy."""
    hpltune("dat", "HPL.dat", "--N", "1000", "--ranks", "1")
    for load in (13.8, 0.0):
        (home / "system/proc").mkdir(parents=True, exist_ok=True)
        (home / "system/proc/loadavg").write_text(f"{load} 0.00 0.00 1/99 1\n")
        monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(home / "system"))
        done = hpltune.well("run", "HPL.dat", "--xhpl", str(prints_hpl), "--repeats", "2")
        assert (f"Caution: {BUSY}" in done.stdout) == (load > 0)
    return home / "data/hpltune.db"


def text_of(*command: str) -> Callable[[Run, Path], str]:
    def text(hpltune: Run, _home: Path) -> str:
        done = hpltune.well(*command)
        return " ".join(done.stdout.split())

    return text


def page_of(*command: str, option: str = "--html") -> Callable[[Run, Path], str]:
    def text(hpltune: Run, home: Path) -> str:
        hpltune.well(*command, option, "page.html")
        return (home / "page.html").read_text()

    return text


def parquet(hpltune: Run, home: Path) -> str:
    hpltune.well("export", "parquet", STUDIES[0], "-o", "study.parquet")
    table = pq.read_table(home / "study.parquet")
    assert all(BUSY in told for told in table.column("cautions").to_pylist())
    return str(table.schema.metadata[b"PANDAS_ATTRS"])


def campaign(_hpltune: Run, home: Path) -> str:
    place = home / "data/hpltune.db"
    explanations = Explanations(str(place))
    try:
        with Store.open(place) as store:
            return LivePage(store, home / "runs", STUDIES[0], explanations).parts().html["cautions"]
    finally:
        explanations.close()


SHOWN = {
    "best": text_of("best", STUDIES[0]),
    "best as JSON": text_of("best", STUDIES[0], "--json"),
    "best as a page": page_of("best", STUDIES[0]),
    "report": page_of("report", STUDIES[0], option="-o"),
    "compare": text_of("compare", *STUDIES),
    "compare as JSON": text_of("compare", *STUDIES, "--json"),
    "compare as a page": page_of("compare", *STUDIES),
    "check": text_of("check", "--baseline", STUDIES[0], "--tolerance", "50"),
    "check as a page": page_of("check", "--baseline", STUDIES[0], "--tolerance", "50"),
    "markdown": text_of("export", "md", STUDIES[0]),
    "CSV": text_of("export", "csv", STUDIES[0]),
    "JSON lines": text_of("export", "jsonl", STUDIES[0]),
    "sheet": text_of("export", "sheet", STUDIES[0]),
    "Parquet": parquet,
    "page of a campaign": campaign,
}


@pytest.mark.heavy
def test_a_caution_stands_wherever_the_rates_of_its_study_are_shown(hpltune: Run, home: Path, busy: Path) -> None:
    with Store.open(busy) as store:
        add_facts(store, STUDIES[0], {"hypervisor": True})
    for name, shown in SHOWN.items():
        text = shown(hpltune, home)
        assert BUSY in text, name
        if name not in {"check", "Parquet"}:
            assert "this is a virtual machine" in text, name


@pytest.mark.heavy
def test_that_a_run_was_too_short_for_hpls_clock_stands_there_too(hpltune: Run, home: Path, busy: Path) -> None:
    """HPL says that these runs took 0.01 s."""
    short = "trial 1 took 0.01 s, and HPL's clock cannot tell a rate of so short a run; choose a larger N"
    for name, shown in SHOWN.items():
        told = shown(hpltune, home).replace("&#39;", "'").replace("&#x27;", "'").replace("\\'", "'")
        assert short in told, name
    assert "That is no Rmax: trial 1 took 0.01 s" in text_of("best", STUDIES[0])(hpltune, home)
    assert busy.exists()


def test_the_runs_of_a_quiet_machine_have_no_caution_of_load(hpltune: Run, home: Path, busy: Path) -> None:
    assert "busy" not in text_of("best", STUDIES[1])(hpltune, home)
    rows = list(csv.DictReader(hpltune("export", "csv", STUDIES[1]).stdout.splitlines()))
    assert all("busy" not in row["cautions"] for row in rows)
    assert "busy" not in json.dumps(json.loads(hpltune("best", STUDIES[1], "--json").stdout)["cautions"])
    assert busy.exists()


def test_pages_say_host_machine_and_when_the_runs_were_made(hpltune: Run, home: Path, busy: Path) -> None:
    with Store.open(busy) as store:
        study = store.study(STUDIES[0])
        add_facts(store, STUDIES[0], {"sockets": 2, "threads_per_core": 2})
    page = page_of("report", STUDIES[0], option="-o")(hpltune, home)
    day = f"{study.created_at:%Y-%m-%d}"
    assert f"Measured on {study.host['hostname']}" in page
    assert f"runs made from {day}" in page
    for name in ("memory", "sockets", "NUMA nodes", "hardware threads of a core", "virtual machine"):
        assert f"<td>{name}</td>" in page, name
    for name in ("best", "compare"):
        shown = page_of(name, *(STUDIES if name == "compare" else STUDIES[:1]))(hpltune, home)
        assert str(study.host["cpu_model"]) in shown
        assert f"{STUDIES[0]} ({day})" in shown
