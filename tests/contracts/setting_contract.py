"""What every setting of a host keeps to: a new one inherits a class here, and tells its values and its host."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from settings_builders import Notes

from runners.errors import InvalidJobError, RefusedError
from runners.hosts.system_facts import SystemFacts
from runners.hosts.transport import Local, Transport
from runners.job import Job
from runners.settings.control import SettingsControl
from runners.settings.registry import setting as registered
from runners.settings.script import Told, converse
from runners.settings.setting import HostSetting, LaunchSetting, Setting, SettingValue
from search_spaces.errors import SpaceError
from search_spaces.parameters.dimension import dimension
from tuner.settings.dimensions import setting_dimensions


class SettingContract:
    """Name and values.

    Attributes:
        name: with its family.
        legal: two values at least.
        illegal: values that no host may be given.
    """

    name: str
    legal: Sequence[SettingValue]
    illegal: Sequence[SettingValue]

    @pytest.fixture
    def setting(self) -> Setting:
        return registered(self.name)

    def test_its_name_is_a_parameter_of_spaces_in_a_family(self, setting: Setting) -> None:
        assert re.fullmatch(r"[a-z]+\.[a-z][a-z0-9_]*", setting.name)
        assert dimension(setting.name, setting_dimensions()).expected == setting.values.expected
        with pytest.raises(SpaceError, match="unknown parameter"):
            dimension(f"no{setting.name}", setting_dimensions())

    def test_a_space_accepts_its_legal_values_and_no_others(self, setting: Setting) -> None:
        known = dimension(setting.name, setting_dimensions())
        assert [known.accepts(value) for value in self.legal] == [True] * len(self.legal)
        assert [known.accepts(value) for value in self.illegal] == [False] * len(self.illegal)

    def test_a_value_is_written_in_one_way(self, setting: Setting) -> None:
        texts = [setting.text(value) for value in self.legal]
        assert [setting.text(text) for text in texts] == texts
        assert len(set(texts)) == len(texts) >= 2

    def test_what_is_not_legal_is_refused_with_what_is(self, setting: Setting) -> None:
        for value in self.illegal:
            with pytest.raises((RefusedError, InvalidJobError)) as refused:
                setting.text(value)
            assert repr(str(value))[1:-1] in str(refused.value)
            assert "\n" not in str(refused.value)


class HostSettingContract(SettingContract):
    """A value of a node: read, written, read again and put back."""

    @pytest.fixture
    def setting(self) -> HostSetting:
        found = registered(self.name)
        assert isinstance(found, HostSetting)
        return found

    @pytest.fixture
    def reach(self) -> Transport:
        """The way to the host."""
        return Local()

    @pytest.fixture
    def host(self) -> str:
        return "here"

    @pytest.fixture
    def interface(self) -> str:
        """The interface of a setting that each has; "" for one of the whole host."""
        return ""

    def test_a_value_holds_as_long_as_it_is_wanted(
        self, setting: HostSetting, reach: Transport, host: str, interface: str
    ) -> None:
        notes = Notes()
        before = self._read(setting, reach, host, interface)
        with SettingsControl(reach, [host], [interface] if interface else [], notes) as control:
            for value in self.legal:
                control.apply({self.name: value})
                assert self._read(setting, reach, host, interface) == setting.text(value)
                assert [(each.setting, each.value) for each in notes.kept.values()] == [(self.name, before)]
                assert control.disturbed() == ""
            control.apply({})
            assert self._read(setting, reach, host, interface) == before
            control.apply({self.name: self.legal[-1]})
        assert self._read(setting, reach, host, interface) == before
        assert notes.kept == {}

    def test_a_change_by_somebody_else_is_told(
        self, setting: HostSetting, reach: Transport, host: str, interface: str
    ) -> None:
        first, second = map(setting.text, self.legal[:2])
        with SettingsControl(reach, [host], [interface] if interface else [], Notes()) as control:
            control.apply({self.name: first})
            self._told(reach, host, setting.apply(interface, second))
            sentence = f"{self.name} is {second}, though it was set to {first}: somebody else changed it"
            assert sentence in control.disturbed()

    def test_a_command_has_the_value_in_the_way_that_the_rule_of_sudo_allows(
        self, setting: HostSetting, interface: str
    ) -> None:
        for value in self.legal:
            applied = setting.apply(interface, value)
            assert any(setting.text(value) in token for token in applied)
            if setting.needs_root:
                program, rule = setting.rule(interface)
                assert applied[0] == program
                assert re.fullmatch(rule, " ".join(applied[1:]))
        for value in self.illegal:
            with pytest.raises(RefusedError, match=re.escape(self.name)):
                setting.apply(interface, value)

    def test_a_host_without_its_program_says_so(self, setting: HostSetting) -> None:
        program = setting.show("eth0" if setting.per_interface else "")[0]
        with pytest.raises(RefusedError, match=f"{program}: not found"):
            setting.read(f"sh: 1: {program}: not found")

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors])
    @given(printed=st.text())
    def test_no_text_breaks_its_reader(self, setting: HostSetting, printed: str) -> None:
        with suppress(RefusedError):
            assert setting.read(printed).value

    def _read(self, setting: HostSetting, reach: Transport, host: str, interface: str) -> str:
        return setting.read(self._told(reach, host, setting.show(interface)).printed).value

    @staticmethod
    def _told(reach: Transport, host: str, command: Sequence[str]) -> Told:
        (told,) = converse(reach, host, [tuple(command)])
        assert told.taken, told.printed
        return told


class LaunchSettingContract(SettingContract):
    """A part of the launch: each rank gets it, and nothing is left of it afterwards.

    Attributes:
        system: a host that can have the legal values.
    """

    system: SystemFacts = SystemFacts()

    @pytest.fixture
    def setting(self) -> LaunchSetting:
        found = registered(self.name)
        assert isinstance(found, LaunchSetting)
        return found

    def test_a_job_takes_what_it_gives_the_ranks(self, setting: LaunchSetting, tmp_path: Path) -> None:
        for value in self.legal:
            before, variables = setting.command(str(value), self.system), setting.environment(str(value))
            job = Job(program=("/bin/true",), ranks=1, directory=tmp_path, environment=variables, before=before)
            assert job.line == (*before, "/bin/true")
