"""`hpltune scale` as a user calls it, on this machine and on virtual clusters."""

import json
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from replayed import replaying

from runners.virtual.load import cluster_text

SWITCHES = (
    "switch = { price_usd = 40, power_w = 8 }",
    "switch = { leaf_nodes = 4, oversubscription = 20.0, price_usd = 40, power_w = 8 }",
)


def _cluster() -> str:
    """Boards with one core each, four at a switch, and weak links between the switches."""
    text = cluster_text("pi5")[1]
    return text.replace(*SWITCHES).replace("cores = 4 ", "cores = 1 ")


@pytest.mark.usefixtures("real_hpl")
def test_two_ranks_of_this_machine_are_compared_with_one_and_kept(hpltune: Run, home: Path) -> None:
    asked = ("scale", "--nodes", "1,2", "--n", "800", "--nb", "64", "--repeats", "2", "--blas", "openblas")
    options = (*asked, "--binding", "none", "--study", "mine", "--html", "scaling.html", "--json")
    done = hpltune.well(*options)
    facts = json.loads(done.stdout)
    rows = [(row["scaling"], row["count"], row["N"], len(row["gflops"])) for row in facts["results"]]
    assert rows == [("weak", 1, 800, 2), ("weak", 2, 1088, 2), ("strong", 1, 800, 2), ("strong", 2, 800, 2)]
    assert facts["counted"] == "cores"
    assert [row["count"] for row in facts["predictions"]] == [4, 4] or facts["doubt"]
    page = (home / "scaling.html").read_text()
    assert page.count('class="drawn"') >= 3
    assert "hpltune scale --nodes 1,2" in page
    again = hpltune(*options)
    assert "6 runs of this study are known already." in again.stderr
    assert json.loads(again.stdout)["results"] == facts["results"]
    assert len(hpltune.told("show", "mine")) == 6


@pytest.mark.usefixtures("simgrid")
def test_a_virtual_cluster_loses_by_shuffled_lists_where_uplinks_are_weak(hpltune: Run, home: Path) -> None:
    (home / "blades.toml").write_text(_cluster())
    done = hpltune.well(
        *("scale", "--cluster", "blades.toml", "--nodes", "1,2,4", "--weak", "--n", "3000", "--nb", "100"),
        *("--repeats", "8", "--json"),
    )
    facts = json.loads(done.stdout)
    assert facts["simulated"]
    (orders,) = facts["orders"]
    assert orders["differ"]
    assert orders["effects"][0]["loss"] > 0.05
    shares = facts["overheads"][1]["shares"]
    assert set(shares) == {"panel", "broadcast", "swap", "update", "solve"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["broadcast"] > facts["overheads"][0]["shares"]["broadcast"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--nodes", "1,16"), "--nodes 16: Kronos has 8 nodes"),
        (("--nodes", "2"), "--nodes 2: name at least two numbers, for example --nodes 1,8"),
        (("--nodes", "1,x"), "--nodes 1,x: write numbers of nodes, for example --nodes 1,2,4"),
        (("--order", "random"), "--order random: write sorted, shuffled or both: --order sorted,shuffled"),
        (("--n", "900000"), "--n 900000: a run on 1 cannot be had: N=900000 needs "),
        (("--n", "900", "--full"), "--n and --full: one of them chooses N, not both"),
        (("--threads", "2"), "--threads is for real machines and changes nothing on a virtual --cluster: leave it out"),
        (("--blas", "mkl"), "--blas mkl: Kronos has "),
    ],
)
@pytest.mark.usefixtures("simgrid")
def test_what_cannot_be_had_is_refused_in_a_sentence(hpltune: Run, arguments: tuple[str, ...], sentence: str) -> None:
    assert f"hpltune: {sentence}" in hpltune.refused("scale", "--cluster", "kronos", *arguments)


def scaled(hpltune: Run, home: Path) -> tuple[str, dict[str, Any]]:
    """What is printed, and the facts, of two ranks beside one where a program does 50 GFLOPS however many there are."""
    replaying(home)
    asked = ("scale", "--xhpl", "xhpl", "--nodes", "1,2", "--n", "2000", "--nb", "100", "--binding", "none")
    done, again = (hpltune(*asked, "--repeats", "4", "--study", "mine", *how) for how in ((), ("--json",)))
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split()), json.loads(again.stdout)


@pytest.mark.heavy
def test_more_cores_that_add_nothing_are_not_predicted_to_and_called_neither_faster_nor_slower(
    hpltune: Run, home: Path
) -> None:
    told, facts = scaled(hpltune, home)
    assert "Strong scaling: 2 cores are not shown to be faster than 1: 1.00 times as fast" in told
    assert "Strong scaling: more cores are not shown to make this N faster or slower." in told
    assert "2 cores in place of 1 add 1" in told
    assert "each doubling" not in told
    assert "slower, not faster" not in told
    assert "Weak scaling: what 4 cores give cannot be told: the model of HPL's time" in told
    weak = facts["predictions"][0]
    assert (weak["gflops"], weak["interval_gflops"], weak["efficiency"]) == (None, None, None)
