"""One node of three answers nonsense: it is told by its name, and what the others say is kept.

The nodes are this machine, behind a program in place of ssh that changes what one of them prints, and gives the others
boots of their own, as machines of their own have.
"""

from pathlib import Path

import pytest
from as_user import program
from needs import skip_without

from hpl.build.node_programs import build_node_bench, build_node_pairs
from hpl.build.toolchain import ToolchainError
from hpl.search_paths import SearchPaths
from runners.hosts.node_facts import NodeSays, ask_nodes
from runners.hosts.transport import Ssh
from runners.readiness.asking import ask_facts
from tuner.nodes.measuring import MeasuringPlan, measure
from tuner.nodes.steps.node_bench import Stream
from tuner.nodes.steps.pairs import Pairs
from tuner.nodes.steps.step import NodesTarget
from tuner.stopping import StopRequest

NODES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
ODD, SOUND = NODES[1], {NODES[0], NODES[2]}
BRACKETS = "[" * 200_000
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do host=$1; shift; done; shift
[ "$host" = {odd} ] || {{ sh -c "$*" | sed -u "s/^boot\t/boot\t$host/"; exit; }}
{does}
"""


def behind(folder: Path, does: str) -> Ssh:
    """Reach nodes of which one does something else with a command, which is in "$*"."""
    return Ssh((str(program(folder / "odd-ssh", SSH.format(odd=ODD, does=does))),))


def changed(expression: str) -> str:
    """What a node does whose every line `sed -E` changes."""
    return f"sh -c \"$*\" | sed -u -E '{expression}'"


ENDLESS = "echo hpltune-answer; exec yes nonsense"
NO_FACTS = "echo hpltune-answer; echo nonsense"


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (changed(r"s/^allowed.*/allowed\t0-9999999999/"), "its answer cannot be read: it begins with "),
        (changed(f"s/^memory_kib.*/memory_kib\\t{'9' * 5000}/"), "its answer cannot be read: it begins with "),
        (ENDLESS, "it prints more than 1 MiB, and was not heard out"),
    ],
    ids=["CPUs", "memory", "endless"],
)
def test_a_node_that_tells_an_impossible_machine_is_named(tmp_path: Path, does: str, why: str) -> None:
    said = ask_nodes(behind(tmp_path, does), NODES)
    assert {node for node, answer in said.items() if isinstance(answer, NodeSays)} == SOUND
    assert str(said[ODD]).startswith(f"node {ODD}: {why}")


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (ENDLESS, "it prints more than 1 MiB, and was not heard out"),
        (NO_FACTS, "it ends without an error, and tells no fact"),
        ("echo hpltune-answer; printf 'ask\\tnonsense\\n'; exit 124", "it cannot be asked: code 124"),
    ],
    ids=["endless", "nothing", "unknown"],
)
def test_a_node_that_tells_no_facts_is_named(tmp_path: Path, does: str, why: str) -> None:
    asked = ask_facts(behind(tmp_path, does), NODES)
    assert asked.facts.keys() == SOUND
    assert asked.silent == {ODD: f"node {ODD}: {why}"}


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> SearchPaths:
    found = SearchPaths(None, tmp_path_factory.mktemp("cache"))
    try:
        build_node_bench(found)
    except ToolchainError:
        skip_without("mpicc")
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("value", ["nan", "inf", "1e308", "-1", "many"])
def test_a_node_that_prints_no_rate_does_not_count(
    tmp_path: Path, search: SearchPaths, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    reach = behind(tmp_path, changed(rf"s/^(run\t[^\t]*)\t[^\t]*/\1\t{value}/"))
    plan = MeasuringPlan((Stream(build_node_bench(search), repeats=1, array_bytes=100_000),))
    check = measure(NodesTarget("lab", NODES, reach), plan, lambda _: None, StopRequest()).check
    assert {run.node for run in check.runs if run.counts} == SOUND
    assert {run.reason for run in check.runs if run.node == ODD} == {f"it prints '{value}' as its rate"}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (r"s/^ready.*/ready/", "names no port"),
        (r"s/^pair.*/pair\tabc/", "which are no rates"),
        (r"s/^pair.*/pair\t0\t0\t0/", "which are no rates"),
        (r"s/^pair.*/pair\tnan\tinf\t-5/", "which are no rates"),
        (r"s/^stream.*/stream/", "which are no rates"),
    ],
)
def test_a_node_that_tells_no_rates_to_others_is_named(
    tmp_path: Path, search: SearchPaths, monkeypatch: pytest.MonkeyPatch, expression: str, told: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    step = Pairs(build_node_pairs(search), alone_s=0.05, at_once_s=0.1)
    target = NodesTarget("lab", NODES, behind(tmp_path, changed(expression)))
    check = measure(target, MeasuringPlan((step,)), lambda _: None, StopRequest()).check
    problems = {pair.problem for pair in (*check.pairs, *check.pairs_at_once)} | set(check.silent.values())
    assert any(f"node {ODD}" in problem and told in problem for problem in problems)
    assert any(pair.counts and {pair.one, pair.other} == SOUND for pair in check.pairs)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "printed",
    [BRACKETS, '[{"addr_info": 5, "mtu": {}}]', '[{"mtu": "many"}]', "[7]"],
    ids=["nested", "types", "words", "figure"],
)
def test_a_node_whose_addresses_cannot_be_read_is_noted(tmp_path: Path, search: SearchPaths, printed: str) -> None:
    (tmp_path / "printed").write_text(printed)
    nonsense = f"echo hpltune-answer; exec cat {tmp_path / 'printed'}"
    does = f'case "$*" in *" -j addr"*) {nonsense} ;; *) exec sh -c "$*" ;; esac'
    step = Pairs(build_node_pairs(search), alone_s=0.05, at_once_s=0.1)
    measured = measure(
        NodesTarget("lab", NODES, behind(tmp_path, does)), MeasuringPlan((step,)), lambda _: None, StopRequest()
    )
    assert any(note.startswith(f"node {ODD}: its answer cannot be read") for note in measured.notes), measured.notes
    assert any(pair.counts for pair in measured.check.pairs)
