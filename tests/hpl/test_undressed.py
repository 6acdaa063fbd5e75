"""HPL's lines behind what other programs put before them, around them and within them."""

import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpl.log import HplLog, read_log, read_logs
from hpl.undressed import MOST_PREFIXES, undressed

DATA = Path(__file__).parent / "data"
SEVERAL = (DATA / "several.txt").read_text()
WHOLE = sorted(path for path in DATA.glob("*.txt") if "mxp" not in path.name)


def each_line(prefix: Callable[[int], str], text: str = SEVERAL) -> str:
    return "".join(f"{prefix(number)}{line}".rstrip() + "\n" for number, line in enumerate(text.splitlines()))


def facts(log: HplLog) -> list[object]:
    """All that was read, but for the text and the place of each result."""
    return [(one.result, one.words, one.program, one.threshold, one.started_at, one.ended_at) for one in log.results]


PREFIXES: dict[str, Callable[[int], str]] = {
    "srun -l": lambda _: "0: ",
    "srun -l of many ranks": lambda _: "  0: ",
    "Open MPI 4": lambda _: "[1,0]<stdout>:",
    "Open MPI 5": lambda _: "[prterun-node07-4711@1,0]<stdout>: ",
    "MPICH": lambda _: "[0] ",
    "docker compose": lambda _: "hpl-1  | ",
    "docker compose in colour": lambda _: "\x1b[36mhpl-1  |\x1b[0m ",
    "pdsh": lambda _: "node-a07: ",
    "journal": lambda line: f"Mar  3 10:{line // 60:02}:{line % 60:02} n01 xhpl[123]: ",
    "syslog": lambda line: f"2025-03-03T10:00:{line % 60:02}.{line:06}+01:00 n01 xhpl[123]: ",
    "ts": lambda line: f"Feb 27 10:00:{line % 60:02} ",
    "ts -s": lambda line: f"00:00:{line % 60:02} ",
    "time in brackets": lambda line: f"[2025-03-03 10:00:{line % 60:02},123] ",
    "Kubernetes": lambda line: f"2025-03-03T10:00:{line % 60:02}.000000000Z stdout F ",
    "compose and srun -l": lambda _: "hpl-1  | 0: ",
    "grep": lambda _: "runs/hpl-2.out:",
    "grep -n": lambda line: f"{line + 1}:",
    "cat -n": lambda line: f"{line + 1:6}\t",
    "parallel --tag": lambda _: "n01\t",
    "mail": lambda _: "> ",
    "mail answered": lambda _: "> > ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_what_a_program_puts_before_each_line_is_taken_off(prefix: Callable[[int], str]) -> None:
    log = read_logs(undressed(each_line(prefix)))
    assert facts(log) == facts(read_log(SEVERAL))
    assert len(log.results) == 4
    assert log.finished


WORDS = st.text(st.sampled_from("abcn019_.-"), min_size=1, max_size=12)
ENDS = st.sampled_from([": ", ":", " | ", "> ", "] ", ">: "])


@settings(max_examples=60)
@given(st.sampled_from(WHOLE), st.lists(st.tuples(WORDS, ENDS), min_size=1, max_size=3))
def test_any_label_is_taken_off_again(path: Path, labels: list[tuple[str, str]]) -> None:
    text = path.read_text()
    prefix = "".join(word + end for word, end in labels)
    log = read_logs(undressed(each_line(lambda _: prefix, text)))
    plain = read_log(text)
    assert facts(log) == facts(plain)
    assert (log.errors, log.finished, log.launches) == (plain.errors, plain.finished, plain.launches)


@pytest.mark.heavy
@given(st.lists(st.integers(0, 3), min_size=1, max_size=400), st.integers(2, 4))
def test_lines_of_ranks_that_print_at_once_find_their_own(turns: list[int], ranks: int) -> None:
    texts = [SEVERAL.replace("500", f"{500 + 8 * rank}").splitlines() for rank in range(ranks)]
    order = [*turns, *(rank for rank in range(ranks) for _ in range(100))]
    mixed = [f"{turn}: {texts[turn].pop(0)}\n" for turn in order if turn < ranks and texts[turn]]
    log = read_logs(undressed("".join(mixed)))
    assert sorted(one.result.N for one in log.results) == sorted(
        500 + 8 * rank for rank in range(ranks) for _ in "four"
    )
    assert all(one.result.passed and one.hpl for one in log.results)
    assert log.finished


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_a_plain_output_stays_as_it_is(path: Path) -> None:
    text = path.read_text()
    assert undressed(text) == ["\n".join(text.splitlines()) + "\n"]


def wrapped(text: str) -> str:
    """As mail that breaks lines at 72 characters, between words."""
    broken = []
    for line in text.splitlines():
        cut = line.rfind(" ", 0, 72) if len(line) > 72 and " " in line[20:72] else len(line)
        broken += [line[:cut], line[cut:].strip()] if cut < len(line) else [line]
    return "\n".join(f"> {line}" for line in broken)


def on_page(text: str) -> str:
    return html.escape(text).replace("  ", " &nbsp;").replace("\n", "<br>\n")


DRESSES: dict[str, Callable[[str], str]] = {
    "escaped": lambda text: json.dumps({"changed": True, "stdout": text, "rc": 0}),
    "listed": lambda text: json.dumps({"stdout_lines": text.splitlines()}, indent=4),
    "docker": lambda text: "".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in text.splitlines()
    ),
    "bytes of Python": lambda text: repr(text.encode()),
    "page": lambda text: f"<html><body><p>{on_page(text)}</p></body></html>",
    "preformatted": lambda text: f"<pre class='log'>{html.escape(text)}</pre>",
    "flattened": lambda text: "\n".join(" ".join(one.split()) for one in text.splitlines()).replace("\n----", " ----"),
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "wrapped": wrapped,
}


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
def test_an_output_in_another_format_is_read(dress: Callable[[str], str]) -> None:
    log = read_logs(undressed(dress(SEVERAL)))
    assert [one.result for one in log.results] == [one.result for one in read_log(SEVERAL).results]
    assert [one.words for one in log.results] == [one.words for one in read_log(SEVERAL).results]


TABLES = {
    "Markdown": """| T/V | N | NB | P | Q | Time | Gflops |
|---|---|---|---|---|---|---|
| WR11C2R4 | 4000 | 128 | 1 | 2 | 1.00 | 4.2691e+01 |
""",
    "CSV": "T/V,N,NB,P,Q,Time,Gflops,Residual\nWR11C2R4,4000,128,1,2,1.00,4.2691e+01,PASSED\n",
    "CSV with quotes": '"T/V";"N";"NB";"P";"Q";"Time";"Gflops"\n"WR11C2R4";"4000";"128";"1";"2";"1.00";"4.2691e+01"\n',
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_row_of_a_table_is_read_without_a_residual_that_nobody_printed(table: str) -> None:
    (one,) = read_logs(undressed(table)).results
    assert (one.result.N, one.result.time_s, one.result.gflops) == (4000, 1.0, 42.691)
    assert one.result.passed is None


def test_a_message_within_a_row_leaves_the_row_whole() -> None:
    row = "WR01C2R4         500    32     1     2               0.00"
    broken = "WR01C2R4         500    32     1     2 [n01:0123] Read -1, expected 12288, errno = 1\n               0.00"
    assert row in SEVERAL
    log = read_logs(undressed(SEVERAL.replace(row, broken)))
    assert facts(log) == facts(read_log(SEVERAL))


@pytest.mark.parametrize(
    "text",
    [
        "The best row was WR11C2R4 4000 128 1 2 1.00 4.2691e+01\n",
        "HPL_AI   WR11C2R4        4000   128     1     2               1.00              4.269e+01\n",
        "WR11C2R4        4000   128     1     2\nkilled\n              1.00             4.2691e+01\n",
    ],
    ids=["a sentence", "another benchmark", "a row that was cut off"],
)
def test_what_is_no_row_of_hpl_does_not_become_one(text: str) -> None:
    assert read_logs(undressed(text)).results == ()


def test_more_kinds_of_prefixes_than_a_program_writes_are_left_alone() -> None:
    names = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(MOST_PREFIXES + 1)]
    row = "WR11C2R4        4000   128     1     2               1.00             4.2691e+01\n"
    text = "".join(f"{name}: {row}" for name in names)
    assert undressed(text) == [text]


@settings(max_examples=200)
@given(st.text(st.sampled_from('WR1 0.:|>"\\n{}<br>&\t\x1b[m\0=-T/VNB\n'), max_size=300))
def test_no_text_makes_it_fail(text: str) -> None:
    read_logs(undressed(text))
