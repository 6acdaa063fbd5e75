"""Settings of real kernels on hosts of their own: applied, verified, refused, and put back whatever happens."""

import subprocess
from collections.abc import Iterator, Sequence

import pytest
from net_lab import HostsLab
from settings_builders import Notes
from waiting import until

from runners.errors import InvalidJobError, Mishap, RefusedError, RunnerError, UnreachableError
from runners.hosts.transport import Local, Ssh
from runners.settings.changing import Patience
from runners.settings.control import SettingsControl
from runners.settings.journal import Original
from runners.settings.restore import put_back
from runners.settings.script import Timer


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(2, mtu=6000)


@pytest.fixture
def journal() -> Notes:
    return Notes()


@pytest.fixture
def network(lab: HostsLab, journal: Notes) -> Iterator[SettingsControl]:
    with SettingsControl(reach(lab), lab.names, ("eth0",), journal, patience=Patience(60.0, 40.0)) as control:
        yield control
    assert journal.kept == {}
    assert [(mtu(lab, host), tso(lab, host)) for host in lab.names] == [(1500, "on")] * 2
    assert timers(lab) == []


def reach(lab: HostsLab, *options: str) -> Ssh:
    return Ssh((*lab.enter("h1"), *lab.ssh, *options))


def mtu(lab: HostsLab, host: str) -> int:
    return int(lab.run(host, "cat", "/sys/class/net/eth0/mtu"))


def tso(lab: HostsLab, host: str) -> str:
    (line,) = [
        line for line in lab.run(host, "ethtool", "-k", "eth0").splitlines() if line.startswith("tcp-segmentation")
    ]
    return line.split()[-1]


def buffers(lab: HostsLab, host: str) -> str:
    return " ".join(lab.run(host, "sysctl", "-n", "net.ipv4.tcp_rmem").split())


def timers(lab: HostsLab) -> list[str]:
    listed = subprocess.run(
        ("pgrep", "-f", "^sh -c echo.*hpltune-timer-h[0-9]-"), capture_output=True, text=True, check=False
    )
    inside = [
        subprocess.run(("ip", "netns", "pids", lab.namespace(host)), capture_output=True, text=True, check=True)
        for host in lab.names
    ]
    ours = {pid for found in inside for pid in found.stdout.split()}
    return [pid for pid in listed.stdout.split() if pid in ours]


def test_what_is_asked_holds_on_all_hosts_and_what_is_not_named_is_as_it_was(
    lab: HostsLab, network: SettingsControl, journal: Notes
) -> None:
    before = buffers(lab, "h2")
    network.apply({"net.mtu": 6000, "net.tso": "off"})
    assert [(mtu(lab, host), tso(lab, host)) for host in lab.names] == [(6000, "off")] * 2
    assert {original.value for original in journal.kept.values()} == {"1500", "on"}
    network.apply({"net.tcp_rmem": "4096 65536 131072"})
    assert [(mtu(lab, host), tso(lab, host)) for host in lab.names] == [(1500, "on")] * 2
    assert [buffers(lab, host) for host in lab.names] == ["4096 65536 131072"] * 2
    network.restore()
    assert [buffers(lab, host) for host in lab.names] == [before] * 2


def test_a_call_is_for_the_nodes_it_names_and_for_all_where_it_names_none(
    lab: HostsLab, network: SettingsControl
) -> None:
    network.apply({"net.tso": "off"}, ("h1",))
    assert [tso(lab, host) for host in lab.names] == ["off", "on"]
    network.apply({"net.tso": "off"})
    assert [tso(lab, host) for host in lab.names] == ["off", "off"]
    network.apply({}, ("h2",))
    assert [tso(lab, host) for host in lab.names] == ["off", "on"]
    network.apply({})
    assert [tso(lab, host) for host in lab.names] == ["on", "on"]


def test_an_mtu_that_the_switch_drops_is_found_and_put_back(lab: HostsLab, network: SettingsControl) -> None:
    sentence = (
        r"net\.mtu = 9000: packets of that size do not get from h\d to h\d over eth0; the switch or a NIC drops them"
    )
    with pytest.raises(RefusedError, match=sentence):
        network.apply({"net.mtu": 9000})
    assert [mtu(lab, host) for host in lab.names] == [1500, 1500]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"net.rx_usecs": 10}, r"node h1: eth0: net\.rx_usecs cannot be set: netlink error: Operation not supported"),
        ({"net.lro": "on"}, r"node h1: eth0: net\.lro = on was refused: Could not change any device features"),
        ({"net.rmem_max": 65_536}, r"net\.rmem_max = 65536 was refused: sysctl: .*: (Invalid|Operation not permitted)"),
        ({"net.mtu": 3000, "net.interface": "eth7"}, r"node h1 has no interface eth7 \(it has lo, eth0\)"),
        ({"net.mtu": 9}, r"net\.mtu = 9: expected a whole number of bytes, at least 68, at most 65535"),
        ({"net.colour": "red"}, r"net\.colour: there is no such network setting"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(
    network: SettingsControl, wanted: dict[str, str | int], sentence: str
) -> None:
    with pytest.raises(RefusedError, match=sentence):
        network.apply(wanted)


def test_a_name_that_is_no_interface_reaches_no_node(network: SettingsControl) -> None:
    with pytest.raises(InvalidJobError, match="not the name of a network interface"):
        network.apply({"net.mtu": 3000, "net.interface": "eth0;reboot"})


def test_a_value_that_is_accepted_but_not_taken_is_refused(lab: HostsLab, network: SettingsControl) -> None:
    deaf = '#!/bin/sh\ncase "$*" in "-w net.ipv4.tcp_rmem=5000 "*) exit 0;; esac\nexec /sbin/sysctl "$@"\n'
    sentence = r"net\.tcp_rmem = 5000 6000 7000 was accepted, but the node made it \d+ "
    with lab.planted("sysctl", deaf), pytest.raises(RefusedError, match=sentence):
        network.apply({"net.tcp_rmem": "5000 6000 7000"})


@pytest.mark.parametrize("changed", ["net.mtu", "net.rx_ring", "net.tx_ring"])
def test_a_cable_that_is_out_while_a_value_is_tested_is_not_its_fault(lab: HostsLab, changed: str) -> None:
    """The plug of h2 is out for some seconds from when h1 is given the value, and its driver has rings."""
    plug, rings = f"/sbin/ip -n {lab.namespace('switch')} link set p2-0", lab.folder / "rings"
    pull = f'[ "$(hostname)" != h1 ] || {{ {plug} down; (sleep 5; {plug} up) </dev/null >/dev/null 2>&1 & }}'
    ip = f'#!/bin/sh\ncase "$*" in *"mtu 3000") {pull};; esac\nexec /sbin/ip "$@"\n'
    told = r"Current hardware settings:\nRX:\t$(cat $f.rx || echo 256)\nTX:\t$(cat $f.tx || echo 256)\n"
    ethtool = (
        f'#!/bin/sh\nf={rings}.$(hostname)\ncase "$*" in "-g eth0") printf "{told}" 2>/dev/null; exit;;\n'
        f'"-G eth0 "*) echo "$4" >$f.$3; [ "$4" != 3000 ] || {pull}; exit;; esac\nexec /usr/sbin/ethtool "$@"\n'
    )
    with (
        lab.planted("ip", ip),
        lab.planted("ethtool", ethtool),
        SettingsControl(reach(lab), lab.names, ("eth0",), Notes(), patience=Patience(30.0, 1.0)) as network,
    ):
        try:
            with pytest.raises(RunnerError) as mishap:
                network.apply({changed: 3000})
            assert mishap.value.event is Mishap.LINK_LOST, mishap.value
            assert "from h1 to h2 over eth0" in str(mishap.value)
            assert [mtu(lab, host) for host in lab.names] == [1500, 1500]
        finally:
            lab.link("h2", "up")


def test_packets_that_the_switch_drops_are_no_fault_of_a_ring(lab: HostsLab) -> None:
    for host in lab.names:
        lab.run(host, "ip", "link", "set", "eth0", "mtu", "9000")
    ethtool = (
        '#!/bin/sh\ncase "$*" in "-g eth0") echo "Current hardware settings:"; echo "RX: 256";;\n"-G "*);;\n'
        '*) exec /usr/sbin/ethtool "$@";; esac\n'
    )
    try:
        with (
            lab.planted("ethtool", ethtool),
            SettingsControl(reach(lab), lab.names, ("eth0",), Notes(), patience=Patience(30.0, 1.0)) as network,
            pytest.raises(RunnerError, match=r"packets of 9000 bytes do not get from h\d to h\d over eth0") as mishap,
        ):
            network.apply({"net.rx_ring": 512})
        assert mishap.value.event is Mishap.NO_WAY
    finally:
        for host in lab.names:
            lab.run(host, "ip", "link", "set", "eth0", "mtu", "1500")


def test_a_node_that_a_change_cuts_off_puts_itself_back(lab: HostsLab, journal: Notes) -> None:
    """A driver that loses its link with TSO off, and finds it again with TSO on."""
    text = (
        '#!/bin/sh\n/usr/sbin/ethtool "$@" || exit\ncase "$*" in\n*"tso off") [ "$(hostname)" = h1 ] || '
        '/sbin/ip link set eth0 down;;\n*"tso on") /sbin/ip link set eth0 up;;\nesac\n'
    )
    quick = reach(lab, "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1", "-o", "ConnectTimeout=2")
    with (
        lab.planted("ethtool", text),
        SettingsControl(quick, lab.names, ("eth0",), journal, patience=Patience(0.1, 1.0)) as network,
        pytest.raises(
            RunnerError, match=r"node h2: it was cut off when net\.tso = off was set .*; it answers"
        ) as mishap,
    ):
        network.apply({"net.tso": "off"})
    assert mishap.value.event is Mishap.LINK_LOST
    assert [tso(lab, host) for host in lab.names] == ["on", "on"]
    assert journal.kept == {}
    assert timers(lab) == []


COMES_BACK = "touch {anew}; (sleep 4; {plug} up) </dev/null >/dev/null 2>&1 & sleep 30"


@pytest.mark.parametrize(("takes_it_away", "then"), [("h1", ":"), ("h2", ":"), ("h2", COMES_BACK)])
def test_a_node_that_is_lost_in_a_change_is_named_and_the_value_is_not_refused(
    lab: HostsLab, takes_it_away: str, then: str
) -> None:
    """The plug of h2 is pulled when a host is given its MTU; who comes back tells of another boot."""
    said, may_wait_s = list[str](), 2.0 if then == ":" else 30.0
    anew, plug = lab.programs / "anew", f"/sbin/ip -n {lab.namespace('switch')} link set p2-0"
    pulls = f"{plug} down; {then.format(anew=anew, plug=plug)};; esac"
    pulling = f'#!/bin/sh\ncase "$(hostname) $*" in "{takes_it_away} "*"mtu 3000") {pulls}\nexec /sbin/ip "$@"\n'
    other = f"[ ! -e {anew} ] || {{ echo 6f1d1b0e-7f0a-4a57-8c39-9a2f5a0c7d11; exit; }};; esac"
    booted = f'#!/bin/sh\ncase "$(hostname) $*" in "h2 "*boot_id) {other}\nexec /usr/bin/head "$@"\n'
    quick = reach(lab, "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1", "-o", "ConnectTimeout=1")
    with SettingsControl(quick, lab.names, ("eth0",), Notes(), Patience(1.0, 1.0), said.append) as network:
        try:
            with lab.planted("head", booted), lab.planted("ip", pulling), pytest.raises(UnreachableError) as lost:
                network.apply({"net.mtu": 3000}, may_wait_s=lambda: may_wait_s)
        finally:
            lab.link("h2", "up")
            anew.unlink(missing_ok=True)
        words = "it was started anew while" if then == COMES_BACK else "it does not answer since"
        assert str(lost.value).startswith(f"node h2: {words} net.mtu = 3000 was set")
        assert all(f"waiting {may_wait_s:.0f} s for it." in one for one in said if "waiting" in one)
    assert [mtu(lab, host) for host in lab.names] == [1500, 1500]


def test_a_timer_that_a_killed_hpltune_left_does_not_undo_the_next_change(
    lab: HostsLab, network: SettingsControl
) -> None:
    left = Timer("h2", "left", 600.0)
    with subprocess.Popen([*lab.enter("h2"), *left.start("ethtool -K eth0 tso on")]):
        until(lambda: timers(lab))
        network.apply({"net.tso": "off"})
        assert timers(lab) == []


def test_a_host_that_does_not_answer_stays_in_the_journal_until_it_does(lab: HostsLab, journal: Notes) -> None:
    quick = reach(lab, "-o", "ConnectTimeout=1")
    network = SettingsControl(quick, lab.names, ("eth0",), journal)
    network.apply({"net.tso": "off"})
    lab.link("h2", "down")
    try:
        left = network.restore()
        assert list(left) == ["h2"]
        assert "node h2: " in left["h2"]
        assert [original.host for original in journal.kept.values()] == ["h2"]
        with pytest.raises(UnreachableError, match="node h2: "):
            SettingsControl(quick, lab.names, ("eth0",), Notes()).apply({"net.tso": "off"})
    finally:
        lab.link("h2", "up")
    outcome = put_back(reach(lab), tuple(journal.kept.values()))
    assert (len(outcome.done), outcome.left, tso(lab, "h2")) == (1, {}, "on")


def test_an_older_original_wins_over_what_is_found(lab: HostsLab, journal: Notes) -> None:
    lab.run("h2", "ethtool", "-K", "eth0", "tso", "off")
    journal.remember([Original("h2", "eth0", "net.tso", "on", reach(lab).program)])
    with SettingsControl(reach(lab), ("h2",), ("eth0",), journal) as network:
        network.apply({"net.tso": "off"})
    assert (tso(lab, "h2"), journal.kept) == ("on", {})


def test_one_node_alone_has_no_way_to_test(lab: HostsLab) -> None:
    class Inside(Local):
        """As `Local`, in a namespace, so that this machine is left alone."""

        def argv(self, node: str, command: Sequence[str]) -> list[str]:
            return [*lab.enter(node), *command]

    with SettingsControl(Inside(), ("h1",), ("eth0",), Notes()) as network:
        network.apply({"net.mtu": 9000, "net.tso": "off"})
        assert (mtu(lab, "h1"), tso(lab, "h1")) == (9000, "off")
    assert (mtu(lab, "h1"), tso(lab, "h1")) == (1500, "on")
