"""`hpltune` on a cluster of its own: hosts as network namespaces, real ssh, real MPI, real HPL."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from net_lab import HostsLab, other_cpu
from on_head import OnHead
from waiting import until

from hpl.dat import HplDat, render
from hpl.params import HplParams
from runners.virtual.load import load_cluster

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
FAST = (
    *("--blas", "openblas", "--set", "N=800", "--set", "NB=64", "--set", "binding=none"),
    *("--budget", "2m", "--engine", "random"),
)
FEWER = "the rates are on 2 of 3 nodes: h3 was lost"


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(3)


def write_cluster(lab: HostsLab, file: Path, more: str = "", **changed: object) -> Path:
    file.write_text(lab.cluster(**{"hosts": ["h1", "h2"], **changed}) + more)
    return file


@pytest.fixture
def cluster(lab: HostsLab, home: Path) -> Path:
    return write_cluster(lab, home / "lab.toml", "# a comment stays\n[node]\nprice_usd = 100\nmemory_gib = 1\n")


def test_a_study_runs_on_all_nodes_and_its_winner_can_be_run_again(head: OnHead, cluster: Path) -> None:
    best = head.told("tune", "--cluster", str(cluster), *FAST, "--trials", "2", "--study", "two")
    winner = best["ranking"][0]
    assert winner["usd_per_gflops"] == pytest.approx(200 / winner["expected_gflops"])
    searched = [record for record in head.told("show", "two") if record["kind"] == "search"]
    assert [record["hosts"] for record in searched] == [["h1", "h2"]] * 2
    head.well("run", best["hpl_dat"], "--like", "two")


def test_the_commands_of_the_readme_work_on_a_cluster(head: OnHead, cluster: Path) -> None:
    cluster.rename(cluster.with_name("my-cluster.toml"))
    readme = (Path(__file__).parents[4] / "README.md").read_text()
    commands = re.findall(r"^\s*\./hpltune (.* my-cluster\.toml.*)$", readme, re.MULTILINE)
    assert len(commands) >= 2
    for command in commands:
        shorter = (*FAST, "--trials", "1") if command.startswith("tune") else ()
        done = head(*command.split(), *shorter)
        assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_modules_of_the_cluster_file_are_loaded_before_anything_is_looked_at(
    head: OnHead, lab: HostsLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("init", "lib"):
        (home / folder).mkdir()
    loads = f"export LOADEDMODULES=foss/2026a LD_LIBRARY_PATH={home}/lib"
    (home / "init/bash").write_text(
        f'module() {{ [ "$1" = load ] || return 0; [ "$2" = foss/2026a ] || return 1; {loads}; }}\n'
    )
    monkeypatch.setenv("MODULESHOME", str(home))
    for name in ("BASH_ENV", "BASH_FUNC_module%%"):
        monkeypatch.delenv(name, raising=False)
    cluster = write_cluster(lab, home / "lab.toml", 'modules = ["foss/2026a"]\n[node]\nmemory_gib = 1\n')
    head.well("run", str(write_dat(home)), "--cluster", str(cluster), "--blas", "openblas")
    assert "Modules: foss/2026a." in head("show", "run-HPL-1").stdout
    cluster.write_text(cluster.read_text().replace("2026a", "2027a"))
    refused = head("doctor", "--cluster", str(cluster)).stderr
    assert "the module foss/2027a cannot be loaded on this machine: `module avail foss` lists what there is" in refused


@pytest.fixture
def bridges(lab: HostsLab) -> Iterator[None]:
    """Each host has a bridge of containers, with the same address on all of them, and the network between them."""
    for host in lab.names:
        lab.run(host, "ip", "link", "add", "docker0", "type", "veth", "peer", "name", "container")
        lab.run(host, "ip", "link", "set", "container", "up")
        lab.run(host, "ip", "addr", "add", "172.17.0.1/16", "dev", "docker0")
        lab.run(host, "ip", "link", "set", "docker0", "up")
    yield
    for host in lab.names:
        lab.run(host, "ip", "link", "del", "docker0")


@pytest.mark.usefixtures("bridges")
def test_mpi_uses_the_network_between_nodes_and_not_a_bridge_that_each_has_for_itself(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    cluster = write_cluster(lab, home / "lab.toml", "[node]\nmemory_gib = 1\n", interfaces=[])
    told = head("doctor", "--cluster", str(cluster))
    said = "MPI uses eth0, and not docker0, over which nodes do not reach each other."
    assert said in " ".join(told.stdout.split())
    file = write_dat(home)
    done = head.well("run", str(file), "--cluster", str(cluster), "--blas", "openblas")
    assert said in " ".join((done.stdout + done.stderr).split())
    (command,) = (home / "data/runs").glob("*/*/command")
    assert "--mca btl_tcp_if_include eth0" in command.read_text()


def write_dat(home: Path) -> Path:
    file = home / "HPL.dat"
    file.write_text(render(HplDat.of(HplParams(600, 64, 1, 2))))
    return file


def test_kernels_are_timed_on_nodes_and_each_node_chooses_its_own_if_their_cpus_differ(
    head: OnHead, lab: HostsLab, cluster: Path, home: Path
) -> None:
    same = json.loads(head("doctor", "--cluster", str(cluster), "--json").stdout)
    assert [(start["mpi"], start["why_not"]) for start in same["starts"]][:1] == [("openmpi", "")]
    assert {start["why_not"] for start in same["starts"]} == {""}
    assert not list((home / "data/runs").glob("doctor-start-*"))
    (kind,) = same["kernels"]
    assert kind["nodes"] == ["h1", "h2"]
    assert {"auto"} <= {kernel["kernel"] for kernel in kind["blas"]["openblas"]}
    with lab.planted("head", other_cpu("Old One", "sse2")):
        told = json.loads(head("doctor", "--cluster", str(cluster), "--json").stdout)
        fast = (*FAST, "--set", "kernel=auto", "--trials", "1", "--confirm", "0")
        done = head("tune", "--cluster", str(cluster), *fast, "--study", "mixed")
    assert [kind["nodes"] for kind in told["kernels"]] == [["h1"], ["h2"]]
    assert any("The nodes have 2 kinds of CPU" in sentence for sentence in told["advice"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Timing openblas on node h2: dgemm with each kernel of its CPU" in done.stdout
    assert "Old One: h2): a library chooses its kernel on each node by itself, unless" in done.stdout
    kernels = {record["params"]["kernel"] for record in head.told("show", "mixed") if record["kind"] == "search"}
    assert kernels == {"auto"}


@pytest.mark.usefixtures("simgrid")
def test_a_cluster_is_calibrated_simulated_and_tuned_from_what_the_simulation_found(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    node = "[node]\ncores = 1\nmemory_gib = 1\nprice_usd = 100\n"
    real = write_cluster(lab, home / "two.toml", node, hosts=["h1", "h2"])
    short = ("--checks", "2", "--rounds", "1", "--blas", "openblas", "--binding", "none")
    done = head.well("calibrate", "model.toml", "--cluster", str(real), *short)
    assert re.search(r"The model's error (on \d configurations? is|cannot be told)", done.stdout), (
        "as the machine is busy"
    )
    model = load_cluster(str(home / "model.toml"))
    assert [(nodes.count, nodes.cores, nodes.price_usd) for nodes in model.nodes] == [(2, 1, 100)]
    assert list(model.networks) == ["network"]
    refused = head("calibrate", "--cluster", str(home / "model.toml"))
    assert "model.toml names no backend, so it is no real cluster" in refused.stderr
    small = ("--space", "quick", "--set", "N=800", "--set", "NB=64,128", "--trials", "4", "--confirm", "0")
    head.well("tune", "--cluster", str(home / "model.toml"), *small, "--study", "sim")
    taught = (*small, "--blas", "openblas", "--set", "binding=none", "--from-simulation", "sim")
    tuned = head.well("tune", "--cluster", str(real), *taught)
    assert "Warm start from the simulation sim: all configurations are in this space." in tuned.stdout


def hpl_dat_of(home: Path, trial: int) -> Path:
    return home / f"data/runs/lost/{trial:05d}/HPL.dat"


def test_a_node_that_is_lost_is_taken_out_and_the_study_goes_on(head: OnHead, lab: HostsLab, home: Path) -> None:
    three = write_cluster(
        lab, home / "three.toml", "[node]\nmemory_gib = 1\n", hosts=["h1", "h2", "h3"], check_s=1, return_s=2
    )
    with lab.cut_off("h3", home / "data/runs/lost/00004/stdout"):
        done = head("tune", "--cluster", str(three), *FAST, "--trials", "8", "--confirm", "0", "--study", "lost")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "node h3: it does not answer" in done.stdout
    assert "Node h3 is taken out; the study goes on with the 2 left." in done.stdout
    head("report", "lost")
    for face in (done.stdout, head("best", "lost").stdout, (home / "report.html").read_text()):
        assert FEWER in " ".join(face.split())
    assert f"Caution: {FEWER}." in head.told("best", "lost")["cautions"]
    ranked = [record for record in head.told("show", "lost") if record["kind"] == "search" and record["gflops"]]
    assert ranked[-1]["hosts"] == ["h1", "h2"]
    died = [record for record in head.told("show", "lost") if "h3" in str(record["reason"])]
    assert {record["state"] for record in died} == {"cancelled"}, "it says nothing about the configuration"
    best = head.told("best", "lost", "--count", "20")
    first, *_ = best["ranking"]
    trials = {entry["trial"] for entry in best["ranking"]}
    assert all(record["hosts"] == ["h1", "h2"] for record in ranked if record["number"] in trials)
    peak = 100 * first["expected_gflops"] / first["percent_of_peak"]
    assert 0.999 * best["rpeak_gflops"] * 2 / 3 < peak < best["rpeak_gflops"], "of two nodes; or what dgemm does there"
    head.well("run", str(hpl_dat_of(home, first["trial"])), "--like", "lost")


def test_a_dead_link_between_two_nodes_is_named_and_no_configuration_is_charged_for_it(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    three = write_cluster(lab, home / "three.toml", "[node]\nmemory_gib = 1\n", hosts=["h1", "h2", "h3"])
    alike = ("--set", "grid=1x3", "--budget", "30s", "--trials", "2", "--study", "dead")
    with lab.firewall("h2", "drop", "ip saddr 10.77.0.3"):
        done = head("tune", "--cluster", str(three), *FAST, *alike)
        asked = head("doctor", "--cluster", str(three))
    for said in (done.stderr, asked.stdout):
        assert "nothing gets through to high ports from node h2 to node h3" in " ".join(said.split())
    assert {record["state"] for record in head.told("show", "dead")} == {"cancelled"}


@pytest.mark.process
def test_a_file_is_run_once_more_where_a_node_that_was_lost_comes_back(head: OnHead, lab: HostsLab, home: Path) -> None:
    three = write_cluster(
        lab, home / "three.toml", "[node]\nmemory_gib = 1\n", hosts=["h1", "h2", "h3"], check_s=1, return_s=60
    )
    (home / "HPL.dat").write_text(render(HplDat.of(HplParams(6000, 64, 1, 3))))
    measured = [*lab.enter("h1"), str(HPLTUNE), "run", "HPL.dat", "--cluster", str(three), "--blas", "openblas"]
    with (
        lab.cut_off("h3", home / "data/runs/run-HPL-1/00001/stdout"),
        subprocess.Popen(measured, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=home) as process,
    ):
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "Node h3 does not answer: waiting 60 s for it." in line:
                lab.link("h3", "up")
    assert process.returncode == 0, said
    assert "It answers again: the run is repeated." in said
    assert [record["state"] for record in head.told("show", "run-HPL-1")] == ["cancelled", "complete"]


@pytest.mark.process
def test_two_coordinators_on_nodes_of_their_own_work_on_one_study(head: OnHead, lab: HostsLab, home: Path) -> None:
    one = "[node]\nmemory_gib = 1\n"
    halves = [write_cluster(lab, home / f"{host}.toml", one, hosts=[host]) for host in ("h1", "h2")]
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(
            head, "tune", "--cluster", str(halves[0]), *FAST, "--trials", "24", "--confirm", "1", "--study", "shared"
        )
        until(lambda: (home / "data/runs/shared/00003").exists() or first.done())
        assert not first.done(), first.result().stdout + first.result().stderr
        helper = subprocess.run(
            [*lab.enter("h2"), str(HPLTUNE), "tune", "--cluster", str(halves[1]), "--join", "shared"],
            capture_output=True,
            text=True,
            cwd=home,
            check=False,
        )
        done = first.result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert helper.returncode == 0, helper.stdout + helper.stderr
    stored = head.told("show", "shared")
    searched = [record for record in stored if record["kind"] in {"search", "prefix", "given-up"}]
    assert {tuple(one["hosts"]) for one in searched if one["state"] == "complete"} == {("h1",), ("h2",)}
    for key, times in Counter(record["key"] for record in searched).items():
        disturbed = any(record["conditions"] == "disturbed" for record in searched if record["key"] == key)
        assert times == 1 or disturbed, "nobody repeats what the other has begun, but for what was disturbed"
    again = [record for record in stored if record["kind"] == "reference"]
    assert len([record for record in [*searched, *again] if record["state"] != "cancelled"]) == 24
    assert "complete" in head("show").stdout
    assert "nobody works on study shared now" in head("tune", "--cluster", str(halves[1]), "--join", "shared").stderr


def test_a_study_whose_grid_does_not_fit_the_nodes_that_are_left_tells_what_it_found(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    file = write_cluster(
        lab, home / "grid.toml", "[node]\nmemory_gib = 1\n", hosts=["h1", "h2", "h3"], check_s=1, return_s=2
    )
    with lab.cut_off("h3", home / "data/runs/fixed/00006/stdout"):
        options = ("--set", "grid=1x3", "--trials", "8", "--confirm", "0", "--study", "fixed")
        done = head("tune", "--cluster", str(file), *FAST, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "no configuration fits what is left without node h3 (" in done.stderr
    assert "`hpltune tune --resume --study fixed` goes on once it is repaired" in done.stderr
    assert any(record["gflops"] for record in head.told("show", "fixed"))
    assert list((home / "data/best").glob("**/HPL.dat")), "what was found until then"


def test_a_node_that_is_lost_can_also_pause_the_study(head: OnHead, lab: HostsLab, home: Path) -> None:
    file = write_cluster(
        lab, home / "pause.toml", "[node]\nmemory_gib = 1\n", on_node_loss="pause", check_s=1, return_s=2
    )
    with lab.cut_off("h2", home / "data/runs/pause/00003/stdout"):
        done = head("tune", "--cluster", str(file), *FAST, "--trials", "6", "--study", "pause")
    assert done.returncode == 1
    assert "`hpltune tune --resume --study pause` goes on once it is repaired" in done.stderr
    head.well("tune", "--resume", "--study", "pause")


def test_the_doctor_asks_the_nodes_and_fills_in_what_they_are(head: OnHead, cluster: Path) -> None:
    done = head.well("doctor", "--cluster", str(cluster))
    assert "2 of 2 nodes answer" in done.stdout
    text = cluster.read_text()
    assert "cores = 1" in text
    assert 'interfaces = ["eth0"]' in text
    assert "# a comment stays" in text
    assert "memory_gib = 1\n" in text, "what the file says already stays"
    assert head("doctor", "--cluster", str(cluster)).stdout.count("Filled in") == 0


def test_the_doctor_says_that_nodes_cannot_reach_the_host_behind_a_bastion(
    hpltune_process: Run, lab: HostsLab, home: Path
) -> None:
    """This machine reaches the hosts only through h1, and they have no way back."""
    through = [*lab.enter("h1"), *lab.ssh]
    file = write_cluster(lab, home / "far.toml", hosts=["h2", "h3"], ssh=through, interfaces=[])
    done = hpltune_process("doctor", "--cluster", str(file))
    said = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr
    assert "does not start a rank on each of 2 nodes: nodes h2, h3 cannot reach this host (" in said
    assert "start hpltune on a node" in said
    assert "Everything that" not in said
    tuned = hpltune_process("tune", "--cluster", str(file), *FAST, "--trials", "2")
    assert tuned.returncode == 1
    assert "nodes h2, h3 cannot reach this host (" in tuned.stderr
    assert "` goes on once that is mended" in tuned.stderr
    assert "is tried with" not in tuned.stdout
    measured = hpltune_process("run", str(write_dat(home)), "--cluster", str(file), "--blas", "openblas")
    assert measured.returncode == 1
    assert "nodes h2, h3 cannot reach this host (" in " ".join((measured.stdout + measured.stderr).split())


@pytest.mark.parametrize(
    ("more", "changed", "words", "code"),
    [
        ("", {"hosts": ["h1", "h9"]}, "node h9: its name is not known: check the host list", 1),
        ("", {"hosts": ["h1", "127.0.0.1"]}, "its host key is not known here yet: log in once with `ssh -F", 1),
        ("", {"interfaces": ["ib0"]}, "has no interface ib0 (there: eth0)", 1),
        ("[node]\ncores = 4096\n", {}, "but [node] of the cluster file says cores = 4096", 1),
        ("", {"colour": "red"}, "line 6: colour is not known here", 2),
    ],
)
def test_a_mistake_in_a_cluster_is_one_sentence_and_nothing_is_started(
    head: OnHead, lab: HostsLab, home: Path, more: str, changed: dict[str, object], words: str, code: int
) -> None:
    file = write_cluster(lab, home / "wrong.toml", more, **changed)
    done = head("tune", "--cluster", str(file), *FAST, "--trials", "1")
    assert done.returncode == code
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Timing" not in done.stdout, "hosts are asked before kernels are timed"
    assert not list((home / "data").glob("runs/*/*"))


def test_a_folder_that_the_nodes_do_not_share_is_said(
    head: OnHead, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPLTUNE_DATA", "/proc/self/cwd/data")
    done = head("doctor", "--cluster", str(cluster))
    assert done.returncode == 1
    assert "does not see /proc/self/cwd/data/runs: put it on a file system that all nodes share" in " ".join(
        done.stdout.split()
    )


def test_a_study_of_the_network_finds_the_planted_best_setting_and_puts_it_back(
    head: OnHead, lab: HostsLab, cluster: Path
) -> None:
    """Buffers of a page make every message wait; the other value is what a wire of a gigabit needs."""
    poor, good = "4096 4096 4096", "4096 131072 6291456"
    space = cluster.with_name("buffers.toml")
    fixed = 'N = 1500\nNB = 128\nlayout = "2x1"\ngrid = "1x2"\nblas = "openblas"\nbinding = "none"\n'
    space.write_text(f'[parameters]\n{fixed}net.tcp_rmem = ["{poor}", "{good}"]\n')
    before = [lab.run(host, "sysctl", "-n", "net.ipv4.tcp_rmem") for host in ("h1", "h2")]
    lab.shape("1gbit")
    done = head.well(
        *("tune", "--cluster", str(cluster), "--space", str(space), "--engine", "grid", "--budget", "2m"),
        *("--blas", "openblas", "--study", "buffers", "--json"),
    )
    assert json.loads(done.stdout)["ranking"][0]["params"]["net.tcp_rmem"] == good
    assert [lab.run(host, "sysctl", "-n", "net.ipv4.tcp_rmem") for host in ("h1", "h2")] == before
