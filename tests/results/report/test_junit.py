from xml.etree import ElementTree as ET

import pytest

from results.report.text_forms import JUnitCase, to_junit


def test_a_test_that_passed_has_no_problem_and_tells_what_it_found() -> None:
    suites = ET.fromstring(to_junit(JUnitCase("suite", "name", None, "", "all is <well>", 1.5)))  # noqa: S314
    assert (suites.get("tests"), suites.get("failures"), suites.get("time")) == ("1", "0", "1.500")
    assert suites.findtext("testsuite/testcase/system-out") == "all is <well>"


@pytest.mark.parametrize(("problem", "count"), [("failure", "failures"), ("error", "errors"), ("skipped", "skipped")])
def test_a_problem_is_counted_and_has_its_message_whatever_signs_are_in_it(problem: str, count: str) -> None:
    case = JUnitCase("suite", "name", problem, "a \x1b[31mred\x00 sign", "text\n\x08", 0.0)  # type: ignore[arg-type]
    suite = ET.fromstring(to_junit(case)).find("testsuite")  # noqa: S314
    assert suite is not None
    assert suite.get(count) == "1"
    found = suite.find(f"testcase/{problem}")
    assert found is not None
    assert (found.get("message"), found.text) == ("a ?[31mred? sign", "text\n?")
