"""Checks that are kept: listed, shown, compared, and a gate against a baseline."""

import json
from pathlib import Path

import pytest
from as_user import Run
from node_check_builders import a_check, kept
from planted import Fault, planted_check

from results.errors import ResultsError
from results.node_check import NodeCheck
from results.store.node_checks import NodeCheckState
from results.store.store import Store
from tuner.errors import TunerError, UsageError
from tuner.events import Event, Listener, NodesMeasured
from tuner.nodes.check import NodesCheckResult
from tuner.nodes.keeping import KeepRequest, KeptNodesCheck, keep_check, show_check
from tuner.nodes.statistics.verdict import verdict_of

SLOW = Fault("slow-node", ("node007",), 8.0)


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "checks.db")


@pytest.fixture
def store(db: str) -> Store:
    return Store.open(db)


def silent(_: Event) -> None:
    """Nobody watches."""


def keep(store: Store, *faults: Fault, size: int = 32, seed: int = 0, baseline: str | None = None) -> KeptNodesCheck:
    """Keep the check of a cluster that nobody has."""
    result = NodesCheckResult(verdict_of(planted_check(size, faults=faults, seed=seed)))
    return keep_check(lambda _: result, KeepRequest(f"lab-{size}", baseline=baseline), store, silent)


def test_a_kept_check_is_listed_and_shown_again(hpltune: Run, store: Store, db: str, tmp_path: Path) -> None:
    [found] = keep(store, SLOW, seed=3).result.verdict.findings
    (line,) = json.loads(hpltune("nodes", "list", "--db", db, "--json").stdout)
    assert (line["number"], line["cluster"], line["ready"]) == (1, "lab-32", False)
    page = tmp_path / "again.html"
    shown = hpltune("nodes", "show", "lab-32", "--db", db, "--json", "--html", str(page))
    again = json.loads(shown.stdout)
    assert (shown.returncode, again["findings"][0]["sentence"], again["slow"]) == (0, found.sentence, ["node007"])
    text = page.read_text(encoding="utf-8")
    assert "Check 1 of lab-32" in text
    assert text.index("Not ready: node007 would slow a run down") < text.index("Benchmarks")


def test_a_check_that_is_not_kept_needs_no_database(hpltune: Run, db: str) -> None:
    hpltune("nodes", "check", "--facts", "--no-keep", "--db", db)
    assert not Path(db).exists()


def test_a_gate_passes_silently_and_tells_what_is_worse_than_the_baseline(hpltune: Run, store: Store, db: str) -> None:
    first, second = keep(store, baseline="default"), keep(store, SLOW, seed=3, baseline="default")
    assert (first.sound, first.brief().parts) == (True, ())
    said = "\n".join(str(part) for part in second.brief().parts)
    assert (second.sound, "node007 has lost " in said, "Compared with check 1 of " in said) == (False, True, True)
    compared = hpltune("nodes", "compare", "1", "2", "--db", db)
    assert compared.returncode == 1
    assert compared.stdout.startswith("Worse than it was.\nnode007 has lost ")
    assert hpltune("nodes", "compare", "2", "1", "--db", db).returncode == 2


def test_a_marked_baseline_is_compared_with(hpltune: Run, store: Store, db: str) -> None:
    keep(store)
    keep(store, SLOW, seed=3)
    assert hpltune("nodes", "baseline", "2", "--db", db).returncode == 0
    [note] = keep(store, SLOW, seed=3, baseline="default").result.notes
    assert note.startswith("Compared with check 2 of ")
    assert note.endswith("nothing is worse.")
    assert "baseline" in hpltune("nodes", "list", "--db", db).stdout


@pytest.mark.parametrize("which", ["1", "first", "last", "2099-01-01"])
def test_a_baseline_is_named_in_several_ways(store: Store, which: str) -> None:
    for baseline in (None, "first"):
        keep(store, size=8, baseline=baseline)
    [note] = keep(store, size=8, baseline=which).result.notes
    assert note.startswith(f"Compared with check {1 if which in {'1', 'first'} else 2} of ")


@pytest.mark.parametrize(
    ("baseline", "sentence"),
    [
        ("9", "there is no check 9 of nodes"),
        ("soon", "give the number of a check, a day as 2026-11-02, or default, first, last"),
        ("2026-13-45", "give the number of a check, a day"),
        ("1999-01-01", "there is no check of lab-8 until 1999-01-01"),
        ("1", "that check is of lab-32, not of lab-8"),
    ],
)
def test_a_wrong_baseline_gets_a_sentence(store: Store, baseline: str, sentence: str) -> None:
    keep(store)
    with pytest.raises((ResultsError, UsageError), match=sentence):
        keep(store, size=8, baseline=baseline)


def test_an_unknown_check_gets_a_sentence(hpltune: Run, store: Store, db: str) -> None:
    keep(store, size=8)
    assert "there is no check of lab in " in hpltune("nodes", "show", "lab", "--db", db).stderr
    assert "there is no check 7 of nodes" in hpltune("nodes", "baseline", "7", "--db", db).stderr


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
