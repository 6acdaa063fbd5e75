"""Controllers of nodes: an ipmitool that behaves as a test wants, and a real HTTP server that speaks Redfish."""

import base64
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from as_user import program
from power_lab import RedfishServer, cluster_with, quick, redfish_server, watch, write
from waiting import until

from runners.hosts.cluster import Cluster, load_real_cluster
from runners.toml_file import ClusterFileError, validated
from tuner.trial.observers.energy import contract, ipmi, meter, redfish
from tuner.trial.observers.energy.meters import PowerMeters

PRINTED = """
    Instantaneous power reading:                   {watts} Watts
    Minimum during sampling period:                 18 Watts
    Maximum during sampling period:                433 Watts
    Average power reading over sample period:      214 Watts
    IPMI timestamp:                           Fri Nov 27 12:00:00 2026
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   {state}
"""
"""What ipmitool 1.8.19 prints."""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a device of IPMI, and programs of its own."""
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(tmp_path / "root"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    quick(monkeypatch, gap_s=1.5)
    for module in (contract, ipmi, redfish, meter):
        monkeypatch.setattr(module, "LONGEST_READING_S", 1.0, raising=False)
    write(tmp_path / "root/dev", ipmi0="")
    return tmp_path


def nap() -> None:
    time.sleep(0.8)


def ipmitool(places: Path, told: str, state: str = "activated", before: str = "") -> Path:
    """An ipmitool that prints what a file holds now, and notes how it was called."""
    (places / "watts").write_text(told)
    text = PRINTED.format(watts="$(cat {0}/watts)", state=state).format(places)
    return program(
        places / "bin/ipmitool",
        f'#!/bin/sh\nprintf "%s\\n" "$*" >>{places}/called\n{before}\ncat <<END\n{text}\nEND\n',
    )


def cluster(power: Mapping[str, object]) -> Cluster:
    return validated(Cluster, "lab.toml", cluster_with(power))


def test_the_controller_of_this_machine_tells_its_power(places: Path) -> None:
    ipmitool(places, "220")
    meters = PowerMeters.found()
    assert meters.names == ["ipmi"]
    done = watch(meters, nap, folder=places)
    assert done.measured[0]["ipmi_power_w"] == pytest.approx(220)
    assert (places / "called").read_text().splitlines()[0] == "dcmi power reading"


def test_a_controller_that_begins_to_lie_in_the_middle_gives_nothing(places: Path) -> None:
    ipmitool(places, "220")
    meters = PowerMeters.found()

    def turn_bad() -> None:
        time.sleep(0.4)
        (places / "watts").write_text("65535")
        time.sleep(0.4)

    done = watch(meters, turn_bad, folder=places)
    assert done.measured == [{}]
    (sentence,) = done.said
    assert "The power source ipmi told 65535 W, which means that" in sentence


def test_a_controller_that_vanishes_in_the_middle_gives_nothing(places: Path) -> None:
    ipmitool(places, "220")
    meters = PowerMeters.found()

    def vanish() -> None:
        time.sleep(0.4)
        (places / "bin/ipmitool").unlink()
        time.sleep(0.4)

    done = watch(meters, vanish, folder=places)
    assert done.measured == [{}]
    assert "cannot be asked: ipmitool: No such file or directory" in done.said[0]


def test_a_controller_that_hangs_is_ended_and_gives_nothing(places: Path) -> None:
    ipmitool(places, "220", before=f"[ -e {places}/hang ] && sleep 600")
    meters = PowerMeters.found()

    def hang() -> None:
        time.sleep(0.3)
        (places / "hang").touch()
        time.sleep(1.7)

    done = watch(meters, hang, folder=places)
    assert done.measured == [{}]
    assert "did not answer within 1 s" in done.said[0]


def test_a_device_that_cannot_be_opened_is_named_with_what_ipmitool_says(places: Path) -> None:
    program(
        places / "bin/ipmitool",
        "#!/bin/sh\necho 'Could not open device at /dev/ipmi0 or /dev/ipmi/0: Permission denied' >&2\nexit 1\n",
    )
    (sentence,) = PowerMeters.found().sentences()
    assert "ipmitool said 'Could not open device at /dev/ipmi0" in sentence
    assert "root may open the device" in sentence


def test_a_meter_that_is_switched_off_is_none(places: Path) -> None:
    ipmitool(places, "220", state="deactivated")
    assert PowerMeters.found().refused["ipmi"] == "does not measure: its power reading is deactivated"


@pytest.fixture
def secret(places: Path) -> Path:
    file = places / "bmc-password"
    file.write_text("s3cret-word\n")
    file.chmod(0o600)
    return file


def test_all_controllers_of_a_cluster_are_asked_and_only_all_together_tell(places: Path, secret: Path) -> None:
    ipmitool(places, "200")
    addresses = {"n1": "10.0.0.1", "n2": "10.0.0.2"}
    table = {"ipmi": {"addresses": addresses, "user": "hpl", "password_file": str(secret)}}
    meters = PowerMeters.found(cluster(table))
    both = watch(meters, nap, nodes=("n1", "n2"), folder=places)
    assert both.measured[0]["ipmi_power_w"] == pytest.approx(400)
    one = watch(meters, nap, nodes=("n2",), folder=places)
    assert one.measured[0]["ipmi_power_w"] == pytest.approx(200), "a run counts its own nodes"
    more = watch(meters, nap, nodes=("n1", "n2", "n3"), folder=places)
    assert more.measured == [{}], "nobody tells of n3"
    calls = (places / "called").read_text()
    assert f"-I lanplus -U hpl -f {secret} -H 10.0.0.1 dcmi power reading" in calls
    assert "s3cret-word" not in calls


def test_a_password_is_in_no_cluster_file_and_in_no_database(places: Path, secret: Path) -> None:
    table = {"redfish": {"addresses": {"n1": "https://10.0.0.1"}, "user": "hpl", "password_file": str(secret)}}
    assert "s3cret-word" not in str(cluster(table).table())
    file = places / "lab.toml"
    file.write_text(
        'name = "lab"\nbackend = "ssh"\nhosts = ["n1"]\n[power.redfish]\nuser = "hpl"\npassword = "s3cret-word"\n'
        'addresses = { n1 = "https://10.0.0.1" }\n'
    )
    with pytest.raises(ClusterFileError, match="a password does not belong into this file") as refused:
        load_real_cluster(file)
    assert "s3cret-word" not in str(refused.value)


@pytest.mark.parametrize(
    ("power", "sentence"),
    [
        ({"ipmi": {"addresses": {"n9": "10.0.0.1"}}}, r"\[power.ipmi\] names n9, which is not among hosts"),
        ({"ipmi": {"addresses": {"n1": "10.0.0.1 -o x"}}}, "expected the name or address of a node's controller"),
        ({"redfish": {"addresses": {"n1": "10.0.0.1"}}}, "expected the address of a node's controller, as https://"),
        ({"redfish": {"addresses": {"n1": "https://a"}, "user": "x"}}, "user and password_file belong together"),
        ({"command": "x" * 2000}, "power.command"),
        ({"volts": 3}, "power.volts is not known here"),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(power: dict[str, object], sentence: str) -> None:
    with pytest.raises(ClusterFileError, match=sentence):
        cluster(power)


def test_a_password_that_others_can_read_is_refused(secret: Path) -> None:
    secret.chmod(0o644)
    table = {"redfish": {"addresses": {"n1": "https://127.0.0.1"}, "user": "hpl", "password_file": str(secret)}}
    (sentence,) = PowerMeters.found(cluster(table)).sentences()
    assert f"others may read it: `chmod 600 {secret}`" in sentence


@pytest.fixture
def server() -> Iterator[RedfishServer]:
    with redfish_server() as told:
        yield told


def redfish_of(server: RedfishServer, **more: object) -> PowerMeters:
    return PowerMeters.found(cluster({"redfish": {"addresses": {"n1": server.url, "n2": server.url}, **more}}))


def test_redfish_tells_the_power_of_all_nodes(server: RedfishServer, places: Path) -> None:
    meters = redfish_of(server)
    assert meters.names == ["redfish"]
    done = watch(meters, nap, nodes=("n1", "n2"), folder=places)
    assert done.measured[0]["redfish_power_w"] == pytest.approx(600)
    assert server.asked.count("/redfish/v1/Chassis") == 2, "where the power is was looked for once"


def test_an_older_controller_has_the_power_elsewhere(server: RedfishServer, places: Path) -> None:
    del server.resources["/redfish/v1/Chassis/1/EnvironmentMetrics"]
    server.resources["/redfish/v1/Chassis/1/Power"] = {"PowerControl": [{"PowerConsumedWatts": 344}]}
    done = watch(redfish_of(server), nap, nodes=("n1",), folder=places)
    assert done.measured[0]["redfish_power_w"] == pytest.approx(344)


def test_an_account_is_sent_and_a_refused_one_is_named(server: RedfishServer, secret: Path) -> None:
    server.account = f"Basic {base64.b64encode(b'hpl:s3cret-word').decode()}"
    assert redfish_of(server, user="hpl", password_file=str(secret)).names == ["redfish"]
    (sentence,) = redfish_of(server).sentences()
    assert "refuses the account (HTTP 401)" in sentence


@pytest.mark.parametrize(("watts", "said"), [(0, "of n1 told 0 W"), ("many", "tells no power")])
def test_redfish_that_begins_to_lie_gives_nothing(
    server: RedfishServer, places: Path, watts: object, said: str
) -> None:
    meters = redfish_of(server)

    def turn_bad() -> None:
        before = len(server.answered)
        until(lambda: len(server.answered) >= before + 8, for_what="8 readings")
        server.tell(watts)
        until(
            lambda: {"PowerWatts": {"Reading": watts}} in server.answered, for_what="the lie"
        )  # the reading that fails is the last
        time.sleep(0.3)

    done = watch(meters, turn_bad, nodes=("n1", "n2"), folder=places)
    assert done.measured == [{}]
    assert said in done.said[0]


@pytest.mark.parametrize("answer", ["no json", "[" * 100_000, '"a text"', "x" * (1 << 21)])
def test_a_controller_that_answers_nonsense_is_none(server: RedfishServer, answer: str) -> None:
    server.resources["/redfish/v1/Chassis"] = answer
    assert redfish_of(server).sources == ()


def test_redfish_that_hangs_gives_nothing(server: RedfishServer, places: Path) -> None:
    meters = redfish_of(server)

    def hang() -> None:
        time.sleep(0.2)
        server.silent_s = 30.0
        time.sleep(1.5)

    done = watch(meters, hang, nodes=("n1",), folder=places)
    assert done.measured == [{}]
    assert "did not answer within 1 s" in done.said[0]


def test_a_controller_that_is_not_there_is_named(places: Path) -> None:
    assert places
    table = {"redfish": {"addresses": {"n1": "http://127.0.0.1:9"}}}
    (sentence,) = PowerMeters.found(cluster(table)).sentences()
    assert sentence.startswith("The power source redfish of n1 cannot be asked: ")
