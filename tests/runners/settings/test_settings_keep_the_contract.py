"""Settings of hosts keep their contract: made-up ones on this machine, those of networks on hosts of a laboratory."""

from pathlib import Path

import made_up_settings
import pytest
from net_lab import HostsLab
from setting_contract import HostSettingContract, LaunchSettingContract

from runners.hosts.transport import Ssh, Transport
from runners.settings import registry


class MadeUp:
    """Adds settings to the registry for a test."""

    @pytest.fixture(autouse=True)
    def made_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "SETTINGS", registry.SETTINGS)
        made_up_settings.register(tmp_path)
        (tmp_path / made_up_settings.PLACE).write_text("7\n")


@pytest.mark.xdist_group("settings of this machine")
class TestValueInAFile(MadeUp, HostSettingContract):
    name, legal, illegal = "sys.test_value", (1, 2, 9), (0, 10, "many", True, "1; reboot")


class TestVariable(MadeUp, LaunchSettingContract):
    name, legal, illegal = "sys.test_pace", ("slow", "fast"), ("quick", 1, True, "slow\n")


class TestStarter(MadeUp, LaunchSettingContract):
    name, legal, illegal = "sys.test_step", (1, 9), (0, "1 ls", True)


class TestInterfaceChoice(LaunchSettingContract):
    name, legal, illegal = "net.interface", ("eth0", "eth0,eth1"), ("eth0;reboot", "", "a" * 16)


class OnAHost(HostSettingContract):
    """A setting of a host of the laboratory."""

    @pytest.fixture
    def lab(self, hosts: HostsLab) -> HostsLab:
        return hosts.wired(2, mtu=6000)

    @pytest.fixture
    def reach(self, lab: HostsLab) -> Transport:
        return Ssh((*lab.enter("h1"), *lab.ssh))

    @pytest.fixture
    def host(self) -> str:
        return "h2"


class OfANic(OnAHost):
    """A setting that each interface has."""

    @pytest.fixture
    def interface(self) -> str:
        return "eth0"


class TestMtu(OfANic):
    name, legal, illegal = "net.mtu", (3000, 6000), (67, 65_536, "1500 up", True)


class TestOffload(OfANic):
    name, legal, illegal = "net.tso", ("off", "on"), ("maybe", True, "on; reboot")


class TestBuffers(OnAHost):
    name = "net.tcp_rmem"
    legal = ("4096 65536 131072", "4096 65536 262144")
    illegal = ("1 2", "1 2 3; reboot", 4096)
