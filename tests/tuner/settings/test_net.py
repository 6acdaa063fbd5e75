"""`hpltune net` as a user runs it on the first of two hosts."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run, program
from needs import require
from net_lab import HostsLab
from on_head import on_head
from settings_builders import Notes, an_original

from results.store.lease import Lease
from results.store.store import Store
from runners.hosts.transport import Local
from runners.settings.control import SettingsControl
from tuner.commands.hosts.net_settings import rules
from tuner.errors import TunerError
from tuner.settings.changed_hosts import forget_host

On = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(2, mtu=6000, rate="100mbit")


@pytest.fixture
def net(lab: HostsLab, home: Path) -> On:
    """Runs `hpltune net` on h1, with ssh as the lab has it."""
    head = on_head(lab, home)

    def run(command: str, *arguments: str, ssh: bool = True) -> subprocess.CompletedProcess[str]:
        way = ("--ssh", " ".join(lab.ssh)) if ssh else ()
        return head("net", command, *arguments, *way)

    return run


def mtus(lab: HostsLab) -> list[int]:
    return [int(lab.run(host, "cat", "/sys/class/net/eth0/mtu")) for host in lab.names]


def test_show_tells_every_setting_of_every_host_or_why_it_cannot_be_set(net: On) -> None:
    done = net("show", "--hosts", "h1,h2", "--json")
    assert done.returncode == 0, done.stderr
    found = {(each["host"], each["interface"], each["setting"]): each for each in json.loads(done.stdout)}
    assert found["h2", "eth0", "net.mtu"]["value"] == "1500"
    assert found["h2", "eth0", "net.rx_usecs"]["reason"] == "netlink error: Operation not supported"
    assert found["h1", "", "net.tcp_rmem"]["value"].count(" ") == 2
    shown = net("show", "--hosts", "h2").stdout
    assert "Settings of h2" in shown
    assert "not here: netlink error: Operation not supported" in shown


def test_what_a_killed_hpltune_left_changed_is_put_back(net: On, lab: HostsLab, home: Path) -> None:
    for host in lab.names:
        lab.run(host, "ip", "link", "set", "dev", "eth0", "mtu", "3000")
    dead = str(Lease("h1", "no such boot", 1, "0"))
    with Store.open(home / "data/hpltune.db") as store:
        store.network.remember([an_original(host=host, owner=dead, ssh=tuple(lab.ssh)) for host in lab.names])
    assert "h2 still has changed settings: `hpltune net restore` restores them." in net("show", "--hosts", "h2").stdout
    (home / "lab.toml").write_text(lab.cluster(ssh=lab.ssh))
    restored = net("restore", "--cluster", "lab.toml", ssh=False)
    assert restored.returncode == 0, restored.stderr
    assert "Put back on h1: eth0 mtu = 1500." in restored.stdout
    assert mtus(lab) == [1500, 1500]
    assert "Nothing is to be put back." in net("restore", ssh=False).stdout


def test_a_host_that_is_gone_is_named_and_stays_recorded_until_it_is_forgotten(net: On, home: Path) -> None:
    dead = Lease("h1", "no such boot", 1, "0")
    with Store.open(home / "data/hpltune.db") as store:
        store.network.remember([an_original(host="h9", owner=str(dead))])
    left = net("restore", ssh=False)
    assert left.returncode == 1
    assert "Not put back: node h9: " in left.stdout
    assert net("restore", "--forget", "h9", ssh=False).stdout == "Forgotten: h9: eth0 mtu = 1500.\n"
    assert net("restore", ssh=False).returncode == 0


def test_what_a_process_of_this_machine_needs_still_is_not_forgotten(tmp_path: Path) -> None:
    with Store.open(tmp_path / "study.db") as store:
        store.network.remember([an_original(host="h9", owner=str(Lease.of(os.getppid())))])
        with pytest.raises(TunerError, match=r"The network of h9 is changed by process \d+ on "):
            forget_host(store, "h9")
        store.network.remember([replace(an_original(host="h9"), machine="a" * 32, setting="rx")])
        assert forget_host(store, "h9") == "Forgotten: h9: eth0 rx = 1500."
        assert [row.setting for row in store.network.originals()] == ["mtu"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--hosts", "h1,h9"), "node h9: its name is not known: check the host list"),
        (("--hosts", "h1,-x"), "--hosts h1,-x: '-x' is not the name of a host"),
        (("--hosts", "h1,h2", "--interface", "eth7"), "node h1 has no interface eth7 (it has lo, eth0)"),
    ],
)
def test_a_mistake_is_one_sentence(net: On, arguments: Sequence[str], sentence: str) -> None:
    done = net("show", *arguments)
    assert done.returncode == (1 if sentence.startswith("node") else 2)
    assert sentence in " ".join(done.stderr.split())


def test_a_user_needs_exactly_the_rules_that_sudoers_prints(lab: HostsLab, tmp_path: Path) -> None:
    folder = tmp_path / "sudoers.d"
    folder.mkdir()
    (folder / "hpltune").write_text(rules("nobody", "eth0"))
    (folder / "hpltune").chmod(0o440)
    subprocess.run(("visudo", "-c", "-f", str(folder / "hpltune")), check=True, capture_output=True)

    class AsNobody(Local):
        """Commands of a user who is not root, on a host whose sudo has these rules."""

        def argv(self, node: str, command: Sequence[str]) -> list[str]:
            text = 'mount --bind "$1" /etc/sudoers.d && shift && exec runuser -u nobody -- "$@"'
            return [*lab.enter(node), "unshare", "--mount", "sh", "-c", text, "as-nobody", str(folder), *command]

    buffers = "4096 65536 131072"
    with SettingsControl(AsNobody(), ("h1",), ("eth0",), Notes()) as network:
        network.apply({"net.mtu": 3000, "net.tso": "off", "net.tcp_rmem": buffers})
        assert mtus(lab)[0] == 3000
        assert lab.run("h1", "sysctl", "-n", "net.ipv4.tcp_rmem").split() == buffers.split()
    assert mtus(lab)[0] == 1500
    for evil in (("ip", "link", "set", "dev", "eth1", "mtu", "3000"), ("ip", "link", "set", "dev", "eth0", "down")):
        refused = subprocess.run(
            AsNobody().argv("h1", ("sudo", "-n", *evil)), capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        assert "password is required" in refused.stderr
    (folder / "hpltune").unlink()
    with (
        SettingsControl(AsNobody(), ("h1",), ("eth0",), Notes()) as network,
        pytest.raises(Exception, match="it needs root, or sudo with a rule for it: `hpltune net sudoers`"),
    ):
        network.apply({"net.mtu": 3000})


@pytest.fixture
def ip() -> None:
    """Skips where networks cannot be asked for."""
    require("ip")


@pytest.mark.usefixtures("ip")
def test_sudoers_prints_rules_for_the_user_who_asks(hpltune: Run) -> None:
    done = hpltune.well("net", "sudoers", "--interface", "eth0,ib0")
    assert "NOPASSWD: " in done.stdout
    assert "^link set dev ib0 mtu [0-9]+$" in done.stdout
    assert "ALL: ALL" not in done.stdout


@pytest.mark.parametrize(
    "user", ["ALL", "%ALL", "ADMINS", "Defaults", "User_Alias", "a b", "%", "#0", "%#0", "+net", "!a", "a,b"]
)
def test_sudoers_prints_no_rules_for_what_is_no_single_user_or_group(hpltune: Run, user: str) -> None:
    done = hpltune("net", "sudoers", "--interface", "eth0", "--user", user)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--user {user}: " in done.stderr


def test_sudoers_prints_rules_for_a_group_and_says_that_all_its_members_have_them(hpltune: Run, tmp_path: Path) -> None:
    require("visudo")
    done = hpltune("net", "sudoers", "--interface", "eth0", "--user", "%hpc")
    assert "# Every member of the group hpc may run these commands." in done.stdout
    (tmp_path / "rules").write_text(done.stdout)
    subprocess.run(("visudo", "-c", "-f", str(tmp_path / "rules")), check=True, capture_output=True)


def test_this_machine_is_shown_without_hosts(hpltune: Run) -> None:
    shown = json.loads(hpltune("net", "show", "--interface", "lo", "--json").stdout)
    assert {each["host"] for each in shown} == {os.uname().nodename}


def test_settings_are_shown_where_no_program_tells_of_interfaces(
    hpltune: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "ip", "#!/bin/sh\necho 'sh: 1: ip: not found' >&2\nexit 127\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    shown = {each["setting"]: each for each in json.loads(hpltune("net", "show", "--json").stdout)}
    assert (shown["net.mtu"]["interface"], shown["net.mtu"]["value"]) == ("", None)
    assert "iproute2 of 2018 or newer is needed" in shown["net.mtu"]["reason"]
    assert "interface" not in shown["sys.transparent_huge_pages"]["reason"]
    assert hpltune("net", "show").stdout.count("iproute2 of 2018 or newer is needed") == 1
