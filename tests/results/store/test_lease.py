import os
import subprocess
import sys
from dataclasses import replace

import pytest
from needs import skip_without

from results.store.lease import Lease


def test_a_lease_is_read_as_it_was_written() -> None:
    assert Lease.parse(str(Lease.mine())) == Lease.mine()


@pytest.mark.parametrize("text", ["", "host", "a|b|c|d", "a|b|12"])
def test_what_is_no_lease_is_none(text: str) -> None:
    assert Lease.parse(text) is None


def test_my_own_lease_does_not_keep_me_out() -> None:
    assert not Lease.mine().alive


def test_a_process_that_runs_is_alive() -> None:
    parent = Lease.of(os.getppid())
    assert parent.alive


def test_a_reused_process_number_is_not_alive() -> None:
    assert not replace(Lease.of(os.getppid()), started="1").alive


def test_nothing_survives_a_reboot() -> None:
    assert not replace(Lease.of(os.getppid()), boot_id="another").alive


def test_a_process_that_ended_is_not_alive_even_before_its_parent_looks() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    lease = Lease.of(child)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        assert not lease.alive
    finally:
        os.waitpid(child, 0)


def test_a_host_that_got_another_name_knows_its_processes() -> None:
    parent = replace(Lease.of(os.getppid()), host="its name before")
    assert parent.of_this_host
    assert parent.alive
    assert not replace(parent, started="1").alive, "the number is another process's by now"


@pytest.mark.process
def test_a_container_with_numbers_of_its_own_is_no_process_of_this_host() -> None:
    """Its process 1 is another one than process 1 here."""
    said = "from results.store.lease import Lease; print(Lease.of(1))"
    command = ["unshare", "--fork", "--pid", "--mount-proc", "--uts", sys.executable, "-c", said]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        skip_without("the right to make namespaces")
    inside = Lease.parse(asked.stdout.strip())
    assert inside is not None
    assert inside.boot_id.partition("/")[0] == Lease.of(1).boot_id.partition("/")[0], "the kernel is the same"
    assert not inside.of_this_boot
    assert replace(inside, host="pod-a").alive, "nothing is known of it here"


def test_of_other_hosts_nothing_is_known_so_they_count_as_alive() -> None:
    assert replace(Lease.mine(), host="elsewhere", boot_id="another", started="1").alive
