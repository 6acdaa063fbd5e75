"""The script at the root, with an interpreter and a pip that behave as a test wants."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from as_user import program
from waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[3]
TOOLS = (
    "sh",
    "dirname",
    "readlink",
    "mkdir",
    "rm",
    "cat",
    "grep",
    "tail",
    "touch",
    "env",
    "id",
    "sleep",
    "cksum",
    "cut",
)
ENV = "/usr/bin/env"
"""Starts a program with SIGINT as a terminal would give it: what runs in the background has it ignored."""

PYTHON = f"""#!{Path(sys.executable).resolve()} -I
import os, pathlib, shutil, sys, time

arguments = [word for word in sys.argv[1:] if word != "-I"]
if arguments[0] == "--version":
    print(os.environ.get("FAKE_VERSION", "Python 3.12.1"))
elif arguments[0] == "-c" and "version_info <" in arguments[1]:
    sys.exit("FAKE_VERSION" in os.environ)
elif arguments[0] == "-c" and "realpath" in arguments[1]:
    print(os.path.realpath(sys.argv[0]))
elif arguments[:2] == ["-m", "venv"]:
    print("venv was called")
    folder = pathlib.Path(arguments[-1]) / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(shutil.which("python3"))
elif arguments[:3] == ["-m", "pip", "install"]:
    with open(os.environ["PIP_CALLS"], "a") as calls:
        calls.write("pip\\n")
    time.sleep(float(os.environ.get("PIP_TAKES", "0")))
    if "PIP_FAILS" in os.environ:
        sys.exit("ERROR: " + os.environ["PIP_FAILS"])
    script = pathlib.Path(sys.argv[0]).parent / "hpltune"
    script.write_text('#!/bin/sh\\necho "hpltune $*"\\npwd\\n')
    script.chmod(0o755)
"""


class Checkout:
    """A checkout with nothing installed, on a machine with hardly any programs."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.machine = folder / "machine"
        self.calls = folder / "calls"
        self.root.mkdir()
        self.machine.mkdir()
        shutil.copy(ROOT / "hpltune", self.root)
        shutil.copytree(ROOT / ".ci", self.root / ".ci")
        (self.root / "pyproject.toml").write_text("")
        for tool in TOOLS:
            (self.machine / tool).symlink_to(str(shutil.which(tool)))
        self.python = program(self.machine / "python3", PYTHON)
        self.environment = {
            "PATH": str(self.machine),
            "HOME": str(folder / "home"),
            "PIP_CALLS": str(self.calls),
        }

    def start(self, *arguments: str, script: Path | None = None, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [ENV, "--default-signal=INT", str(script or self.root / "hpltune"), *arguments],
            env={**self.environment, **variables},
            cwd=self.root.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, script: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, script=script, **variables)
        out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def wait_for_pip(self, process: subprocess.Popen[str]) -> None:
        until(lambda: self.installations or process.poll() is not None)
        assert process.poll() is None, process.communicate()

    @property
    def installations(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    @property
    def left(self) -> set[str]:
        return {path.name for path in self.root.iterdir()} - {"hpltune", ".ci", "pyproject.toml"}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_start_installs_and_later_ones_only_start(checkout: Checkout) -> None:
    first = checkout.run("tune", "two words")
    assert first.stdout.splitlines() == ["hpltune tune two words", str(checkout.root.parent)]
    assert "first use: making" in first.stderr
    assert "installing hpltune and what it needs" in first.stderr
    assert checkout.left == {".venv"}
    second = checkout.run("show")
    assert (second.stdout.splitlines()[0], second.stderr) == ("hpltune show", "")
    assert checkout.installations == 1


def test_it_is_found_through_links_from_anywhere(checkout: Checkout) -> None:
    checkout.run()
    link = checkout.root.parent / "link"
    link.symlink_to("a checkout/hpltune")
    other = checkout.machine / "hpltune"
    other.symlink_to(link)
    assert checkout.run("best", script=other).stdout.startswith("hpltune best")
    assert checkout.installations == 1


def test_a_changed_project_is_installed_anew_into_the_same_environment(checkout: Checkout) -> None:
    checkout.run()
    mark = checkout.root / ".venv/mark"
    mark.touch()
    later = time.time() + 10
    os.utime(checkout.root / "pyproject.toml", (later, later))
    assert "pyproject.toml changed" in checkout.run().stderr
    assert mark.exists()
    assert checkout.run().stderr == ""
    assert checkout.installations == 2


def test_a_moved_checkout_gets_a_new_environment(checkout: Checkout) -> None:
    checkout.run()
    (checkout.root / ".venv/mark").touch()
    checkout.root = checkout.root.rename(checkout.root.parent / "moved")
    assert "first use" in checkout.run().stderr
    assert not (checkout.root / ".venv/mark").exists()


def test_an_upgraded_python_gets_a_new_environment(checkout: Checkout) -> None:
    checkout.python.rename(checkout.machine / "python3.12")
    checkout.python.symlink_to("python3.12")
    checkout.run()
    program(checkout.machine / "python3.13", PYTHON)
    checkout.python.unlink()
    checkout.python.symlink_to("python3.13")
    assert "first use" in checkout.run().stderr
    assert checkout.run().stderr == ""


def test_a_failed_installation_says_why_and_leaves_nothing(checkout: Checkout) -> None:
    failed = checkout.run(PIP_FAILS="No matching distribution found for numpy")
    assert failed.returncode == 1
    sentence = failed.stderr.splitlines()[-1]
    assert sentence.startswith(
        "hpltune: pip could not install hpltune: ERROR: No matching distribution found for numpy"
    )
    log = Path(sentence.rsplit("(log: ", 1)[1].rstrip(")"))
    assert "No matching" in log.read_text()
    assert checkout.left == set()
    assert checkout.run().returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_leaves_nothing_behind(checkout: Checkout, number: signal.Signals, code: int) -> None:
    process = checkout.start(PIP_TAKES="30")
    checkout.wait_for_pip(process)
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert "nothing of the unfinished installation is left" in err
    assert checkout.left == set()


@pytest.mark.parametrize("flock", [True, False], ids=["flock", "no flock"])
def test_two_first_starts_install_once(checkout: Checkout, flock: bool) -> None:  # noqa: FBT001
    if flock:
        tool = shutil.which("flock")
        if tool is None:
            pytest.skip("this machine has no flock")
        (checkout.machine / "flock").symlink_to(tool)
    both = [checkout.start("show", PIP_TAKES="1") for _ in range(2)]
    assert [process.communicate(timeout=PATIENCE_S)[0].splitlines()[0] for process in both] == ["hpltune show"] * 2
    assert checkout.installations == 1
    assert checkout.left == {".venv"}


def test_a_start_that_was_killed_is_no_hindrance(checkout: Checkout) -> None:
    process = checkout.start(PIP_TAKES="30")
    checkout.wait_for_pip(process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert checkout.run("show").stdout.startswith("hpltune show")
    assert checkout.left == {".venv"}


def test_an_old_or_missing_python_is_a_sentence(checkout: Checkout) -> None:
    old = checkout.run(FAKE_VERSION="Python 3.9.2")
    assert "Python 3.11 or newer is needed" in old.stderr
    assert "found: Python 3.9.2" in old.stderr
    checkout.python.unlink()
    missing = checkout.run()
    assert missing.returncode == 1
    assert "found: none" in missing.stderr
    assert checkout.left == set()


def test_no_pip_no_ensurepip_and_no_apt_is_a_sentence(checkout: Checkout) -> None:
    program(
        checkout.python,
        PYTHON.replace(
            'elif arguments[:2] == ["-m", "venv"]',
            'elif arguments[0] == "-c" and "ensurepip" in arguments[1] or arguments[2:] == ["--version"]:\n'
            '    sys.exit(1)\nelif arguments[:2] == ["-m", "venv"]',
        ),
    )
    failed = checkout.run()
    assert "there is neither ensurepip nor pip nor apt-get" in failed.stderr
    assert "python3-venv" in failed.stderr
    assert checkout.left == set()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_checkout_that_cannot_be_written_is_installed_in_the_cache(checkout: Checkout) -> None:
    checkout.root.chmod(0o555)
    assert checkout.run("show").stdout.startswith("hpltune show")
    assert checkout.run("show").stderr == ""
    assert checkout.installations == 1
