"""Programs that hang, fail late or print what no HPL prints."""

import subprocess
import sys
from pathlib import Path

import pytest
from as_user import Run, program
from replayed import replaying


@pytest.mark.usefixtures("mpirun")
def test_a_first_run_that_succeeded_is_not_said_to_have_failed(hpltune: Run, home: Path) -> None:
    xhpl = replaying(home, {"first": 1}, {"ends": "exit", "says": "no licence"})
    done = hpltune("tune", "--xhpl", str(xhpl), "--budget", "40s", "--trials", "3")
    assert done.returncode == 1
    assert "GFLOPS" in done.stderr + done.stdout, "trial 1 has a rate"
    assert "the first run of HPL failed" not in done.stderr


@pytest.mark.process
@pytest.mark.usefixtures("mpirun")
def test_a_run_that_hangs_does_not_take_a_day_of_scale(hpltune_process: Run, home: Path) -> None:
    xhpl = replaying(home, {"ends": "hang"})
    try:
        done = hpltune_process(
            "scale", "--xhpl", str(xhpl), "--time", "5s", "--n", "1000", "--repeats", "1", timeout_s=60
        )
    except subprocess.TimeoutExpired:
        pytest.fail("--time 5s, and after a minute the first run still hangs: its limit is 86400 s")
    assert done.returncode == 1


@pytest.mark.usefixtures("mpirun")
def test_a_result_that_is_no_number_ends_a_study_with_a_sentence(hpltune: Run, home: Path) -> None:
    row = "WR11C2R4 512 32 1 2 nan inf"
    check = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= nan ...... PASSED"
    code = f"sys.stdout.buffer.write(bytes(range(256)) * 2000 + {chr(10).join(('', row, check, ''))!r}.encode())\n"
    xhpl = program(home / "xhpl", f"#!{sys.executable}\nimport sys\n# HPL.dat HPLinpack\n{code}")
    done = hpltune("tune", "--xhpl", str(xhpl), "--budget", "10s")
    assert "Traceback" not in done.stderr, done.stderr[-300:]
    assert done.returncode == 1
