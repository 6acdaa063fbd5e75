"""Facts of nodes: asked of this machine and of real hosts, and compared within classes."""

import os
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from net_lab import HostsLab
from runner_contract import executable

from runners.hosts.node_facts import same_host, same_kernel
from runners.hosts.transport import Local, Ssh
from runners.readiness.asking import ask_facts, clock_text, parse_facts, skew_text
from runners.readiness.fact_table import FACTS, OddFact, classes_of, fact_named, odd_facts


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(4)


def from_h1(lab: HostsLab) -> Ssh:
    return Ssh((*lab.enter("h1"), *lab.ssh))


def test_this_machine_tells_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "lib with blank.so"
    file.write_text("x")
    asked = ask_facts(
        Local(), ["here"], [*FACTS, f"file {file}", f"file {tmp_path / 'gone'}"], work=tmp_path / "not/yet/made"
    )
    facts = asked.facts["here"]
    assert not asked.silent
    assert facts["kernel"] == platform.release()
    assert float(facts["memory_gib"]) > 0
    assert int(facts["cpus"]) >= int(facts["cpus_allowed"]) >= 1
    assert facts["work_folder"] == "writable"
    skew_s, uncertain_s = (float(part) for part in facts["clock_skew"].removesuffix(" s").split(" s ± "))
    assert abs(skew_s) <= uncertain_s + 0.01, "it is its own clock; both are rounded to 0.01 s"
    assert facts[f"file {file}"].endswith("-1"), "a checksum, and its length in bytes"
    assert facts[f"file {tmp_path / 'gone'}"] == "missing"
    assert float(facts["work_mb_s"]) > 0
    assert list(tmp_path.iterdir()) == [file], "the probes of the folder are removed"


def test_a_disk_that_takes_a_file_slowly_or_never_is_told_within_seconds_and_keeps_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "work").mkdir()
    for text, mb_s in (
        ('/bin/dd "$@" 2>/dev/null; echo "262144 bytes (262 kB, 256 KiB) copied, 2 s, 131 kB/s" >&2', "0.1"),
        ('trap "" INT; /bin/dd "$@" 2>/dev/null; while :; do sleep 0.1; done', "0.0"),
    ):
        executable(tmp_path / "dd", text)
        asked = ask_facts(Local(), ["here"], ["work_mb_s"], work=tmp_path / "work", limit_s=8)
        assert asked.facts["here"]["work_mb_s"] == mb_s
        assert not list((tmp_path / "work").iterdir())


def test_a_command_line_of_the_kernel_tells_no_disks() -> None:
    options = ask_facts(Local(), ["here"]).facts["here"].get("kernel_options", "")
    assert "root=" not in options
    assert "BOOT_IMAGE=" not in options


def test_hosts_tell_their_own_and_one_that_hangs_says_at_what(lab: HostsLab) -> None:
    hanging = executable(lab.programs / "dmidecode", '[ "$(hostname)" = h3 ] && exec sleep 600; exit 1')
    try:
        asked = ask_facts(from_h1(lab), (*lab.names, "h9"), limit_s=15)
    finally:
        hanging.unlink()
    assert list(asked.facts) == ["h1", "h2", "h4"]
    assert "node h3: it hung when asked for its DIMMs (`dmidecode -t 17 | grep Size:`)" in asked.silent["h3"]
    assert "its name is not known" in asked.silent["h9"]
    assert "eth0: veth" in asked.facts["h2"]["nic_driver"]


def test_one_mtu_of_four_is_odd(lab: HostsLab) -> None:
    lab.run("h2", "ip", "link", "set", "eth0", "mtu", "1400")
    try:
        facts = ask_facts(from_h1(lab), lab.names).facts
    finally:
        lab.run("h2", "ip", "link", "set", "eth0", "mtu", "1500")
    odd = [one for one in odd_facts(facts, classes_of(facts)) if one.fact == "nic_mtu"]
    assert odd == [OddFact("h2", "nic_mtu", "eth0: 1400", "eth0: 1500", "ip link show")]


def cluster(**values: list[str]) -> dict[str, dict[str, str]]:
    """Nodes n1, n2, … of one CPU model with these values of facts."""
    count = len(next(iter(values.values())))
    return {
        f"n{at + 1}": {"cpu_model": "A", **{name: value[at] for name, value in values.items()}} for at in range(count)
    }


def odd_of(facts: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(one.node, one.usual) for one in odd_facts(facts, classes_of(facts))]


def test_the_value_of_the_majority_is_the_usual_one() -> None:
    assert odd_of(cluster(bios_date=["1", "1", "2", "1"])) == [("n3", "1")]


def test_without_a_majority_all_groups_are_named() -> None:
    assert odd_of(cluster(bios_date=["1", "1", "2", "2"])) == [("n1", ""), ("n2", ""), ("n3", ""), ("n4", "")]


def test_numbers_have_a_tolerance() -> None:
    assert odd_of(cluster(memory_gib=["62.8", "62.7", "62.8", "47.1"])) == [("n4", "62.7")]
    assert not odd_of(cluster(memory_gib=["62.8", "62.0", "63.0"]))


def test_limits_hold_whatever_others_say() -> None:
    assert odd_of(cluster(work_folder=["cannot be written"] * 2)) == [("n1", "writable"), ("n2", "writable")]
    assert odd_of(cluster(throttled=["0", "17"])) == [("n2", "at most 0")]
    assert odd_of(cluster(work_free_gib=["0.2", "300.0"])) == [("n1", "at least 0.5 GiB")]


def test_a_clock_is_wrong_only_beyond_what_the_measurement_is_uncertain_by() -> None:
    skews = [skew_text(1000.7, 1000.0, 1001.0), skew_text(1003.0, 1000.0, 1000.2)]
    assert odd_of(cluster(clock_skew=skews)) == [("n2", "at most 0.5 s")]


def test_a_slow_login_is_odd_whatever_others_say() -> None:
    assert odd_of(cluster(login=["0.31 s", "5.02 s"])) == [("n2", "at most 3 s")]


def test_a_login_that_waits_is_timed(tmp_path: Path) -> None:
    slow = executable(tmp_path / "slow-ssh", 'while [ "$1" != -- ]; do shift; done; shift; sleep 1.2; exec sh -c "$*"')
    facts = ask_facts(Ssh((str(slow),)), ["n1"]).facts["n1"]
    assert float(facts["login"].removesuffix(" s")) >= 1.2


def test_a_clock_that_is_days_off_is_told_in_days() -> None:
    assert skew_text(1000.0, 1000.0 + 3 * 86400, 1000.4 + 3 * 86400) == "-259200.20 s ± 0.20 s (3 days behind)"


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("1000.50\n1000.51\n", "+0.00 s ± 0.50 s"),
        ("1000.%N\n1000.%N\n", "+0.00 s ± 0.50 s"),
        ("1000.50\n1300.51\n", "not readable (it jumps by +300.01 s between two looks)"),
        ("1000.50\n700.51\n", "not readable (it jumps by -299.99 s between two looks)"),
        ("soon\nsoon\n", "not readable (soon)"),
        ("", "not readable (nothing is printed)"),
    ],
)
def test_a_clock_that_jumps_or_cannot_be_read_is_odd(printed: str, words: str) -> None:
    text = clock_text(printed, 1000.0, 1001.0)
    assert text == words
    odd = odd_of(cluster(clock_skew=["+0.01 s ± 0.01 s", text]))
    assert odd == ([] if "±" in words else [("n2", "at most 0.5 s")])


def test_a_fact_that_a_node_cannot_tell_is_not_odd() -> None:
    facts = cluster(bios_date=["1", "1", "1"])
    del facts["n2"]["bios_date"]
    assert not odd_of(facts)


def test_a_file_that_one_node_lacks_is_odd() -> None:
    facts = cluster(**{"file /lib/blas": ["1-1", "missing", "1-1"]})
    assert [one.show for one in odd_facts(facts, classes_of(facts))] == ["cksum /lib/blas"]


def test_classes_are_cpu_models_but_a_single_other_one_is_odd() -> None:
    def models(*names: str) -> dict[str, dict[str, str]]:
        return {f"n{at}": {"cpu_model": name} for at, name in enumerate(names)}

    assert set(classes_of(models("A", "A", "A", "B")).values()) == {"A"}
    assert list(classes_of(models("A", "A", "A", "B", "B")).values()) == ["A", "A", "A", "B", "B"]
    assert list(classes_of(models("A", "A", "B")).values()) == ["A", "A", "B"]
    assert classes_of({}) == {}
    facts = models("A", "A", "A", "B")
    assert odd_facts(facts, classes_of(facts)) == [OddFact("n3", "cpu_model", "B", "A", "lscpu | grep 'Model name'")]


@given(st.text())
def test_any_text_of_a_node_can_be_read(text: str) -> None:
    for name, value in parse_facts(text).items():
        assert fact_named(name).title
        assert value == value.strip(" ;")


@given(
    st.dictionaries(
        st.sampled_from(["n1", "n2", "n3", "n4"]), st.dictionaries(st.sampled_from(list(FACTS)), st.text(min_size=1))
    )
)
def test_any_values_can_be_compared_and_like_ones_are_never_odd_but_by_a_limit(
    facts: dict[str, dict[str, str]],
) -> None:
    for odd in odd_facts(facts, classes_of(facts)):
        assert odd.value == facts[odd.node][odd.fact]
        assert odd.value != odd.usual


def test_each_host_tells_which_machine_it_is_and_that_is_no_fact_that_is_compared(lab: HostsLab) -> None:
    asked = ask_facts(from_h1(lab), lab.names)
    assert same_host(asked.identities) == []
    assert same_kernel(asked.identities) == [lab.names], "they are namespaces of one machine"
    assert {own.hostname for own in asked.identities.values()} == set(lab.names)
    assert not {"boot", "network_space", "image", "hostname"} & asked.facts["h1"].keys()
