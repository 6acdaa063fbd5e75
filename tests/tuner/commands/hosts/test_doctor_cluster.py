"""`hpltune doctor --cluster` looks at what a study needs, by the functions that the study itself uses."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from as_user import Run
from net_lab import USUAL_MTU, HostsLab
from on_head import OnHead
from slurm_lab import SlurmLab
from stand_in_runtimes import apptainer

pytestmark = [pytest.mark.real]
QUICK = ("--blas", "openblas", "--set", "N=800", "--set", "binding=none", "--budget", "1m", "--trials", "1")


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(3)


def write_cluster(lab: HostsLab, home: Path, **changed: object) -> Path:
    file = home / "lab.toml"
    file.write_text(lab.cluster(**{"hosts": ["h1", "h2"], **changed}) + "[node]\nmemory_gib = 1\n")
    return file


def missing(done: str) -> list[str]:
    found: list[str] = json.loads(done)["missing"]
    return found


@pytest.mark.usefixtures("real_hpl")
def test_a_time_limit_in_which_not_even_the_first_runs_fit_is_told_by_doctor_and_tune(
    hpltune: Run, home: Path, slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.configuration))
    file = home / "cluster.toml"
    file.write_text(slurm.cluster("cores = 1\nmemory_gib = 1\n", partition="short", exclusive=False))
    done = hpltune("doctor", "--cluster", str(file), "--json")
    assert done.returncode == 1
    (sentence,) = missing(done.stdout)
    assert "an allocation lasts 60 s, of which 60 s are kept to end a run in order" in sentence
    assert "partition short" in sentence
    assert sentence in hpltune.refused("tune", "--cluster", str(file), *QUICK, code=1)


def test_the_source_of_hpl_that_cannot_be_had_where_the_study_starts_is_missing(
    head: OnHead, lab: HostsLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPLTUNE_CACHE", str(home / "empty-cache"))
    done = head("doctor", "--cluster", str(write_cluster(lab, home)), "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    (sentence,) = missing(done.stdout)
    assert "HPL's source could not be had" in sentence
    assert "--hpl-source" in sentence


@pytest.fixture
def image(lab: HostsLab, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An image that all hosts see, and a program that starts ranks in it."""
    runtime, folder = apptainer(lab.programs), home / "images"
    monkeypatch.setenv("PATH", f"{runtime.parent}:{os.environ['PATH']}")
    folder.mkdir()
    (folder / "hpl.sif").touch()
    yield folder / "hpl.sif"
    runtime.unlink()


def test_an_image_that_one_node_lacks_is_named_with_the_node(
    head: OnHead, lab: HostsLab, home: Path, image: Path
) -> None:
    file = str(write_cluster(lab, home, container=str(image)))
    assert missing(head("doctor", "--cluster", file, "--json").stdout) == []
    with lab.hidden("h2", image.parent):
        done = head("doctor", "--cluster", file, "--json")
        (sentence,) = missing(done.stdout)
        assert sentence.startswith(f"node h2: apptainer starts nothing in the image {image} (")
        assert sentence in head.refused("tune", "--cluster", file, *QUICK, code=1)


@contextmanager
def users_who_may_not_use_sudo(lab: HostsLab) -> Iterator[None]:
    with ExitStack() as stack:
        say = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
        stack.enter_context(lab.planted("sudo", say))
        who = '#!/bin/sh\ncase $1 in -u) echo 1000 ;; *) exec /usr/bin/id "$@" ;; esac\n'
        stack.enter_context(lab.planted("id", who))
        yield


@pytest.mark.usefixtures("real_hpl")
def test_settings_that_need_a_password_are_told_by_doctor_and_refused_before_the_first_run(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    file = str(write_cluster(lab, home))
    with users_who_may_not_use_sudo(lab):
        done = head("doctor", "--cluster", file, "--json")
        assert missing(done.stdout) == []
        told = [one for one in json.loads(done.stdout)["advice"] if "net.mtu" in one]
        (sentence,) = told
        assert sentence.startswith(
            "nodes h1, h2: eth0: net.mtu cannot be set: it needs root, or sudo with a rule for it"
        )
        assert sentence.endswith("only studies of settings need that")
        assert "net.mtu cannot be set: it needs root, or sudo with a rule for it" in head.refused(
            "tune", "--cluster", file, *QUICK, "--set", "net.mtu=1500,9000", "--study", "mtu", code=1
        )
        assert head("show", "mtu", "--json").stdout.strip() in {"", "[]"}


@contextmanager
def one_narrow_cable(lab: HostsLab, host: str) -> Iterator[None]:
    """All hosts and ports take 9,000 bytes, and the port of one host takes fewer."""
    lab.switch_mtu(9000)
    for one in lab.names:
        lab.run(one, "ip", "link", "set", "eth0", "mtu", "9000")
    port = f"p{host[1:]}-0"
    subprocess.run(("ip", "-n", lab.namespace("switch"), "link", "set", port, "mtu", "1500"), check=True)
    try:
        yield
    finally:
        lab.switch_mtu(USUAL_MTU)
        for one in lab.names:
            lab.run(one, "ip", "link", "set", "eth0", "mtu", str(USUAL_MTU))


def test_a_cable_that_takes_smaller_packets_than_the_hosts_send_is_named_with_its_hosts(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    file = str(write_cluster(lab, home, hosts=list(lab.names)))
    with one_narrow_cable(lab, "h2"):
        told = json.loads(head("doctor", "--cluster", file, "--json").stdout)
        (sentence,) = [one for one in told["missing"] if one.startswith("packets of 9000 bytes, the MTU of eth0,")]
        assert "this host (h1) to node h2" in sentence
        assert "node h3" not in sentence or "node h2 to node h3" in sentence, "between h1 and h3 all is well"
        assert "`ip link set dev eth0 mtu 1500`" in sentence
        assert "packets of 9000 bytes, the MTU of eth0, do not get from this host (h1) to node h2" in head.refused(
            "tune", "--cluster", file, *QUICK, code=1
        )


def test_where_there_is_no_ping_the_size_of_packets_is_not_known_and_nothing_is_missing(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    file = str(write_cluster(lab, home))
    with lab.planted("ping", "#!/bin/sh\nexit 1\n"):
        done = head("doctor", "--cluster", file)
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, said
    assert "Whether large packets get from node h1 to node h2" in said


def test_the_hosts_of_a_cluster_file_show_their_settings(head: OnHead, lab: HostsLab, home: Path) -> None:
    file = str(write_cluster(lab, home))
    done = head("net", "show", "--cluster", file, "--json")
    assert {one["host"] for one in json.loads(done.stdout)} == {"h1", "h2"}
    assert "--cluster names hosts and how they are reached: give it alone" in head.refused(
        "net", "show", "--cluster", file, "--hosts", "h1"
    )
