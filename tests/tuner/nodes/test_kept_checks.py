"""Checks that are kept: listed, shown, compared, and a gate against a baseline."""

import json
from pathlib import Path

import pytest
from as_user import Run
from node_check_builders import a_check, kept

from results.errors import ResultsError
from results.node_check import NodeCheck
from results.store.node_checks import NodeCheckState
from results.store.store import Store
from tuner.errors import TunerError
from tuner.events import Event, Listener, NodesMeasured
from tuner.nodes.check import NodesCheckResult
from tuner.nodes.keeping import KeepRequest, keep_check, show_check
from tuner.nodes.statistics.verdict import verdict_of

SLOW = ("--fault", "slow-node:node007:8", "--seed", "3")


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "checks.db")


@pytest.mark.heavy
def test_a_kept_check_is_listed_and_shown_again(hpltune: Run, db: str, tmp_path: Path) -> None:
    first = hpltune("nodes", "check", "--virtual", "32", *SLOW, "--keep", "--db", db, "--json")
    told = json.loads(first.stdout)
    assert (first.returncode, told["number"], told["slow"]) == (1, 1, ["node007"])
    (line,) = json.loads(hpltune("nodes", "list", "--db", db, "--json").stdout)
    assert (line["number"], line["cluster"], line["ready"], line["virtual"]) == (1, "virtual-32", False, True)
    page = tmp_path / "again.html"
    shown = hpltune("nodes", "show", "virtual-32", "--db", db, "--json", "--html", str(page))
    again = json.loads(shown.stdout)
    assert (shown.returncode, again["findings"], again["benchmarks"]) == (0, told["findings"], told["benchmarks"])
    assert "Check 1 of virtual-32" in page.read_text(encoding="utf-8")


def test_virtual_checks_are_kept_only_on_request(hpltune: Run, db: str) -> None:
    hpltune("nodes", "check", "--virtual", "32", "--db", db)
    assert not Path(db).exists()


def test_a_gate_passes_silently_and_tells_what_is_worse_than_the_baseline(hpltune: Run, db: str) -> None:
    gate = ("nodes", "check", "--virtual", "32", "--keep", "--baseline", "default", "--quiet", "--db", db)
    first = hpltune(*gate)
    assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
    second = hpltune(*gate, *SLOW)
    assert second.returncode == 1
    assert "node007 has lost " in second.stdout
    assert "Compared with check 1 of " in second.stdout
    compared = hpltune("nodes", "compare", "1", "2", "--db", db)
    assert compared.returncode == 1
    assert compared.stdout.startswith("Worse than it was.\nnode007 has lost ")
    assert hpltune("nodes", "compare", "2", "1", "--db", db).returncode == 2


def test_a_marked_baseline_is_compared_with(hpltune: Run, db: str) -> None:
    for faults in ((), SLOW):
        hpltune("nodes", "check", "--virtual", "32", *faults, "--keep", "--db", db)
    assert hpltune("nodes", "baseline", "2", "--db", db).returncode == 0
    done = hpltune("nodes", "check", "--virtual", "32", *SLOW, "--no-keep", "--baseline", "default", "--db", db)
    assert "Compared with check 2 of " in done.stdout
    assert "nothing is worse" in done.stdout
    assert "baseline, virtual" in hpltune("nodes", "list", "--db", db).stdout


@pytest.mark.parametrize("which", ["1", "first", "last", "2099-01-01"])
def test_a_baseline_is_named_in_several_ways(hpltune: Run, db: str, which: str) -> None:
    for _ in range(2):
        done = hpltune("nodes", "check", "--virtual", "8", "--keep", "--baseline", "first", "--db", db)
    done = hpltune("nodes", "check", "--virtual", "8", "--baseline", which, "--db", db)
    assert f"Compared with check {1 if which in {'1', 'first'} else 2} of " in done.stdout


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("baseline", "code", "sentence"),
    [
        ("9", 1, "there is no check 9 of nodes"),
        ("soon", 2, "give the number of a check, a day as 2026-11-02, or default, first, last"),
        ("2026-13-45", 2, "give the number of a check, a day"),
        ("1999-01-01", 1, "there is no check of virtual-8 until 1999-01-01"),
        ("1", 2, "that check is of virtual-32, not of virtual-8"),
    ],
)
def test_a_wrong_baseline_gets_a_sentence(hpltune: Run, db: str, baseline: str, code: int, sentence: str) -> None:
    hpltune("nodes", "check", "--virtual", "32", "--keep", "--db", db)
    done = hpltune("nodes", "check", "--virtual", "8", "--baseline", baseline, "--db", db)
    assert (done.returncode, sentence in done.stderr) == (code, True)


def test_an_unknown_check_gets_a_sentence(hpltune: Run, db: str) -> None:
    hpltune("nodes", "check", "--virtual", "8", "--keep", "--db", db)
    assert "there is no check of lab in " in hpltune("nodes", "show", "lab", "--db", db).stderr
    assert "there is no check 7 of nodes" in hpltune("nodes", "baseline", "7", "--db", db).stderr


@pytest.fixture
def store(db: str) -> Store:
    return Store.open(db)


def silent(_: Event) -> None:
    """Nobody watches."""


def test_what_was_measured_before_a_failure_is_kept_as_stopped(store: Store) -> None:
    seen: list[tuple[NodeCheckState, int]] = []

    def failing(listener: Listener) -> NodesCheckResult:
        for check in (a_check(runs=()), a_check()):
            listener(NodesMeasured(check))
            line, known = store.node_checks.line(1), store.node_checks.read(1)
            seen.append((line.state, len(known.check.runs)))
        raise TunerError("the disk is full")

    with pytest.raises(TunerError, match="the disk is full"):
        keep_check(failing, KeepRequest("lab"), store, silent)
    assert seen == [(NodeCheckState.RUNNING, 0), (NodeCheckState.RUNNING, 2)]
    shown = show_check(store, "lab")
    assert shown.line.state is NodeCheckState.INTERRUPTED
    assert "which was stopped" in str(shown.report().parts[0])


def test_a_baseline_that_is_not_there_is_told_before_anything_is_measured(store: Store) -> None:
    with pytest.raises(ResultsError, match="there is no check 3"):
        keep_check(lambda _: pytest.fail("it measured"), KeepRequest("lab", baseline="3"), store, silent)


def test_a_check_is_shown_as_it_was_judged_then(store: Store) -> None:
    def same(check: NodeCheck) -> bool:
        return not verdict_of(check).findings

    assert same(a_check())
    store.node_checks.add(kept(ready=False))
    assert not show_check(store, None).result.verdict.ready
