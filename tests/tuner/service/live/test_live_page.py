"""The live page of a campaign, as a browser without JavaScript reads it."""

import re
from pathlib import Path
from typing import Any

import pytest
from explain_builders import keep, records, searched
from fastapi.testclient import TestClient
from live_watch import begin, end, trials
from record_builders import a_study
from waiting import until

from results.record import Invalidity, Kind, TrialState
from results.store.service.campaign_entry import CampaignOrder, QueueState
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from tuner.service.campaigns.logs import log_file
from tuner.service.pages.campaign.digest import CampaignTotals
from tuner.service.pages.campaign.live_page import differences
from tuner.user_dirs import UserDirs

PAGE = "/campaigns/study"
EVIL = "<script>alert(1)<"


def text_of(client: TestClient, address: str = PAGE) -> str:
    """The page without its marks."""
    answer = client.get(address)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text))


def test_a_running_trial_is_compared_with_the_best(store: Store) -> None:
    store.create_study(a_study())
    trials(store, 80.0)
    begin(store, key="other", params={"NB": 128, "grid": "1x2", "blas": "openblas"})

    digest = CampaignTotals()
    assert digest.read(store.lists, "study")
    best, running = store.records("study")
    assert ([one.number for one in digest.improvements], digest.running) == ([1], {2})
    assert differences(running, best, None) == ["NB 128 instead of 192"]


def test_only_new_trials_are_read_again(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    trials(store, 70.0)
    assert "Fastest full run: 70.00" in text_of(client)
    late = begin(store)
    trials(store, 75.0)
    until(lambda: "Fastest full run: 75.00 GFLOPS (rate at N=6,000), in trial 3" in text_of(client))
    end(store, late, 90.0)
    until(lambda: "Fastest full run: 90.00 GFLOPS (rate at N=6,000), in trial 2" in text_of(client))


@pytest.mark.heavy
def test_what_the_model_believes_comes_after_a_while(client: TestClient, store: Store) -> None:
    space = load("default", Machine(cores=2, memory_bytes=2**33, blas={"openblas": BlasFacts(("auto",))}, N=4000))
    known = records(space, lambda point: 80.0 if point["NB"] == 192 else 60.0, 30)
    keep(store, searched("default"), known)
    store.end_study("study", "complete")
    assert "The model is being asked" in text_of(client)
    until(lambda: "the best by the model has" in text_of(client))
    assert re.search(r"<tr><td>NB</td><td class=\"number\">\d+ %</td><td>192 \(\+", client.get(PAGE).text)


@pytest.mark.heavy
def test_a_value_that_did_not_run_is_neither_best_nor_worst(client: TestClient, store: Store) -> None:
    space = load("default", Machine(cores=2, memory_bytes=2**33, blas={"openblas": BlasFacts(("auto",))}, N=4000))
    known = records(space, lambda point: 80.0 if point["NB"] == 192 else 60.0, 60)
    keep(store, searched("default"), [record for record in known if record.params["NB"] in {128, 192}])
    store.end_study("study", "complete")
    until(lambda: "the best by the model has" in text_of(client))
    assert re.search(r"<td>NB</td><td class=\"number\">\d+ %</td><td>192 \([^<]*</td><td>128 \(", client.get(PAGE).text)


@pytest.mark.heavy
def test_why_nothing_can_be_explained_is_said(client: TestClient, store: Store) -> None:
    store.create_study(a_study(space_text=""))
    trials(store, 70.0)
    store.end_study("study", "complete")
    until(lambda: "there is nothing to explain." in text_of(client))


def test_names_that_are_html_stay_text(client: TestClient, store: Store) -> None:
    evil = {"NB": EVIL, EVIL: EVIL, "blas": EVIL}
    store.create_study(a_study(EVIL, host={"cpu_model": EVIL}))
    end(store, begin(store, EVIL, params=evil), 75.0, reason=EVIL)
    begin(store, EVIL, params=evil, kind=Kind.SEARCH)
    page = client.get("/campaigns/%3Cscript%3Ealert(1)%3C")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)&lt;" in page.text


def test_files_of_pages_may_be_kept_for_ever_and_change_their_names(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    addresses = re.findall(r'"(/assets/[^"]+)"', client.get(PAGE).text)
    assert len(addresses) >= 2
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert re.search(r"\.[0-9a-f]{16}\.(css|js)$", address)
    wrong = client.get("/assets/htmx.min.0000000000000000.js")
    assert (wrong.status_code, wrong.headers["cache-control"]) == (404, "no-store")


def test_a_campaign_whose_trials_all_failed_says_so_and_why(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    crashed: dict[str, Any] = {
        "state": TrialState.FAILED,
        "invalidity": Invalidity.RUNTIME,
        "reason": "/home/ada/xhpl: no licence",
    }
    for _ in range(2):
        end(store, begin(store), None, **crashed)
    store.end_study("study", "interrupted")
    page = text_of(client)
    assert "It failed: no trial succeeded." in page
    assert "HPL: all 2 trials failed" in page
    assert "hpltune show study 2" in page
    assert "…/xhpl: no licence" in page
    assert "It was interrupted" not in page
    assert '<span class="state failed">failed</span>' in client.get("/").text


def test_the_page_of_a_campaign_that_runs_ends_with_its_log_as_text(
    client: TestClient, store: Store, tmp_path: Path
) -> None:
    store.queue.add(CampaignOrder("study", "tune", {"kind": "tune"}, ("here",), "ada"))
    store.queue.claim("study")
    store.create_study(a_study())
    assert "What its process said last" not in text_of(client)
    log = log_file(store, UserDirs(tmp_path / "cache", tmp_path / "data"), "study")
    log.parent.mkdir(parents=True)
    lines = [f"line {number}" for number in range(40)]
    log.write_text("\n".join([*lines, f"{EVIL} in /home/ada/x", "long " * 1000]))
    until(lambda: "What its process said last" in text_of(client))
    page = client.get(PAGE).text
    assert "line 39" in page
    assert "line 20" not in page
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt; in …/x" in page
    assert "long " * 61 not in page
    store.queue.end("study", QueueState.DONE)
    until(lambda: "What its process said last" not in text_of(client))


@pytest.mark.heavy
def test_each_tab_is_sent_by_itself(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    trials(store, 70.0, 80.0)
    store.end_study("study", "complete")
    assert "The tuning, trial by trial" in text_of(client, f"{PAGE}/tabs/ranking")
    assert "Rpeak in GFLOPS" in text_of(client, f"{PAGE}/tabs/machine")
    assert client.get(f"{PAGE}/tabs/other").status_code == 422
    assert client.get("/campaigns/nobody/tabs/machine").status_code == 404
