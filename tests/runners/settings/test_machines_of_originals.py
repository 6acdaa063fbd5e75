"""An original goes back to the machine and the boot that it was read from, whatever a host's name leads to now."""

import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import made_up_settings
import pytest
from as_user import program
from hypothesis import given
from hypothesis import strategies as st
from made_up_settings import PLACE
from settings_builders import Notes

from runners.errors import HeldError
from runners.hosts.transport import Local
from runners.settings import registry
from runners.settings.control import SettingsControl
from runners.settings.journal import Original, identity_in
from runners.settings.restore import PutBack, put_back

pytestmark = pytest.mark.xdist_group("settings of this machine")
"""Their stand-ins are this machine for timers and notes, and so are other tests of its settings."""
IDS = ("boot_id", "machine-id", "product_uuid")
HEAD = """#!/bin/sh
case "$3" in */boot_id|*/machine-id|*/product_uuid) exec {head} -c "$2" "{folder}/${{3##*/}}";; esac
exec {head} "$@"
"""


class StandIn(Local):
    """A machine in a folder: its ids are files there, and so is the value of its setting."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        program(folder / "head", HEAD.format(head=shutil.which("head"), folder=folder))
        self.write(PLACE, "7")
        self.write("machine-id", uuid.uuid4().hex)
        self.restart()

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        del node
        return ["env", "-C", str(self.folder), f"PATH={self.folder}:{os.environ['PATH']}", *command]

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"{text}\n")

    def restart(self, value: str = "7") -> None:
        self.write("boot_id", str(uuid.uuid4()))
        self.write(PLACE, value)

    @property
    def value(self) -> str:
        return (self.folder / PLACE).read_text().strip()

    @property
    def original(self) -> Original:
        """Its value with the ids that it tells, as a control keeps it."""
        notes = Notes()
        with SettingsControl(self, ("m1",), (), notes) as control:
            control.apply({"sys.test_value": 3})
            (original,) = notes.kept.values()
        return original

    def put_back(self, original: Original) -> PutBack:
        self.write(PLACE, "3")
        return put_back(self, [original])


Machine = Callable[[str], StandIn]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(registry, "SETTINGS", registry.SETTINGS)
    made_up_settings.register(Path())
    return lambda name: StandIn(tmp_path / name)


def test_an_original_goes_back_to_its_machine(machine: Machine) -> None:
    here = machine("here")
    original = here.original
    outcome = here.put_back(original)
    assert (outcome.done, outcome.left, outcome.outdated, here.value) == ((original,), {}, (), "7")


def test_a_machine_that_was_started_anew_keeps_the_values_of_that_start_and_the_original_is_forgotten(
    machine: Machine,
) -> None:
    here = machine("here")
    original = here.original
    here.restart()
    outcome = here.put_back(original)
    assert (outcome.done, outcome.left, outcome.outdated, here.value) == ((), {}, (original,), "3")
    assert " ".join(outcome.notices) == (
        "m1 was started anew since hpltune changed it, and has the values of that start: nothing is written, and what "
        "it had before is forgotten (sys.test_value = 7)."
    )


def test_another_machine_of_that_name_is_left_alone_and_the_original_is_kept(machine: Machine) -> None:
    original, other = machine("here").original, machine("other")
    outcome = other.put_back(original)
    assert (outcome.done, outcome.outdated, other.value) == ((), (), "3")
    assert outcome.left == {
        "m1": "node m1: another machine answers by that name than the one of which sys.test_value = 7 is kept, so "
        "nothing is written there, and that one may still be changed: let the name (DNS, /etc/hosts, ssh's "
        "configuration) lead to it again; if it is gone, `hpltune net restore ⟦forget⟧ m1` forgets it"
    }


def test_of_the_originals_of_two_machines_with_one_name_each_machine_gets_its_own(machine: Machine) -> None:
    here, other = machine("here"), machine("other")
    other.write(PLACE, "5")
    both = [here.original, other.original]
    for one in (here, other):
        one.write(PLACE, "3")
        outcome = put_back(one, both)
        assert (len(outcome.done), list(outcome.left)) == (1, ["m1"])
    assert (here.value, other.value) == ("7", "5")


@pytest.mark.parametrize("lacking", [("machine-id",), IDS])
def test_where_no_id_is_known_the_name_decides(machine: Machine, lacking: Sequence[str]) -> None:
    here = machine("here")
    for name in lacking:
        here.write(name, "uninitialized")
    original = here.original
    here.restart()
    assert here.put_back(original).done == (original,)
    assert here.put_back(Original("m1", "", "sys.test_value", "7")).done
    assert here.value == "7"


def test_a_machine_that_gets_another_id_while_it_runs_is_still_the_machine(machine: Machine) -> None:
    here = machine("here")
    original = here.original
    here.write("machine-id", uuid.uuid4().hex)
    assert (here.put_back(original).done, here.value) == ((original,), "7")


def test_a_node_that_another_study_took_after_it_was_started_anew_is_left_to_that(machine: Machine) -> None:
    here, journal, others = machine("here"), Notes(owner=uuid.uuid4().hex, living=["other"]), Notes(owner="other")
    control = SettingsControl(here, ("m1",), (), journal)
    control.apply({"sys.test_value": 3})
    here.restart("5")
    for note in (*Path("/run/lock").glob("hpltune-net-*"), *Path("/tmp").glob("hpltune-net-*")):  # noqa: S108 - a node's
        if journal.holder.owner in note.read_text():
            note.unlink()
    with SettingsControl(here, ("m1",), (), others) as theirs:
        theirs.apply({"sys.test_value": 6})
        with pytest.raises(HeldError, match="in use by"):
            control.apply({"sys.test_value": 4})
        assert (here.value, control.restore(), journal.kept) == ("6", {}, {})
    assert (here.value, others.kept) == ("5", {})


def test_firmware_tells_a_machine_without_an_id_apart(machine: Machine) -> None:
    here, other = machine("here"), machine("other")
    for one in (here, other):
        one.write("machine-id", "")
        one.write("product_uuid", str(uuid.uuid4()).upper())
    assert list(other.put_back(here.original).left) == ["m1"]


def test_a_node_that_starts_anew_during_a_study_ends_with_the_values_of_that_start(machine: Machine) -> None:
    here, journal, said = machine("here"), Notes(), list[str]()
    with SettingsControl(here, ("m1",), (), journal, say=said.append) as control:
        control.apply({"sys.test_value": 3})
        here.restart("5")
        anew = "node m1: sys.test_value is 5, though it was set to 3: the node was started anew"
        assert control.disturbed() == anew
        control.apply({"sys.test_value": 4})
        assert [each.value for each in journal.kept.values()] == ["5"]
    assert (here.value, journal.kept) == ("5", {})


def test_a_node_that_starts_anew_after_the_last_run_is_left_as_it_is_and_a_sentence_says_so(machine: Machine) -> None:
    here, journal, said = machine("here"), Notes(), list[str]()
    with SettingsControl(here, ("m1",), (), journal, say=said.append) as control:
        control.apply({"sys.test_value": 3})
        here.restart("5")
    assert (here.value, journal.kept) == ("5", {})
    assert [sentence.partition(" since ")[0] for sentence in said] == ["m1 was started anew"]


def test_a_study_whose_node_becomes_another_machine_changes_nothing_there(machine: Machine) -> None:
    here, journal = machine("here"), Notes()
    control = SettingsControl(here, ("m1",), (), journal)
    control.apply({"sys.test_value": 3})
    first = (here.folder / "machine-id").read_text().strip()
    here.write("machine-id", uuid.uuid4().hex)
    here.restart("5")
    assert "another machine answers by that name" in control.disturbed()
    with pytest.raises(HeldError, match="another machine answers by that name"):
        control.apply({"sys.test_value": 4})
    assert "another machine answers" in control.restore()["m1"]
    assert (here.value, len(journal.kept)) == ("5", 1)
    here.write("machine-id", first)
    assert control.restore() == {}


@given(
    st.text(max_size=900) | st.lists(st.sampled_from(["boot ", "machine ", "\n", "a1" * 16, "\x1b[2J"])).map("".join)
)
def test_ids_are_hexadecimal_or_nothing_whatever_a_node_answers(printed: str) -> None:
    for found in identity_in(printed):
        assert not found or (len(found) == 32 and set(found) <= set("0123456789abcdef"))


def test_an_id_is_stored_as_a_hash_and_firmware_without_one_tells_none() -> None:
    machine, boot = identity_in(f"boot {uuid.UUID(int=17)}\nmachine {'ab' * 16}\nproduct {uuid.UUID(int=5)}")
    assert ("ab" * 16 not in machine, boot) == (True, uuid.UUID(int=17).hex)
    assert identity_in(f"boot \nmachine \nproduct {uuid.UUID(int=0)}") == ("", "")
