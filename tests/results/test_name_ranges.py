import pytest

from results.node_check import ranges


@pytest.mark.parametrize(
    ("names", "written"),
    [
        ([f"node{number:03}" for number in range(1, 85)], "node[001-084]"),
        (["n1", "n2"], "n1, n2"),
        (["n1", "n2", "n3", "n5"], "n[1-3], n5"),
        (["head", "h1", "x9"], "h1, head, x9"),
        (["n11", "n9", "n10"], "n[9-11]"),
        (["n2", "n10", "n1"], "n1, n2, n10"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n099", "n0100", "n101"], "n099, n0100, n101"),
        ([], ""),
    ],
)
def test_names_that_follow_each_other_become_a_range(names: list[str], written: str) -> None:
    assert ranges(names) == written
