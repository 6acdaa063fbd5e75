"""Settings name their commands and read what real programs print."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import InvalidJobError, RefusedError
from runners.job import INTERFACE
from runners.settings.registry import host_settings, setting
from runners.settings.setting import CHOICE, interfaces_of
from runners.settings.survey import interfaces_in
from search_spaces.parameters.dimension import dimension
from tuner.settings.dimensions import setting_dimensions

HOST = {name: one for name, one in host_settings().items() if name.startswith("net.")}
DATA = Path(__file__).parents[1] / "data" / "network"


def captured(name: str) -> str:
    return (DATA / name).read_text()


def values(name: str) -> st.SearchStrategy[str]:
    """Legal values of a setting."""
    accepts = setting(name).values.accepts
    numbers = st.integers(68, 65_535).map(str)
    if accepts("on"):
        return st.sampled_from(["on", "off"]) if not accepts("cubic") else st.sampled_from(["cubic", "bbr", "reno"])
    if accepts("1 2 3"):
        return st.lists(numbers, min_size=3, max_size=3).map(" ".join)
    return numbers


def test_every_setting_is_a_parameter_of_spaces_with_its_legal_values() -> None:
    known = setting_dimensions()
    assert {*HOST, CHOICE} < set(known)
    assert all(dimension(name, known).expected == setting(name).values.expected for name in HOST)


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("ip-link-virtio.json", "mtu", "1400"), ("ip-link-veth.json", "mtu", "9000"),
        ("ethtool-c-virtio.txt", "rx_usecs", "0"), ("ethtool-c-virtio.txt", "rx_frames", "1"),
        ("ethtool-c-virtio.txt", "adaptive_rx", "off"), ("ethtool-c-tg3-ioctl.txt", "rx_usecs", "20"),
        ("ethtool-c-tg3-ioctl.txt", "tx_frames", "53"), ("ethtool-c-tg3-ioctl.txt", "adaptive_tx", "off"),
        ("ethtool-g-virtio.txt", "rx_ring", "256"), ("ethtool-g-tg3-ioctl.txt", "rx_ring", "200"),
        ("ethtool-g-tg3-ioctl.txt", "tx_ring", "511"), ("ethtool-k-virtio.txt", "tso", "on"),
        ("ethtool-k-virtio.txt", "lro", "off"), ("ethtool-k-veth.txt", "gro", "off"),
        ("sysctl-tcp_rmem.txt", "tcp_rmem", "4096 131072 33554432"), ("sysctl-rmem_max.txt", "rmem_max", "4194304"),
        ("sysctl-congestion.txt", "tcp_congestion", "bbr"),
    ],
)  # fmt: skip
def test_a_value_is_read_from_what_the_program_printed(file: str, name: str, value: str) -> None:
    assert HOST[f"net.{name}"].read(captured(file)).value == value


def test_what_a_driver_does_not_let_change_is_fixed() -> None:
    assert HOST["net.lro"].read(captured("ethtool-k-virtio.txt")).fixed
    assert not HOST["net.tso"].read(captured("ethtool-k-virtio.txt")).fixed


@pytest.mark.parametrize(
    ("file", "name", "words"),
    [
        ("ethtool-c-veth.txt", "rx_usecs", "netlink error: Operation not supported"),
        ("ethtool-c-veth.txt", "rx_ring", "netlink error: Operation not supported"),
        ("ethtool-c-virtio.txt", "adaptive_tx", "the driver has no adaptive-tx"),
        ("ip-link-missing.txt", "mtu", 'Device "eth7" does not exist.'),
        ("sysctl-missing.txt", "rmem_max", "sysctl: cannot stat /proc/sys/net/core/nosuch"),
    ],
)
def test_what_is_not_there_is_said_in_the_words_of_the_program(file: str, name: str, words: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(words)):
        HOST[f"net.{name}"].read(captured(file))


PRINTED = {
    "mtu": '[{{"ifname":"eth0","mtu":{0}}}]',
    "rx_ring": "Pre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\nCurrent hardware settings:\nRX:\t\t{0}\nTX:\t\t1\n",
    "tx_ring": "Pre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\nCurrent hardware settings:\nRX:\t\t1\nTX:\t\t{0}\n",
    "adaptive_rx": "Adaptive RX: {0}  TX: off\n",
    "adaptive_tx": "Adaptive RX: off  TX: {0}\n",
    "sg": "scatter-gather: {0}\n\ttx-scatter-gather: off [fixed]\n",
    "tso": "tcp-segmentation-offload: {0}\n",
    "gso": "generic-segmentation-offload: {0} [fixed]\n",
    "gro": "generic-receive-offload: {0}\n",
    "lro": "large-receive-offload: {0} [requested on]\n",
}


@pytest.mark.parametrize("name", HOST)
@given(data=st.data())
def test_a_value_is_applied_and_read_as_it_was_asked(name: str, data: st.DataObject) -> None:
    value = data.draw(values(name))
    short = name.removeprefix("net.")
    key = short.replace("_", "-")
    kind = PRINTED.get(short) or ("{0}\n" if not HOST[name].per_interface else f"{key}-irq: 7\n{key}: {{0}}\n")
    assert HOST[name].read(kind.format(value.replace(" ", "\t"))).value == value
    applied = HOST[name].apply("eth0", value)
    assert value in applied[-1]
    program, rule = HOST[name].rule("eth0")
    assert (program, bool(re.fullmatch(rule, " ".join(applied[1:])))) == (applied[0], True)


@pytest.mark.parametrize("name", HOST)
@given(printed=st.text())
def test_no_text_breaks_a_reader(name: str, printed: str) -> None:
    with suppress(RefusedError):
        assert HOST[name].read(printed).value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mtu", 67), ("mtu", "1500 up"), ("mtu", True), ("tso", "maybe"), ("rx_ring", 0), ("rx_usecs", -1),
        ("tcp_rmem", "1 2"), ("tcp_rmem", "1 2 3; reboot"), ("tcp_congestion", "cubic net.x=1"), ("rmem_max", "1e6"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_legal_reaches_no_command_line(name: str, value: str | int) -> None:
    with pytest.raises(RefusedError, match=f"net.{name} = .*: expected "):
        HOST[f"net.{name}"].apply("eth0", value)


@pytest.mark.parametrize("name", ["-a", "", "eth0;reboot", "a" * 16, "eth 0", "eth0\n"])
def test_what_is_no_interface_reaches_no_command_line(name: str) -> None:
    with pytest.raises(InvalidJobError, match="not the name of a network interface"):
        HOST["net.mtu"].show(name)


@given(st.lists(st.from_regex(INTERFACE, fullmatch=True), min_size=1))
def test_several_interfaces_are_written_with_commas_or_plus(names: list[str]) -> None:
    assert interfaces_of(",".join(names)) == interfaces_of("+".join(names)) == tuple(names)


def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(RefusedError, match=r"net\.mtuu: there is no such network setting; did you mean net\.mtu\?"):
        setting("net.mtuu")


def test_addresses_of_a_node_are_read() -> None:
    lo, eth0 = interfaces_in(captured("ip-addr-host.json"))
    assert (lo.name, lo.loopback) == ("lo", True)
    assert (eth0.name, eth0.address, eth0.mtu, eth0.up, eth0.loopback) == ("eth0", "10.77.0.2", 1500, True, False)
