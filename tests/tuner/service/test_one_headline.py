"""Every place that tells the rates of a study tells the same, in the same words.

The study is noisy: its fastest run is a lucky one of a configuration that is not no. 1.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from explain_builders import keep
from fastapi.testclient import TestClient
from golden import hold_scene
from live_watch import watched
from record_builders import a_study, finished
from service_client import served

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.record import Kind, StudyNotes, ToldCaution, TrialRecord
from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState
from results.store.store import Store
from tuner.commands.campaigns.run import baseline_of
from tuner.service.notification_text import text_of

RUNS = (
    (192, 60.0), (128, 62.8), (96, 50.0), (192, 61.5), (128, 58.6), (192, 59.0), (128, 59.2),
    (192, 60.5), (128, 59.5), (192, 61.0),
)  # fmt: skip
"""NB and rate of each trial: 192 is no. 1, and trial 2 of NB 128 is the fastest run."""
WILD_RUNS = (
    (192, 60.0), (128, 65.8), (96, 50.0), (192, 61.5), (128, 52.0), (192, 59.0), (128, 53.0),
    (192, 60.5), (128, 54.0), (192, 61.0),
)  # fmt: skip
"""The same, but runs of NB 128 differ by far more than 5 %."""
FASTEST, TRIAL, PLACE = "62.80", 2, 2
MEDIAN, ENDS = "60.50", ("59.00", "61.50")
HOST = {"cpu_model": "AMD EPYC", "physical_cores": 2, "memory_available_bytes": 2**29}
"""Of 512 MiB a matrix of N = 6,000 takes 54 %."""


def trial(number: int, NB: int, gflops: float, study: str = "noisy") -> TrialRecord:
    hpl = HplParams(6000, NB, 1, 2)
    params = {"N": 6000, "NB": NB, "grid": "1x2", "blas": "openblas"}
    kind = Kind.SEARCH if number <= 3 else Kind.CONFIRMATION
    record = finished(number, gflops, study, key=str(NB), params=params, hpl=hpl, kind=kind, observed=None)
    return replace(record, hpl_dat=render(HplDat.of(hpl)), command=f"mpirun -np 2 xhpl # NB {NB}")


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """The user's own database, with the noisy study."""
    with Store.open(home / "data/hpltune.db") as opened:
        opened.queue.add(CampaignOrder("noisy", "tune", {}, ("node-1",), "ada"))
        opened.queue.claim("noisy")
        opened.queue.end("noisy", QueueState.DONE, "")
        trials = [trial(place, *run) for place, run in enumerate(RUNS, start=1)]
        keep(opened, a_study("noisy", space_text="", host=HOST), trials)
        opened.end_study("noisy", "complete")
        yield opened


@pytest.fixture
def client(home: Path, store: Store) -> Iterator[TestClient]:
    with served(store, home) as asked:
        yield asked


@pytest.fixture
def expected(store: Store, hpltune: Run) -> tuple[float, float, float]:
    """What one more run of no. 1 should give, between which rates, as `best --json` tells it."""
    assert store.count("noisy") == len(RUNS)
    first = json.loads(hpltune("best", "noisy", "--json").stdout)["ranking"][0]
    low, high = first["interval_gflops"]
    return first["expected_gflops"], low, high


@pytest.fixture
def wild(store: Store) -> str:
    """A study of which no confidence can be told."""
    trials = [trial(place, *run, study="wild") for place, run in enumerate(WILD_RUNS, start=1)]
    keep(store, a_study("wild", space_text="", host=HOST), trials)
    store.end_study("wild", "complete")
    return "wild"


def words(text: str) -> str:
    """Text of a terminal or a page, on one line, without marks."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", text)))


FACES = ("best NAME", "best NAME --json", "export md NAME", "export sheet NAME --json", "show --all", "show --json")


@pytest.mark.parametrize("study", ["noisy", "wild"])
def test_the_command_line_tells_one_fastest_run_one_median_and_one_expectation(
    hpltune: Run, store: Store, wild: str, study: str, request: pytest.FixtureRequest
) -> None:
    said = [hpltune(*face.replace("NAME", study).split()).stdout for face in FACES]
    hold_scene(request, "headlines", ["noisy", wild], study, "\n".join(said))
    assert sorted(baseline_of(store, study).gflops)[2] == float(MEDIAN)


@pytest.mark.heavy
def test_the_service_tells_the_same(client: TestClient, store: Store, expected: tuple[float, float, float]) -> None:
    rate, low, high = (f"{figure:.2f}" for figure in expected)
    usual = f"{rate} ({low} to {high})"
    api = "/api/v1/campaigns"
    rates = {
        "fastest_gflops": 62.8,
        "fastest_trial": TRIAL,
        "fastest_called": "Rmax",
        "best_gflops": expected[0],
        "expected_gflops": expected[0],
        "interval_gflops": list(expected[1:]),
        "median_gflops": 60.5,
        "runs": 5,
    }
    for one in (client.get(f"{api}/noisy").json(), client.get(api).json()["campaigns"][0]):
        assert {name: one[name] for name in rates} == rates

    best = client.get(f"{api}/noisy/best").json()
    assert (best["fastest_run"]["gflops"], best["fastest_run"]["trial"]) == (62.8, TRIAL)
    assert (best["ranking"][0]["median_gflops"], best["ranking"][0]["expected_gflops"]) == (60.5, expected[0])
    printed: dict[str, Any] = client.get("/api/v1/printed/campaigns/noisy/best").json()
    assert f"Rmax, the fastest full run, is {FASTEST} GFLOPS: trial {TRIAL}" in json.dumps(printed)

    low, high = (f"{end:.2f}" for end in expected[1:])
    assert f"Rmax, the fastest full run, is {FASTEST} GFLOPS: trial {TRIAL}, of no. {PLACE}." in message(store)
    assert f"expected to give {expected[0]:.2f} GFLOPS; its usual rate is between {low} and {high}" in message(store)

    (event,) = watched(client, f"{api}/noisy/events")[-1:]
    assert (event.data["fastest_gflops"], event.data["fastest_trial"]) == (62.8, TRIAL)

    page = words(client.get("/campaigns/noisy").text)
    assert f"Fastest full run: {FASTEST} GFLOPS (Rmax), in trial {TRIAL}." in page
    for place in (page, words(client.get(f"{api}/noisy/report.html").text)):
        assert re.search(rf"{rate} GFLOPS expected of one more run of the best configuration", place)
        assert f"usually {low} to {high} with 95 % probability" in place
        assert f"measured of the best {MEDIAN} GFLOPS, the median of 5 runs, {' to '.join(ENDS)}" in place
        assert f"Rmax {FASTEST} GFLOPS, trial {TRIAL}, of no. {PLACE}." in place
        assert "runs 10 full runs of 3 configurations" in place
    assert f"{FASTEST} {usual}" in words(client.get("/board").text)


REPLAYED = {"versions": {"simulator": "replay of mine.csv"}}
SLOW = ToldCaution("the folder /srv/hpl/work is slow", datetime(2026, 11, 26, 8, tzinfo=UTC))
WARNED = {"host": {**HOST, "hypervisor": True}, "notes": StudyNotes(cautions=(SLOW,))}
PEAK = {"rpeak_gflops": 55.0}


def known(facts: Any) -> Any:
    """Facts without those of which nothing is known."""
    if isinstance(facts, dict):
        return {name: known(value) for name, value in facts.items() if value is not None}
    return [known(value) for value in facts] if isinstance(facts, list) else facts


@pytest.mark.heavy
@pytest.mark.parametrize("changes", [{}, REPLAYED, WARNED, PEAK], ids=["plain", "replayed", "warned", "above peak"])
@pytest.mark.parametrize("runs", [RUNS, WILD_RUNS], ids=["noisy", "wild"])
def test_the_api_tells_all_that_best_tells_to_scripts(
    client: TestClient, store: Store, hpltune: Run, changes: dict[str, Any], runs: tuple[tuple[int, float], ...]
) -> None:
    trials = [trial(place, *run, "other") for place, run in enumerate(runs, start=1)]
    trials = [replace(one, params={**one.params, "blas": "blis"}) if one.key == "128" else one for one in trials]
    keep(store, a_study("other", **{"space_text": "", "host": HOST, **changes}), trials)
    facts = json.loads(hpltune("best", "other", "--json").stdout.replace("/srv/hpl/work", "…/work"))
    told = client.get("/api/v1/campaigns/other/best").json()
    assert known(told) == {**known(facts), "campaign": "other"}
    assert (len(told["by_blas"]), told["rates"]) == (2, "replayed" if changes is REPLAYED else "measured")
    assert ("confidence_not_told" in known(told)) == (runs is WILD_RUNS)
    assert bool(told["cautions"]) == (changes is WARNED)


def test_lists_and_messages_say_how_rates_came_about(client: TestClient, store: Store) -> None:
    told = [client.get("/api/v1/campaigns/noisy").json(), client.get("/api/v1/campaigns").json()["campaigns"][0]]
    assert [one["rates"] for one in told] == ["measured"] * 2
    assert "Rates: measured\n" in message(store)
    trials = [trial(place, *run, "other") for place, run in enumerate(RUNS, start=1)]
    keep(store, a_study("other", space_text="", host=HOST, **REPLAYED), trials)
    store.end_study("other", "complete")
    assert client.get("/api/v1/campaigns/other").json()["rates"] == "replayed"
    page = words(client.get("/campaigns/other").text)
    assert "replayed of the best" in page
    assert "easured" not in page


def test_where_no_confidence_can_be_told_every_place_has_the_ends_of_the_runs_and_none_an_interval(
    hpltune: Run, home: Path, client: TestClient, wild: str
) -> None:
    ends = f"its 5 runs gave {' to '.join(ENDS)}, slowest to fastest"
    said = [hpltune("best", wild).stdout, hpltune("export", "md", wild).stdout]
    assert hpltune("report", wild, "--out", "page.html", "--static").returncode == 0
    said.append((home / "page.html").read_text())
    for text in map(words, said):
        assert ends in text
        assert "95 % interval" not in text
        assert "95 % probability" not in text

    api = f"/api/v1/campaigns/{wild}"
    assert client.get(api).json()["interval_gflops"] is None
    ranking = client.get(f"{api}/best").json()["ranking"]
    assert [entry["interval_gflops"] for entry in ranking] == [None] * 3
    assert (ranking[0]["slowest_gflops"], ranking[0]["fastest_gflops"]) == tuple(map(float, ENDS))
    page, board = words(client.get(f"/campaigns/{wild}").text), words(client.get("/board").text)
    for text in (page, board):
        assert f"(runs gave {' to '.join(ENDS)})" in text
    assert "95 % probability" not in page


def test_the_files_of_the_best_are_those_of_the_configuration_that_the_page_shows(client: TestClient) -> None:
    page = client.get("/campaigns/noisy").text
    shown = re.search(r"<td>NB</td><td>(\d+)</td>", page)
    assert shown is not None
    assert shown[1] == "192"
    assert re.search(r"^192 +NBs$", client.get("/api/v1/campaigns/noisy/HPL.dat").text, re.MULTILINE)
    assert "# NB 192" in client.get("/api/v1/campaigns/noisy/command.sh").text


def message(store: Store) -> str:
    """What a notification says when the campaign has ended."""
    entry = store.queue.find("noisy")
    assert isinstance(entry, CampaignEntry)
    return text_of(store, entry, "done", None)[1]
