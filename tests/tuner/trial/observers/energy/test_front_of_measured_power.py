"""A study by `tune` whose front is that of the power that a meter measures: a stand-in of HPL, and one of a meter."""

from pathlib import Path

import pytest
from as_user import Run, program
from replayed import replaying

RATES = {("1x2", 64): 1.2, ("1x2", 128): 1.4, ("1x1", 64): 0.8, ("1x1", 128): 0.9}
"""In GFLOPS, so that runs take four to seven seconds: a power is told of three seconds at least."""
WATTS = {("1x2", 64): 60, ("1x2", 128): 100, ("1x1", 64): 50, ("1x1", 128): 48}
"""So the true front is 1x2 with NB 128 (14 MFLOPS/W) and 1x2 with NB 64 (20): one core gives 18.75 at most."""
METER = r"""#!/bin/sh
# prints what the configuration that runs now draws: that of the newest HPL.dat
file=$(ls -t {home}/data/runs/*/*/HPL.dat 2>/dev/null | head -1)
[ -n "$file" ] || {{ echo 20; exit; }}
case "$(sed -n 12p "$file" | cut -d' ' -f1) $(sed -n 8p "$file" | cut -d' ' -f1)" in
{cases}
*) echo 20 ;;
esac
"""


@pytest.fixture
def machine(home: Path, mpirun: str) -> Path:
    """A program that behaves as xhpl does, and a meter; both know the same configurations."""
    assert mpirun
    runs = [{"when": {"grid": grid, "NB": NB}, "gflops": rate} for (grid, NB), rate in RATES.items()]
    replaying(home, *runs)
    cases = "\n".join(f'"{grid[-1]} {NB}") echo {watts} ;;' for (grid, NB), watts in WATTS.items())
    program(home / "meter", METER.format(home=home, cases=cases))
    return home


WISHES = ("N=2000", "NB=64,128", "layout=2x1,1x1", "grid=1x2,1x1", "DEPTH=0", "blas=openblas")
SPACE = ("--xhpl", "xhpl", "--space", "quick", *(word for wish in WISHES for word in ("--set", wish)))
ALIKE = ("--trials", "4", "--confirm", "0", "--no-reference")


def test_the_front_of_measured_power_is_the_true_one(hpltune: Run, machine: Path) -> None:
    meter = f"{machine}/meter"
    done = hpltune.well(
        "tune",
        *SPACE,
        *ALIKE,
        "--rpeak",
        "1000",
        "--pareto",
        "mflops-per-watt",
        "--power-command",
        meter,
        "--study",
        "thrifty",
    )
    said = " ".join(done.stdout.split())
    assert "The power is measured by meter (what your command measures)." in said
    assert "Front of study thrifty: GFLOPS against MFLOPS/W (meter)" in said
    found = hpltune.told("best", "thrifty")
    assert found["power_source"] == "meter"
    front = [(one["params"]["grid"], one["params"]["NB"]) for one in found["ranking"]]
    assert front == [("1x2", 128), ("1x2", 64)]
    for one, key in zip(found["ranking"], front, strict=True):
        assert one["mflops_per_watt"] == pytest.approx(1000 * RATES[key] / WATTS[key], rel=0.02)
    shown = {one["number"]: one["measurements"] for one in hpltune.told("show", "thrifty")}
    assert shown[found["ranking"][0]["trial"]]["meter_power_w"] == pytest.approx(100)


@pytest.mark.usefixtures("prints_hpl")
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("--objective", "mflops-per-watt"), "mflops-per-watt needs power_w of the machine: give it with --power, or"),
        (("--power-source", "rapl"), "the power source rapl is not there; nothing here measures the power"),
    ],
)
def test_a_power_that_nobody_measures_is_refused_in_one_sentence(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(home / "root"))
    done = hpltune("tune", *SPACE, *ALIKE, *asked)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())
