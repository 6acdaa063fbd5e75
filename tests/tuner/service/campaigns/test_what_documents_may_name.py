"""A document asks for nothing of the machine that the operator has not offered, at any door and of any kind."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from present import present
from record_builders import a_study, begun, finished
from service_client import served

from results.record import Study
from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState
from results.store.store import Store
from runners.settings.registry import SETTINGS
from search_spaces.load import entries, shipped, space_text
from search_spaces.parameters.dimension import DIMENSIONS
from tuner.asks.field import OFFERED, fields_of
from tuner.asks.registry import ASKS
from tuner.messages.documents import document_of
from tuner.options import TuneOptions
from tuner.service.campaigns.dispatcher import environment_of
from tuner.service.campaigns.kinds.registry import KINDS
from tuner.service.campaigns.offered import Offers
from tuner.service.campaigns.offered_things import OF_HPL
from tuner.service.campaigns.process import ProcessRequest, work_on
from tuner.service.config import OffersTable, ServiceConfig
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

REFUSED = "the service lets no document set this parameter: who runs it may name it in `parameters` of [offers]"
VARIABLES = (
    "HOME PATH GCONV_PATH HWLOC_PLUGINS_PATH OPAL_PREFIX BASH_ENV OMP_TOOL_LIBRARIES PYTHONPATH TMPDIR A_NEW_ONE"
)
OTHERS = ["mpi.btl", "program.anything", *(f"env.{name}" for name in VARIABLES.split())]
ALL = sorted({*SETTINGS, *OTHERS} - {"env.NAME"})
"""Every parameter of a space that is not of HPL, and some of families that take any name."""
SEARCHES = ({"kind": "tune", "space": "quick"}, {"kind": "blas", "space": "blas"})
Door = Callable[[TestClient, dict[str, Any]], str]


def sent(address: str) -> Door:
    def send(client: TestClient, document: dict[str, Any]) -> str:
        answer = client.post(address, json=document)
        assert answer.status_code == 422, answer.text
        return answer.text

    return send


def cloned(client: TestClient, document: dict[str, Any]) -> str:
    plain = {key: value for key, value in document.items() if key != "set"}
    name = client.post("/api/v1/campaigns", json=plain).json()["name"]
    client.post(f"/api/v1/campaigns/{name}/cancel")
    return sent(f"/api/v1/campaigns/{name}/clone")(client, document)


def filled_in(address: str) -> Door:
    def send(client: TestClient, document: dict[str, Any]) -> str:
        token = present(re.search(r'name="form_token" value="([^"]+)"', client.get("/new").text))
        lines = "\n".join(f"{name} = {value}" for name, value in document["set"].items())
        fields = {"form_token": token[1], "space": document["space"], "set": lines, "trials": "1"}
        return unescape(client.post(address, data=fields).text)

    return send


API = {"documents": sent("/api/v1/campaigns"), "previews": sent("/api/v1/previews"), "clones": cloned}
FORMS = {"the form": filled_in("/new"), "its preview": filled_in("/new/preview")}


@pytest.mark.parametrize(
    ("door", "document"),
    [
        *((door, document) for document in SEARCHES for door in API.values()),
        *((door, SEARCHES[0]) for door in FORMS.values()),
    ],
    ids=[*(f"{name} {document['kind']}" for document in SEARCHES for name in API), *FORMS],
)
def test_no_door_takes_a_parameter_that_nobody_offered(
    client: TestClient, door: Door, document: dict[str, Any]
) -> None:
    for name in ALL:
        told = door(client, {**document, "set": {name: "1"}})
        assert REFUSED in told, name
        assert name in told


def test_a_parameter_of_a_new_kind_is_refused_until_somebody_decides() -> None:
    assert DIMENSIONS.keys() == OF_HPL, "decide whether documents may set it: OF_HPL of offered_things.py"


def test_what_the_operator_offers_may_be_set(tmp_path: Path, store: Store) -> None:
    offers = OffersTable(parameters=("env.OMP_PLACES", "sys.omp_wait"), mpi_parameters=("btl",))
    given = {"env.OMP_PLACES": "cores", "sys.omp_wait": ["passive"], "mpi.btl": "tcp", "NB": 128}
    with served(store, tmp_path, ServiceConfig(offers=offers)) as client:
        answer = client.post("/api/v1/campaigns", json={**SEARCHES[0], "set": given})
        assert answer.status_code == 201, answer.text
        assert REFUSED in sent("/api/v1/campaigns")(client, {**SEARCHES[0], "set": {"env.OMP_PLACES2": "cores"}})


@pytest.mark.parametrize("space", shipped())
def test_a_shipped_space_sets_on_real_machines_what_is_offered(client: TestClient, space: str) -> None:
    """On a virtual cluster it may set the network's settings: nothing is set there."""
    asks_for_more = not entries(space, None, space_text(space)).keys() <= OF_HPL
    answer = client.post("/api/v1/campaigns", json={"kind": "tune", "space": space})
    assert (answer.status_code, REFUSED in answer.text) == ((422, True) if asks_for_more else (201, False))
    if space.startswith("kronos"):
        assert client.post("/api/v1/campaigns", json={"kind": "tune", "space": space, "cluster": "kronos"}).is_success


def test_a_space_of_the_operator_may_set_anything(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "wide.toml"
    file.write_text('[parameters]\nNB = [128]\nenv.OMP_PLACES = ["cores"]\nmpi.btl = ["tcp"]\n')
    with served(store, tmp_path, ServiceConfig(offers=OffersTable(spaces={"wide": file}))) as client:
        assert client.post("/api/v1/campaigns", json={"kind": "tune", "space": "wide"}).status_code == 201


EVIL = {"env.HOME": ["/home/mallory"]}


def worked_on(store: Store, order: CampaignOrder, offers: Offers, study: Study | None = None) -> CampaignEntry:
    """A campaign after its process has begun, as it stands in the database; it may have a study already."""
    store.queue.add(order)
    if study is not None:
        store.create_study(study)
    assert store.queue.claim(order.name)
    work_on(
        ProcessRequest(order.name, Lease.mine(), str(store.place), offers, lambda _now: None),
        lambda _event: None,
        StopRequest(),
    )
    return present(store.queue.find(order.name))


@pytest.fixture
def offering(tmp_path: Path) -> Offers:
    """A service that offers one thing of each sort."""
    files = {name: tmp_path / name for name in ("mine.toml", "xhpl", "libmine.so", "lab.toml")}
    for file in files.values():
        file.write_text("")
        file.chmod(0o755)
    files["mine.toml"].write_text('[parameters]\nNB = [128]\nenv.OMP_PLACES = ["cores"]\n')
    files["lab.toml"].write_text('name = "lab"\nbackend = "ssh"\nhosts = ["node1", "node2"]\n')
    return Offers(
        spaces={"mine": files["mine.toml"]},
        clusters={"lab": files["lab.toml"]},
        programs={"printed": files["xhpl"]},
        libraries={"ours": files["libmine.so"]},
        parameters=frozenset({"env.OMP_PLACES", *ASKED_BY_HOST}),
    )


ASKED_BY_HOST = entries("host", None, space_text("host")).keys() - OF_HPL
WITHDRAWN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "parameters": ({"set": {"env.OMP_PLACES": ["cores"]}}, {"parameters": frozenset()}),
    "those of a shipped space": ({"space": "host"}, {"parameters": frozenset()}),
    "a space": ({"space": "mine"}, {"spaces": {}}),
    "a program": ({"program": "printed"}, {"programs": {}}),
    "a library": ({"blas": ["ours", "openblas"]}, {"libraries": {}}),
    "a cluster": ({"cluster": "lab"}, {"clusters": {}}),
    "hours": ({"budget": "90h"}, {"most_budget_s": 3600.0}),
}


@pytest.mark.parametrize("begun_before", [False, True])
@pytest.mark.parametrize(
    ("kind", "what"),
    [(kind, what) for kind in ("tune", "blas") for what in WITHDRAWN if (kind, what) != ("blas", "a program")],
)
def test_what_the_operator_withdrew_is_withdrawn_from_what_waits_and_what_goes_on(
    store: Store,
    offering: Offers,
    kind: str,
    what: str,
    *,
    begun_before: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """By the same check as when it is handed in; also of what somebody wrote into a shared database."""
    monkeypatch.setenv("HPLTUNE_DATA", str(tmp_path))
    asked, withdrawn = WITHDRAWN[what]
    document = document_of(kind).model_validate({"kind": kind, "space": "quick", "budget": "10m", **asked})
    nodes = KINDS[kind].check(document, offering, store)
    order = CampaignOrder("old", kind, document.model_dump(mode="json"), nodes, "mallory", 0)
    entry = worked_on(store, order, replace(offering, **withdrawn), a_study("old") if begun_before else None)
    assert entry.state is QueueState.FAILED
    (key,) = asked
    assert entry.reason.startswith(key), entry.reason


def test_a_study_does_not_go_on_with_a_program_that_another_file_replaced(
    store: Store, offering: Offers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HPLTUNE_DATA", str(tmp_path))
    study = replace(a_study("old"), options=TuneOptions(xhpl=Path("/opt/old/xhpl")).to_json())
    order = CampaignOrder("old", "tune", {"kind": "tune", "program": "printed"}, ("here",), "ada", 0)
    entry = worked_on(store, order, offering, study)
    assert entry.state is QueueState.FAILED
    assert entry.reason == "program: other files are offered as the program now than it began with: hand it in anew"


def test_a_campaign_works_on_no_other_nodes_than_it_was_handed_in_for(
    store: Store, offering: Offers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HPLTUNE_DATA", str(tmp_path))
    order = CampaignOrder("old", "tune", {"kind": "tune", "cluster": "lab"}, ("node1", "node3"), "ada", 0)
    entry = worked_on(store, order, offering)
    assert entry.state is QueueState.FAILED
    assert entry.reason == "cluster: it has other nodes now than when this was handed in: hand it in anew"


@pytest.mark.parametrize("key", ["baseline", "reference"])
def test_a_check_repeats_no_campaign_whose_parameters_nobody_offers(client: TestClient, store: Store, key: str) -> None:
    for name, given in (("plain", {}), ("evil", EVIL)):
        store.queue.add(CampaignOrder(name, "tune", {"kind": "tune", "set": given}, ("here",), "mallory", 0))
        store.create_study(a_study(name))
        store.finish(finished(store.begin(begun(name)), study=name))
    told = client.post("/api/v1/campaigns", json={"kind": "check", "baseline": "plain", key: "evil"})
    assert (told.status_code, told.json()["errors"][0]["path"]) == (422, key)
    assert "env.HOME" in told.text
    assert REFUSED in told.text
    assert client.post("/api/v1/campaigns", json={"kind": "check", "baseline": "plain"}).status_code == 201


WORDS = {
    "tune": {
        "engine", "objective", "pareto", "power_source", "wait_for_quiet", "nodes_check", "budget", "run_time", "limit",
    },
    "blas": {"budget", "wait_for_quiet"},
    "check": {"wait_for_quiet"},
    "nodes": {"benchmarks", "wait_for_quiet", "blas", "baseline"},
}  # fmt: skip
"""Keys of documents that are read as words, times or numbers of checks, and never as files, programs or hosts."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_holds_texts_only_that_name_what_is_offered_or_are_words(kind: str) -> None:
    texts = {
        one.key: one.said.names in OFFERED
        for one in fields_of(ASKS[kind])
        if not one.said.here and ("str" in str(one.type) or "Path" in str(one.type)) and one.key != "set"
    }
    assert {key for key, offered in texts.items() if not offered} == WORDS[kind]


def test_a_campaign_has_of_the_environment_only_what_is_on_the_list(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    kept = ["PATH", "HOME", "LC_ALL", "LD_LIBRARY_PATH", "MKLROOT", "SLURM_CONF", "OMPI_MCA_btl", "PGPASSFILE"]
    for name in [*kept, "BASH_ENV", "ENV", "OMP_TOOL_LIBRARIES", "LD_PRELOAD", "SECRET", "HPLTUNE_TOKEN"]:
        monkeypatch.setenv(name, "x")
    given = environment_of(UserDirs(tmp_path / "cache", tmp_path / "data"))
    assert given.keys() == {*kept, "HPLTUNE_CACHE", "HPLTUNE_DATA"}
