"""Writes the outcome of one test as JUnit's XML, which CI services show."""

from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET


@dataclass(frozen=True)
class JUnitCase:
    """One test.

    Attributes:
        suite: name of the suite that holds it.
        problem: what JUnit calls its outcome; None if it passed.
        message: one sentence on the problem.
        text: all that was found.
        time_s: how long it took.
    """

    suite: str
    name: str
    problem: Literal["failure", "error", "skipped"] | None
    message: str
    text: str
    time_s: float


def to_junit(case: JUnitCase) -> str:
    """Write a file with one suite that holds one test."""
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    figures = {"tests": "1", **{name: str(int(case.problem == problem)) for name, problem in counts.items()}}
    time = {"time": f"{case.time_s:.3f}"}
    suites = ET.Element("testsuites", {**figures, **time})
    suite = ET.SubElement(suites, "testsuite", {"name": _legal(case.suite), **figures, **time})
    names = {"classname": _legal(case.suite), "name": _legal(case.name)}
    test = ET.SubElement(suite, "testcase", {**names, **time})
    if case.problem is None:
        ET.SubElement(test, "system-out").text = _legal(case.text)
    else:
        ET.SubElement(test, case.problem, {"message": _legal(case.message)}).text = _legal(case.text)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    """Replace what XML cannot hold, such as control characters in what a program printed."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in text)
