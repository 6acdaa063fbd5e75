"""The script at the root, with an interpreter and a pip that behave as a test wants."""

import fcntl
import os
import pty
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import sysconfig
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from as_user import program
from needs import needs, skip_without
from waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[3]
OF_FILES = ("dirname", "readlink", "mkdir", "rm", "cat", "touch", "cksum")
TOOLS = (*OF_FILES, "sh", "grep", "tail", "env", "id", "sleep", "cut", "date")
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
elif arguments[0].endswith("uv_settings.py"):
    print(os.environ.get("SETTINGS", ""))
elif arguments[:3] == ["-m", "pip", "install"] and arguments[-1] == "uv":
    if "UV_IN_INDEX" not in os.environ:
        sys.exit("ERROR: No matching distribution found for uv")
    folder = pathlib.Path(arguments[arguments.index("--target") + 1]) / "bin"
    folder.mkdir(parents=True)
    shutil.copy(os.environ["UV_IN_INDEX"], folder / "uv")
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

UV = f"""#!{Path(sys.executable).resolve()} -I
import os, pathlib, sys

if sys.argv[1] != "--version":
    with open(os.environ["PIP_CALLS"], "a") as calls:
        calls.write(f"uv from {{os.environ.get('UV_INDEX_URL')}}\\n")
    if "UV_FAILS" in os.environ:
        sys.exit("error: " + os.environ["UV_FAILS"])
    script = pathlib.Path(sys.argv[sys.argv.index("--python") + 1]).parent / "hpltune"
    script.write_text('#!/bin/sh\\necho "hpltune $*"\\n')
    script.chmod(0o755)
"""
FULL = """#!/bin/sh
echo "Filesystem     1024-blocks      Used Available Capacity Mounted on"
echo "/dev/sda1         20000000  19900000    100000     100% /"
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
        self.environment = {"PATH": str(self.machine), "HOME": str(folder / "home"), "PIP_CALLS": str(self.calls)}

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
    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    @property
    def installations(self) -> int:
        return len(self.called)

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
    assert stat.S_IMODE((checkout.root.parent / "home/.cache/hpltune").stat().st_mode) == 0o700
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


def test_the_environment_of_another_checkout_stays_and_so_does_a_link_to_it(checkout: Checkout) -> None:
    checkout.run()
    other = checkout.root / ".venv"
    own = other.rename(checkout.root.parent / "theirs")
    (own / "hpltune-installed").write_text("/another/checkout\n/usr/bin/python3\n")
    other.symlink_to(own)
    done = checkout.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "is a link, and leads to no environment of this checkout: remove it" in done.stderr
    assert other.is_symlink()
    assert (own / "bin/hpltune").exists()


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
        "hpltune: the installation failed: the package index: it answers, but lacks a package that is needed "
        "(No matching distribution found for numpy)"
    )
    assert "behind a proxy set https_proxy" in sentence
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
            skip_without("util-linux")
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


@pytest.mark.skipif(os.geteuid() == 0, reason=needs("a user without root"))
def test_a_checkout_that_cannot_be_written_is_installed_in_the_cache(checkout: Checkout) -> None:
    checkout.root.chmod(0o555)
    assert checkout.run("show").stdout.startswith("hpltune show")
    assert checkout.run("show").stderr == ""
    assert checkout.installations == 1


def test_uv_on_path_installs_from_the_index_of_pip(checkout: Checkout) -> None:
    program(checkout.machine / "uv", UV)
    done = checkout.run("show", SETTINGS="export UV_INDEX_URL='https://index.example/simple'")
    assert done.stdout.startswith("hpltune show\n")
    assert checkout.called == ["uv from https://index.example/simple"]


def test_uv_is_borrowed_from_the_index_and_given_back(checkout: Checkout) -> None:
    borrowed = program(checkout.root.parent / "uv of the index", UV)
    assert checkout.run("show", UV_IN_INDEX=str(borrowed)).stdout.startswith("hpltune show\n")
    assert checkout.called == ["uv from None"]
    assert not (checkout.root / ".venv/uv").exists()


def test_where_uv_fails_pip_installs_without_a_word(checkout: Checkout) -> None:
    program(checkout.machine / "uv", UV)
    done = checkout.run("show", UV_FAILS="unexpected argument")
    assert done.returncode == 0
    assert "uv" not in done.stderr.replace(str(checkout.root), "")
    assert checkout.called == ["uv from None", "pip"]


def settings_of_uv(folder: Path, configuration: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "pip.conf").write_text(configuration)
    return subprocess.run(
        [sys.executable, "-I", str(ROOT / ".ci/uv_settings.py")],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PIP_CONFIG_FILE": str(folder / "pip.conf"), **variables},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("configuration", "variables", "exported"),
    [
        ("[global]\nindex-url = https://a.example/simple", {}, "UV_INDEX_URL=https://a.example/simple"),
        (
            "[global]\nindex-url = https://a.example/simple\n[install]\nindex-url = https://b.example/simple",
            {},
            "UV_INDEX_URL=https://b.example/simple",
        ),
        (
            "[install]\nindex-url = https://b.example/simple",
            {"PIP_INDEX_URL": "https://c.example/simple"},
            "UV_INDEX_URL=https://c.example/simple",
        ),
        ("[global]\nfind-links =\n  /a wheel/\n  /b", {}, "UV_FIND_LINKS=/a,wheel/,/b"),
        ("[global]\ncert = /etc/own.crt", {}, "SSL_CERT_FILE=/etc/own.crt"),
        ("[global]\nindex-url = https://a.example", {"UV_INDEX_URL": "https://own"}, "UV_INDEX_URL=https://own"),
    ],
)
def test_settings_of_pip_are_told_to_uv(
    tmp_path: Path, configuration: str, variables: dict[str, str], exported: str
) -> None:
    assert f"export {exported}\n" in settings_of_uv(tmp_path, configuration, **variables).stdout


def test_settings_that_uv_lacks_leave_the_installation_to_pip(tmp_path: Path) -> None:
    done = settings_of_uv(tmp_path, "[install]\nconstraint = /etc/constraints.txt")
    assert done.returncode == 1
    assert "pip's constraint" in done.stderr


@pytest.mark.parametrize(
    ("logged", "said"),
    [
        (
            """Err:1 http://deb.debian.org/debian trixie InRelease
  Temporary failure resolving 'deb.debian.org'
E: Unable to locate package python3-pip-whl""",
            "the network: the name deb.debian.org cannot be found",
        ),
        ("  cause: Failed to fetch: https://pypi.org/simple/numpy/\n  cause: Network is unreachable (os error 101)",
         "the network: no way leads to the package index"),
        ("HTTPSConnectionPool(host='pypi.org', port=443): Read timed out. (read timeout=15)",
         "the network: pypi.org did not answer in time"),
        ("Could not fetch URL https://me:secret@index.example/numpy/: [SSL: CERTIFICATE_VERIFY_FAILED] failed",
         "the network: index.example shows a certificate"),
        ("ERROR: [Errno 28] No space left on device\nnote: This error originates from a subprocess",
         "the disk is full: free"),
        ("", "it ended without a word: look whether"),
        ("ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/usr/lib/x'",
         "a file may not be written (Could not install packages"),
        ("E: Failed to fetch http://deb.debian.org/pool/p.deb  404  Not Found [IP: 127.0.0.1 80]",
         "the package index: deb.debian.org answers with the error 404"),
        ("  error: gcc failed\nERROR: Failed building wheel for x\nnote: This error originates from a subprocess",
         "Failed building wheel for x"),
    ],
)  # fmt: skip
def test_what_was_wrong_is_said_by_its_kind(tmp_path: Path, logged: str, said: str) -> None:
    (tmp_path / "log").write_text(logged + "\n")
    told = in_bootstrap(tmp_path, "since=1; complaint")
    assert told.stdout.startswith(said), told
    assert "originates from a subprocess" not in told.stdout
    assert "secret" not in told.stdout


def test_a_log_for_which_there_is_no_room_is_written_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "install.log").symlink_to("/dev/full")
    told = in_bootstrap(tmp_path, 'open_log; echo "$log"', TMPDIR=str(tmp_path))
    assert Path(told.stdout.strip()).parent == tmp_path
    assert "install.log" not in told.stdout


def in_bootstrap(folder: Path, lines: str, *before: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What lines of shell print that may call functions of `.ci/bootstrap` for an environment in a folder."""
    (folder / "log").touch()
    text = f". '{ROOT}/.ci/bootstrap'; here='{ROOT}' venv='{folder}/venv' cache='{folder}' log='{folder}/log'\n{lines}"
    return subprocess.run(
        [*before, "sh", "-uc", text],
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **variables},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that borrows the pip of the tests, because it takes long to install one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture
def index() -> Iterator[str]:
    """An index that answers with the error that the path begins with."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(int(self.path.split("/")[1]))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


FAILING = "step installing install_packages -e . && echo installed || complaint"
ALONE = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
"""No settings of this machine say where packages are, or how they are reached."""


@pytest.mark.heavy
@pytest.mark.parametrize("answer", ["403", "404", "503"])
def test_an_index_that_answers_with_an_error_is_said(environment: Path, index: str, answer: str) -> None:
    done = in_bootstrap(environment, FAILING, PIP_INDEX_URL=f"{index}/{answer}/simple", **ALONE)
    assert re.match(rf"the package index: 127\.0\.0\.1(:\d+)? answers with the error {answer}: ", done.stdout), done


@pytest.mark.heavy
def test_an_index_that_nobody_serves_is_said(environment: Path) -> None:
    nobody = "http://127.0.0.1:9/simple"
    done = in_bootstrap(environment, FAILING, PIP_INDEX_URL=nobody, **ALONE)
    assert re.match(r"the network: 127\.0\.0\.1(:9)? refuses the connection: check the network", done.stdout), done


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason=needs("root"))
def test_a_machine_without_a_network_says_so(environment: Path) -> None:
    done = in_bootstrap(environment, FAILING, "unshare", "--net", **ALONE)
    named = "the name (pypi.org|of the package index)"  # some versions of pip do not tell where they look
    assert re.match(f"the network: {named} cannot be found, because there is no network", done.stdout), done


def test_a_full_disk_is_said_before_anything_is_written(checkout: Checkout) -> None:
    program(checkout.machine / "df", FULL)
    full = checkout.run()
    assert "the disk is full" in full.stderr
    assert "has 97 MB left, and the installation takes 600 MB: free them" in full.stderr
    assert (checkout.installations, checkout.left) == (0, set())


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("told_by", ["stty", "COLUMNS"])
def test_a_terminal_shows_one_line_for_each_step(checkout: Checkout, columns: int, told_by: str) -> None:
    variables = {**checkout.environment, "PIP_TAKES": "1.5"}
    if told_by == "stty":
        (checkout.machine / "stty").symlink_to(str(shutil.which("stty")))
    else:
        variables["COLUMNS"] = str(columns)
    written = in_terminal([str(checkout.root / "hpltune"), "show"], columns, variables)
    lines = [line.split("\r\033[K") for line in written.split("\r\n")]
    assert all(len(shown) < columns for line in lines for shown in line[1:]), written
    steps = [line for line in lines if len(line) > 1]
    assert len(steps) == 2, written
    making, installing = (line[-1] for line in steps)
    assert re.fullmatch(r"making the virtual env.* \(\d+ s\)", making)
    assert re.fullmatch(r"installing hpltune.* \(\d+ s\)", installing)


def in_terminal(line: list[str], columns: int, variables: dict[str, str]) -> str:
    """What a program writes to a terminal with so many columns."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(line, stdin=terminal, stdout=terminal, stderr=terminal, env=variables):
        os.close(terminal)
        written = b""
        with suppress(OSError):
            while read := os.read(screen, 4096):
                written += read
    os.close(screen)
    return written.decode()
