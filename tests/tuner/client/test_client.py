"""`hpltune.client` against a real service and a real small campaign."""

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explain_builders import keep
from record_builders import a_study, finished
from replayed import OFFERED
from running_service import RunningService, service_in_thread
from waiting import PATIENCE_S

from results.store.store import Store
from tuner.client.client import Client
from tuner.client.problems import NoAnswerError, RefusedDocumentError, ServiceError
from tuner.client.server import Server
from tuner.errors import TunerError, UsageError
from tuner.messages.documents import document_of
from tuner.messages.live import CampaignEvent, TrialBegunEvent, TrialEndedEvent


def quick(**more: Any) -> dict[str, Any]:
    return {"program": OFFERED, "space": "quick", "set": {"N": [400], "NB": [32, 48]}, "confirm": 0, **more}


def _token(given: str | None = None) -> str | None:
    return Server.at("http://127.0.0.1", given).token


@pytest.fixture
def asking(home: Path) -> Iterator[Client]:
    """A client of a service in this process, which starts no campaigns."""
    with (
        Store.open(str(home / "data/hpltune.db")) as store,
        service_in_thread(store, home) as service,
        Client(str(service.client.base_url)) as client,
    ):
        yield client


@pytest.fixture
def client(service: RunningService) -> Iterator[Client]:
    with Client(str(service.client.base_url)) as client:
        yield client


@pytest.mark.usefixtures("mpirun")
def test_a_campaign_is_handed_in_watched_and_read(client: Client) -> None:
    campaign = client.tune(**quick(name="first", trials=2))
    events = list(campaign.events(everything=True))
    begun = [event.number for event in events if isinstance(event, TrialBegunEvent)]
    ended = [event for event in events if isinstance(event, TrialEndedEvent)]
    assert sorted(begun) == sorted(event.number for event in ended)
    last = events[-1]
    assert isinstance(last, CampaignEvent)
    assert (last.event, last.state) == ("campaign-ended", "complete")
    assert campaign.wait(timeout_s=PATIENCE_S).state == "complete"
    best, trials = campaign.best(), campaign.trials()
    assert best.ranking[0].expected_gflops > 0
    assert list(trials["number"]) == [record.number for record in campaign.records()]
    assert trials.loc[trials["rank"] == 1, "expected_gflops"].iloc[0] == pytest.approx(best.ranking[0].expected_gflops)
    assert "HPLinpack benchmark input file" in campaign.hpl_dat()
    assert campaign.hpl_dat(trial=best.ranking[0].trial) == campaign.hpl_dat()
    assert "T/V" in campaign.output(best.ranking[0].trial)
    assert campaign.report_html().startswith("<!DOCTYPE html>")
    assert [found.name for found in client.campaigns(name="FIR")] == ["first"]


@pytest.mark.usefixtures("mpirun")
def test_a_campaign_is_paused_resumed_and_cancelled(client: Client) -> None:
    ahead = client.tune(**quick(name="ahead", budget="30m"))
    behind = client.tune(**quick(name="behind", trials=1))
    assert behind.prioritize(-5).priority == -5
    assert behind.pause().wanted == "pause"
    assert [entry.name for entry in client.queue().paused] == ["behind"]
    assert behind.resume().state == "queued"
    behind.cancel()
    assert behind.wait(timeout_s=PATIENCE_S).in_queue == "cancelled"
    ahead.cancel()
    assert ahead.wait(timeout_s=PATIENCE_S).in_queue == "cancelled"


def test_a_wrong_document_is_refused_with_the_place_of_each_mistake(asking: Client) -> None:
    with pytest.raises(RefusedDocumentError, match=r"budget: .*write for example 90s") as refused:
        asking.tune(budget="5")
    assert [path for path, _ in refused.value.errors] == ["budget"]
    with pytest.raises(RefusedDocumentError, match=r"^trials: .*; seed: "):
        asking.tune(trials=0, seed=-1)
    with pytest.raises(RefusedDocumentError, match="spcae: "):
        asking.hand_in({"kind": "tune", "spcae": "quick"})


def test_a_campaign_that_is_not_there_is_told_in_a_sentence(asking: Client) -> None:
    with pytest.raises(ServiceError, match="There is no campaign nope that has begun: `show` lists all") as error:
        asking.campaign("nope").info()
    assert error.value.status == 404


def test_a_table_of_trials_has_the_cautions_of_an_export(asking: Client, home: Path) -> None:
    with Store.open(str(home / "data/hpltune.db")) as store:
        keep(store, a_study("one", host={"hypervisor": True}), [finished(1, study="one")])
    [cautions] = asking.campaign("one").trials()["cautions"]
    assert cautions.startswith("Caution: ")


def test_where_nobody_answers_the_error_says_so_at_once() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(NoAnswerError, match="does `hpltune serve` run there"):
        client.queue()


@pytest.mark.parametrize("url", ["localhost:8475", "ftp://host", "http://", "", "http://host/?a=b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is no address of a service: write one such as http"):
        Client(url)


def test_something_else_at_the_address_is_told() -> None:
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
        assert other.stdout is not None
        port = other.stdout.readline().split("port ")[1].split()[0]
        with (
            Client(f"http://127.0.0.1:{port}") as client,
            pytest.raises(ServiceError, match="is no service of hpltune"),
        ):
            client.queue()
        other.terminate()


def test_the_token_of_a_file_that_others_read_is_refused(home: Path) -> None:
    assert home
    file = Path(os.environ["HPLTUNE_DATA"]) / "token"
    file.parent.mkdir(parents=True)
    file.write_text("secret\n")
    file.chmod(0o640)
    with pytest.raises(UsageError, match="others may read the file of the token: chmod 600"):
        Server.at("http://127.0.0.1")
    file.chmod(0o600)
    assert _token() == "secret"


def test_the_variable_counts_before_the_file_and_the_argument_before_both(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home
    monkeypatch.setenv("HPLTUNE_TOKEN", "of-the-variable")
    assert _token() == "of-the-variable"
    assert _token("mine") == "mine"
    assert "mine" not in repr(Server.at("http://127.0.0.1", "mine"))


def test_words_and_documents_have_the_same_keys() -> None:
    assert {*inspect.signature(Client.tune).parameters, "kind"} - {"self"} == set(document_of("tune").model_fields)
    assert {*inspect.signature(Client.check).parameters, "kind"} - {"self"} == set(document_of("check").model_fields)


def test_the_client_imports_no_server() -> None:
    program = (
        "import sys; from hpltune.client import Client\n"
        "print({'fastapi', 'uvicorn', 'sqlalchemy', 'pandas', 'tuner.service'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd="/")
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


def test_only_a_process_that_is_gone_can_be_declared_dead(asking: Client) -> None:
    waits = asking.tune(name="waits", budget="30m")
    waits.pause()
    with pytest.raises(TunerError, match=r"(No process works on|which works on) campaign waits"):
        waits.declare_dead()
