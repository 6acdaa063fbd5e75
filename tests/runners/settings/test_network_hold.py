"""A node's network has one holder at a time, whichever database and user, and what one left changed is put back."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from net_lab import HostsLab
from settings_builders import Notes

from runners.errors import HeldError, RefusedError
from runners.hosts.transport import Local, Ssh
from runners.settings.changing import Patience
from runners.settings.control import SettingsControl
from runners.settings.journal import Journal
from runners.settings.mark import marks_on, settle

LIVING = "h1|this boot|17|1"
Control = Callable[[Journal], SettingsControl]


@pytest.fixture
def said() -> list[str]:
    """What a control says."""
    return []


@pytest.fixture
def control(lab: HostsLab, said: list[str]) -> Iterator[Control]:
    """Makes a study's control; afterwards both hosts are as they were, and no note is left."""
    yield lambda journal: SettingsControl(
        reach(lab), lab.names, ("eth0",), journal, patience=Patience(60.0), say=said.append
    )
    assert [(tso(lab, host), gso(lab, host)) for host in lab.names] == [("on", "on")] * 2
    assert [lab.notes(host) for host in lab.names] == [[], []]


def reach(lab: HostsLab) -> Ssh:
    return Ssh((*lab.enter("h1"), *lab.ssh))


def offload(lab: HostsLab, host: str, feature: str) -> str:
    printed = lab.run(host, "ethtool", "-k", "eth0")
    return next(line.split()[1] for line in printed.splitlines() if line.startswith(f"{feature}:"))


def tso(lab: HostsLab, host: str) -> str:
    return offload(lab, host, "tcp-segmentation-offload")


def gso(lab: HostsLab, host: str) -> str:
    return offload(lab, host, "generic-segmentation-offload")


def test_a_second_study_is_refused_with_the_name_of_the_first_and_both_leave_the_network_as_it_was(
    lab: HostsLab, control: Control
) -> None:
    first, second = control(Notes("first", LIVING)), control(Notes("second", living=[LIVING]))
    with first:
        first.apply({"net.tso": "off"})
        sentence = (
            r"node h\d: its network is in use by study first of root, process 17 on h1, "
            r"which has changed eth0 net\.tso: wait until that has ended, or end it"
        )
        with pytest.raises(HeldError, match=sentence):
            second.prepare({"net.tso": ["on"]})
        with pytest.raises(HeldError, match=sentence):
            second.apply({"net.gso": "off"})
        assert [(tso(lab, host), gso(lab, host)) for host in lab.names] == [("off", "on")] * 2
    with second:
        second.apply({"net.tso": "off"})
        assert [tso(lab, host) for host in lab.names] == ["off", "off"]


def test_a_study_holds_its_nodes_from_before_its_first_trial(control: Control) -> None:
    first, second = control(Notes("first", LIVING)), control(Notes("second", living=[LIVING]))
    with first:
        first.prepare({"net.tso": ["on", "off"]})
        with pytest.raises(HeldError, match=r"its network is in use by study first of root, process 17 on h1: wait"):
            second.prepare({"net.gso": ["off"]})
    with second:
        second.prepare({"net.gso": ["off"]})


def test_interfaces_alone_hold_no_network(lab: HostsLab, control: Control) -> None:
    with control(Notes()) as network:
        network.prepare({"net.interface": ["eth0"]})
        assert [lab.notes(host) for host in lab.names] == [[], []]
        with pytest.raises(RefusedError, match=r"node h1 has no interface eth1 \(it has lo, eth0\)"):
            network.prepare({"net.interface": ["eth0", "eth0+eth1"]})


def test_what_a_killed_study_of_another_database_left_is_put_back_before_the_next_begins(
    lab: HostsLab, control: Control, said: list[str]
) -> None:
    killed, journal = control(Notes("killed")), Notes("next")
    killed.apply({"net.tso": "off"})
    with control(journal) as network:
        network.apply({"net.gso": "off"})
        assert [(tso(lab, host), gso(lab, host)) for host in lab.names] == [("on", "off")] * 2
        assert {key[2] for key in journal.kept} == {"net.gso"}
    assert said == [
        f"Put back on {host}: eth0 tso = on; a hpltune that has ended had left it changed." for host in lab.names
    ]


def test_what_somebody_else_changes_meanwhile_is_said_and_put_right(
    lab: HostsLab, control: Control, said: list[str]
) -> None:
    with control(Notes()) as network:
        network.apply({"net.tso": "off"})
        assert network.disturbed() == ""
        lab.run("h2", "ethtool", "-K", "eth0", "tso", "on")
        sentence = "node h2: eth0: net.tso is on, though it was set to off: somebody else changed it"
        network.apply({"net.tso": "off"})
        assert said == [f"{sentence}; it is put right."]
        lab.run("h2", "ethtool", "-K", "eth0", "tso", "on")
        assert network.disturbed() == sentence
        network.apply({"net.tso": "off"})
        assert [tso(lab, host) for host in lab.names] == ["off", "off"]


class AsNobody(Local):
    """Commands of a user who is not root, on a host."""

    def __init__(self, lab: HostsLab) -> None:
        self.lab = lab

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        """As `Local`."""
        return [*self.lab.enter(node), "runuser", "-u", "nobody", "--", *command]


def test_what_another_user_left_is_named_and_root_puts_it_back(lab: HostsLab, control: Control) -> None:
    nobody, root, notes = AsNobody(lab), reach(lab), Notes()
    with control(notes) as network:
        network.apply({"net.tso": "off"})
        sentence = (
            r"node h1: study noted of root, process \d+ on .*, which has ended, left eth0 net\.tso changed: root or "
        )
        with pytest.raises(HeldError, match=sentence + "root puts that back with `hpltune net restore ⟦hosts⟧ h1`"):
            SettingsControl(nobody, ("h1",), ("eth0",), Notes()).apply({"net.tso": "off"})
        (note,) = lab.notes("h1")
        text = note.read_text()
    lab.run("h1", "ethtool", "-K", "eth0", "tso", "off")
    forged = note.with_suffix("." + "0" * 32)
    left = text + "was eth0 mtu 68; reboot\nwas eth0;reboot mtu 68\nwas eth0 tso maybe\nwas - colour red\n"
    lab.run("h1", "runuser", "-u", "nobody", "--", "sh", "-c", 'printf %s "$1" >"$2"', "forge", left, str(forged))
    with pytest.raises(
        HeldError, match=r"node h1: study noted of nobody, .* left eth0 net\.tso changed: nobody or root"
    ):
        settle(root, "h1", notes.holder)
    assert [each.setting for each in settle(root, "h1", notes.holder, of_all_users=True)] == ["net.tso"]


def test_a_note_of_another_boot_or_that_is_none_says_nothing(lab: HostsLab, control: Control) -> None:
    with control(Notes()) as network:
        network.apply({"net.tso": "off"})
        (note,) = lab.notes("h2")
        text = note.read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        older, none, link = (note.with_suffix("." + digit * 32) for digit in "012")
        older.write_text(text.replace(boot, "an-earlier-boot"))
        none.write_text("nothing of the kind\n")
        link.symlink_to(older)
        assert [mark.token for mark in marks_on(reach(lab), "h2")[1]] == [note.suffix[1:]]
        for file in (older, none, link):
            file.unlink()


def test_where_no_note_can_be_left_nothing_is_changed(lab: HostsLab, control: Control) -> None:
    full = lab.programs / "mv"
    full.write_text('#!/bin/sh\necho "mv: No space left on device" >&2\nexit 1\n')
    full.chmod(0o755)
    try:
        with (
            control(Notes()) as network,
            pytest.raises(
                RefusedError, match="who changes its network cannot be noted there, so nothing is changed: mv"
            ),
        ):
            network.apply({"net.tso": "off"})
    finally:
        full.unlink()
