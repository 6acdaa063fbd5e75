"""Speaking to nodes: real sshd on hosts of their own."""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from net_lab import HostsLab
from present import present
from runner_contract import executable

from runners.errors import InvalidJobError, UnreachableError
from runners.hosts.host_names import HOST_NAME, host_named, launcher_name
from runners.hosts.node_facts import NodeSays, ask_nodes
from runners.hosts.transport import Local, Ssh, ask, say, say_all

SHELLS = [name for name in ("sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish") if shutil.which(name)]


def from_h1(lab: HostsLab, *extra: str) -> Ssh:
    """Ssh as it is seen from the first host."""
    return Ssh((*lab.enter("h1"), *lab.ssh, *extra))


@pytest.mark.parametrize("name", ["-oProxyCommand=evil", "a b", "a;b", "$(x)", "", "h1\n", "a" * 300])
def test_what_is_no_host_name_reaches_no_command_line(name: str) -> None:
    with pytest.raises(InvalidJobError, match="not the name of a host"):
        Ssh().argv(name, ("true",))


@pytest.mark.heavy
@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), min_size=1))
def test_a_shell_reads_the_tokens_that_were_given(tokens: list[str]) -> None:
    sent = Ssh().argv("h1", (sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *tokens))[-1]
    done = subprocess.run(["/bin/sh", "-c", sent], capture_output=True, text=True, check=True)
    assert done.stdout == f"{tokens!a}\n"


@pytest.mark.parametrize("shell", SHELLS)
@given(text=st.text(st.characters(codec="utf-8", blacklist_characters="\0")))
@example(text="two lines: 'a'\n\\'b\\\\' $HOME !! `x` \"y\" ~ {a,b} *")
def test_every_login_shell_hands_on_the_same(shell: str, text: str) -> None:
    sent = Ssh().argv("h1", ("printf", "%s", text))[-1]
    assert not set(sent) & set("\n!"), "csh takes them for more than they are, quoted or not"
    done = subprocess.run([shell, "-c", sent], capture_output=True, check=True)
    assert done.stdout.decode() == text


def login(folder: Path, text: str) -> Ssh:
    """Ssh to a node whose login shell does this, with its command in $command."""
    return Ssh((str(executable(folder / "ssh", f"for command; do :; done\n{text}")),))


@pytest.mark.parametrize("greeting", ["echo Welcome", "printf 'no end of line'", "echo hello >&2"])
def test_what_a_login_shell_prints_by_itself_is_no_answer(tmp_path: Path, greeting: str) -> None:
    reach = login(tmp_path, f'{greeting}; exec sh -c "$command"')
    assert ask(reach, "h1", ("sh", "-c", "cat; echo end"), stdin="sent\n") == "sent\nend\n"
    says = ask_nodes(reach, ("h1",))["h1"]
    assert isinstance(says, NodeSays)
    assert says.hostname == platform.node()


@pytest.mark.parametrize(
    ("text", "why"),
    [("echo This account is not available; exit 1", "This account is not available"), ("exit 0", "it just ends")],
)
def test_a_login_shell_that_runs_nothing_is_said(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UnreachableError, match=f"node h1: its login shell runs no commands: {why}"):
        say(login(tmp_path, text), "h1", ("true",))


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("fd77::2", "fd77::2"), ("[FD77:0::2]", "fd77::2"), ("fe80::1%eth0", "fe80::1%eth0"),
        ("::ffff:10.77.0.2", "::ffff:10.77.0.2"), ("10.77.0.2", "10.77.0.2"), ("node-1.site", "node-1.site"),
    ],
)  # fmt: skip
def test_names_and_addresses_of_both_kinds_are_hosts(text: str, host: str) -> None:
    assert str(host_named(text)).replace("a4d:2", "10.77.0.2") == host
    assert HOST_NAME.fullmatch(launcher_name(host)), "launchers split hosts at colons"


@pytest.mark.parametrize("text", ["[fd77::2", "fd77::2]", "fd77::2:", "fd77::g", "fe80::1%e;x", "[h1]", ":", "1::2::3"])
def test_what_only_looks_like_an_address_is_no_host(text: str) -> None:
    assert host_named(text) is None


def test_this_machine_is_spoken_to_directly() -> None:
    assert ask(Local(), "localhost", ("echo", "hello")) == "hello\n"


def test_a_command_runs_on_the_node_it_is_sent_to(lab: HostsLab) -> None:
    assert ask(from_h1(lab), "h2", ("hostname",)) == "h2\n"
    assert say(from_h1(lab), "h2", ("sh", "-c", "echo out; exit 3")).exit_code == 3


def test_all_nodes_are_spoken_to_and_those_that_do_not_answer_say_why(lab: HostsLab) -> None:
    said = say_all(from_h1(lab), ("h1", "h2", "h9"), ("hostname",))
    assert [getattr(said[node], "stdout", None) for node in ("h1", "h2")] == ["h1\n", "h2\n"]
    assert "its name is not known" in str(said["h9"])


def test_a_changed_host_key_is_said_with_what_forgets_the_old_one(lab: HostsLab, tmp_path: Path) -> None:
    other = tmp_path / "known hosts"
    key = (lab.folder / "user_key.pub").read_text().rsplit(" ", maxsplit=1)[0]
    other.write_text(f"h2 {key}\n")
    reach = from_h1(lab, "-o", f'UserKnownHostsFile="{other}"')
    with pytest.raises(UnreachableError, match="node h2: its host key has changed") as changed:
        ask(reach, "h2", ("true",))
    command = present(re.search("`(ssh-keygen [^`]*)`", str(changed.value)))
    subprocess.run(["sh", "-c", command[1]], check=True, capture_output=True)
    with pytest.raises(UnreachableError, match="its host key is not known here yet"):
        ask(reach, "h2", ("true",))


def test_an_unknown_host_key_is_said_with_what_logs_in_once(lab: HostsLab) -> None:
    reach = from_h1(lab, "-o", "UserKnownHostsFile=/dev/null")
    with pytest.raises(UnreachableError, match="its host key is not known here yet: log in once with `") as unknown:
        ask(reach, "h2", ("true",))
    command = present(re.search("`([^`]*)`", str(unknown.value)))
    done = subprocess.run(
        ["sh", "-c", f"{command[1]} -o StrictHostKeyChecking=accept-new hostname"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "h2" in done.stdout + done.stderr


def test_a_node_that_wants_a_password_says_how_to_set_up_a_key(lab: HostsLab) -> None:
    with pytest.raises(UnreachableError, match="ssh-copy-id h2"):
        ask(from_h1(lab, "-o", "PubkeyAuthentication=no"), "h2", ("true",))


def test_a_node_that_is_cut_off_does_not_answer(lab: HostsLab) -> None:
    lab.link("h2", "down")
    try:
        with pytest.raises(UnreachableError, match="node h2: "):
            ask(from_h1(lab, "-o", "ConnectTimeout=1"), "h2", ("true",))
    finally:
        lab.link("h2", "up")
