"""`hpltune scale` on nodes that go down, compute wrongly, or are stopped: namespaces, real ssh, real MPI, real HPL."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from as_user import HPLTUNE, program
from found_here import shared_library
from net_lab import HostsLab
from on_head import OnHead, on_head
from waiting import PATIENCE_S, until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
ASKED = ("--nb", "64", "--binding", "none", "--study", "mine")
ON_TWO = ("--weak", "--order", "sorted", "--nodes", "1,2", "--repeats", "2")
WRONG = """\
#define _GNU_SOURCE
#include <dlfcn.h>
typedef void dgemm_t(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                     const int *, const double *, const int *, const double *, double *, const int *);
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc)
{
    ((dgemm_t *)dlsym(RTLD_NEXT, "dgemm_"))(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (*m > 0 && *n > 0)
        c[0] *= 1.5;
}
"""
"""A BLAS whose dgemm gives a wrong first element."""


@pytest.fixture
def lab(hosts: HostsLab) -> Iterator[HostsLab]:
    yield hosts.wired(3)
    hosts.link("h3", "up")


@pytest.fixture
def head(lab: HostsLab, home: Path) -> OnHead:
    (home / "lab.toml").write_text(f"{lab.cluster(check_s=1, return_s=2)}[node]\nmemory_gib = 1\ncores = 1\n")
    return on_head(lab, home)


def cut(lab: HostsLab, host: str) -> None:
    """Take the link of a host down."""
    lab.link(host, "down")


def crash(lab: HostsLab, host: str) -> None:
    """Kill all that runs on a host, with its sshd."""
    pids = subprocess.run(("ip", "netns", "pids", lab.namespace(host)), capture_output=True, text=True, check=True)
    subprocess.run(("kill", "-9", *pids.stdout.split()), check=False)


@contextmanager
def going_down(down: Callable[[], None], when: Callable[[], bool]) -> Iterator[None]:
    """Let a host go down as soon as something is so."""

    def wait() -> None:
        while not when():
            time.sleep(0.05)
        down()

    threading.Thread(target=wait, daemon=True).start()
    yield


def left_behind(lab: HostsLab) -> list[str]:
    """What still runs on a host."""
    words = ("xhpl", "mpirun", "orted", "prte", "hydra")
    return [f"{host}: {line}" for host in lab.names for line in lab.processes(host) if any(w in line for w in words)]


def running(lab: HostsLab, host: str) -> bool:
    return any("xhpl" in line for line in lab.processes(host))


@pytest.mark.parametrize("go_down", [cut, crash])
def test_the_rest_goes_on_without_a_node_that_goes_down_in_a_run(
    head: OnHead, lab: HostsLab, go_down: Callable[[HostsLab, str], None]
) -> None:
    with going_down(lambda: go_down(lab, "h3"), lambda: running(lab, "h3")):
        done = head("scale", "--cluster", "lab.toml", "--blas", "openblas", *ASKED,
                    "--weak", "--nodes", "1,2,3", "--repeats", "2", "--n", "3000", "--json")  # fmt: skip
    said = " ".join(done.stderr.split())
    assert done.returncode == 1, said
    assert "Node h3 does not answer: waiting 2 s for it." in said
    assert "Node h3 is lost; the rest goes on with 2 nodes, without runs on more." in said
    assert {tuple(trial["hosts"] or ()) for trial in head.told("show", "mine")} >= {("h1",), ("h1", "h2")}
    died = [trial for trial in head.told("show", "mine") if trial["state"] != "complete"]
    assert died
    assert all("node h3: " in trial["reason"] for trial in died)
    told = json.loads(done.stdout)
    runs = {(row["order"], row["count"]): len(row["gflops"]) for row in told["results"]}
    assert runs == dict.fromkeys(product(("sorted", "shuffled"), (1, 2)), 2), "a run that died is run again on others"
    assert told["lost_nodes"] == ["h3"]
    assert told["failed"] == []
    assert told["predictions"] or told["doubt"], "what was measured is told"
    assert left_behind(lab) == []


def test_a_run_whose_residual_failed_is_told_and_the_others_count(head: OnHead, lab: HostsLab, home: Path) -> None:
    built = json.loads(head("build", "--blas", "openblas", "--json").stdout)
    shared_library(home / "wrong.so", WRONG, "-ldl")
    wrong = f'[ "$OMPI_COMM_WORLD_SIZE" = 1 ] || export LD_PRELOAD="$LD_PRELOAD:{home}/wrong.so"'
    xhpl = built[0]["xhpl"]
    wrapper = program(home / "xhpl", f'#!/bin/sh\n{wrong}\nexec {xhpl} "$@"\n')
    own = ("--nb", "64", "--binding", "none", "--study", "wrong")
    done = head("scale", "--cluster", "lab.toml", "--xhpl", str(wrapper), *own, *ON_TWO, "--n", "500")
    said = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stdout + done.stderr
    assert "#1 " in said
    assert said.count("does not count: correctness: the residual check FAILED") == 2
    assert "Runs on two numbers of nodes must count before anything is told." in said
    assert left_behind(lab) == []


@pytest.mark.process
@pytest.mark.parametrize("often", [1, 2])
def test_ctrl_c_reports_what_was_measured_and_leaves_nothing_on_any_node(
    head: OnHead, lab: HostsLab, home: Path, often: int
) -> None:
    command = ("scale", "--cluster", "lab.toml", "--blas", "openblas", *ASKED, *ON_TWO, "--n", "3000")
    process = subprocess.Popen(
        [*lab.enter("h1"), str(HPLTUNE), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=home,
    )
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("#2"):
            break
    until(lambda: running(lab, "h1") or process.poll() is not None)
    assert process.poll() is None
    assert process.stderr is not None
    told = ""
    for _ in range(often):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    out, err = process.communicate(timeout=PATIENCE_S)
    said += out
    assert process.returncode == 130, said + told + err
    assert "Stored as study mine." in said, said + told + err
    assert left_behind(lab) == []
    states = [trial["state"] for trial in head.told("show", "mine")]
    assert states == ["complete"] * 3 if often == 1 else ["complete", "complete", "cancelled"]
    head.well("scale", "--cluster", "lab.toml", "--blas", "openblas", *ASKED, *ON_TWO, "--n", "3000")
