r"""Takes off what other programs put around HPL's lines: labels of ranks and hosts, time stamps, quotes, escapes, tags.

A text is changed only where one of HPL's unmistakable lines (`_ANCHOR`) stands behind or within something else. What
stands before it is learned from these lines, whichever program wrote it: `0: ` (srun -l), `[1,0]<stdout>:` (Open MPI),
`hpl-1  | ` (docker compose), `n01: ` (pdsh), `Mar 03 10:00:01 n01 xhpl[7]: ` (journal), `run.out:` (grep), `> ` (mail).
Lines with different labels become different texts, because ranks and hosts that print at once mix their lines.

Nothing here raises, and the time that it takes grows only with the length of the text.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from .output import ANSI, LONGEST_LINE

LONGEST_PREFIX = 200
"""Characters before HPL's line."""
LONGEST_BROKEN = 200
"""Characters of a line that was broken, as HPL's lines have 80."""
MOST_PREFIXES = 64
"""Kinds of prefixes in a text; numbers in them do not count, and of more the rest is not read."""
_CODE = r"W[RC][A-Za-z0-9]{1,30}"
_ANCHOR = re.compile(
    rf"T/V[ \t]+N[ \t]+NB[ \t]|T/V[ \t]{{1,9}}:[ \t]Wall time|\b{_CODE}(?:[ \t]+\d{{1,10}}){{4}}(?![^\s])"
    r"|\|\|Ax-b\|\|_oo|HPL_pdgesv\(\) (?:start|end) time|HPLinpack \d|HPL ERROR from process|End of Tests\."
)
_PLAIN = re.compile(rf"^[ \t]*(?:{_ANCHOR.pattern})", re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_BREAK = re.compile(r"<br ?/?>\n?|</(?:p|div|pre|tr|li)>", re.IGNORECASE)
_IS_HTML = re.compile(r"<br ?/?>|<pre[ >]|<html[ >]|<p>|&nbsp;", re.IGNORECASE)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"|\Z)', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
    r"|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:[.,]\d+)?(?: \d{4})?"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|(?<![\w.-])\d+\.\d+(?![\w.-])"
)
_STREAM = re.compile(r"<?\bstd(?:out|err|diag)\b>?(?: [FP]\b)?")
_TIME_OR_STREAM = re.compile(rf"(?:{_TIME.pattern}|{_STREAM.pattern})$")
_PIECE = re.compile(r"(\d+)|(\s+)|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b|\b[A-Z][a-z]{2}\b(?= [ \d]\d )|[^\d\s]")
_RULER = re.compile(r"[-=]{60,}")
_TABLE = re.compile(
    rf'(?:[^|,;\t]{{0,60}}[|,;\t]){{0,8}}?\s*"?((?:T/V|{_CODE})"?\s*[|,;\t]\s*"?(?:N|\d{{1,10}})"?\s*[|,;\t])'
)
"""The begin of a row of a table; columns of others may stand before HPL's."""
_CELLS = re.compile(r'[|,;\t"]')
_NUMBER = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")
_CUT_ROW = re.compile(rf"(\s*{_CODE}(?:\s+\d{{1,10}}){{4}}(?:\s+[\d.]{{1,20}})?)(?:\s+\[[\w.-]+:\d+\]\s.*)?\s*")
_REST_OF_ROW = re.compile(r"\s*[\d.]{1,20}(?:[eE][+-]?\d+)?(?:\s+[\d.]{1,20}(?:[eE][+-]?\d+)?)?\s*")
_CUT_HEAD = re.compile(r"\s*T/V\s+N\s+NB\s+P\s+Q(?:\s+Time)?\s*")
_FIGURE = r"\d[\deE+-]*(?:\.[\deE+-]+)?"
_CUT_CHECK = re.compile(rf"\s*\|\|Ax-b\|\|_oo[^=]*=\s*(?:{_FIGURE})?[\s.]*+")
_CUT_EPS = re.compile(r"- The relative machine precision \(eps\) is taken to be\s*")
_REST_OF_CHECK = re.compile(rf"[\s.]*+(?:{_FIGURE}[\s.]++)?(?:PASSED|FAILED)\s*")


def undressed(text: str) -> list[str]:
    """Return HPL's own lines, in a text for each rank or host whose label they carry; a plain output as it is."""
    text = ANSI.sub("", text) if "\x1b[" in text else text
    if _IS_HTML.search(text):
        text = html.unescape(_TAG.sub("", _BREAK.sub("\n", text))).replace("\xa0", " ")
    text = _without_escapes(text)
    return ["\n".join(_joined(list(_cells(_lines(part))))) + "\n" for part in _without_prefixes(text)]


def _without_escapes(text: str) -> str:
    r"""Return what stands in the strings of JSON, or behind the escape `\n` of another program, a line for each."""
    before = {text[max(0, found.start() - 2) : found.start()] for found in _ANCHOR.finditer(text)}
    if any(two.endswith('"') or two == r"\n" for two in before):
        strings = "\n".join(_string(one) for one in _STRING.findall(text) if one)
        unescaped = strings if _ANCHOR.search(strings) else _ESCAPE.sub(_escaped, text)
        return f"{unescaped}\n{text}" if _PLAIN.search(text) else unescaped
    return text


def _string(escaped: str) -> str:
    if "\\" not in escaped:
        return escaped
    try:
        return str(json.loads(f'"{escaped}"', strict=False))
    except ValueError:
        return _ESCAPE.sub(_escaped, escaped)


def _escaped(found: re.Match[str]) -> str:
    said = found[1]
    return chr(int(said[1:], 16)) if len(said) == 5 else _ESCAPES.get(said, said)


def _without_prefixes(text: str) -> list[str]:
    """Return the lines without what stands before HPL's in some of them; a text for each label that prints its own."""
    prefixes = [prefix for prefix in _prefixes(text) if _parts_lines(prefix)]
    templates = list(dict.fromkeys(map(_template, prefixes)))
    if not templates or len(templates) > MOST_PREFIXES:
        return [text]
    prefix = re.compile("|".join(sorted(templates, key=len, reverse=True)))
    labels = set(map(_label, prefixes))
    apart = 1 < len(labels) <= len(prefixes) / 2
    texts: dict[str, list[str]] = {}
    for line in text.splitlines():
        found = prefix.match(line)
        label = _label(found[0]) if found and apart else ""
        texts.setdefault(label, []).append(line[found.end() :] if found else line)
    return ["\n".join(lines) + "\n" for lines in texts.values()]


def _prefixes(text: str) -> Iterator[str]:
    """Yield what stands before HPL's lines, of each line that has something before."""
    last = -1
    for found in _ANCHOR.finditer(text):
        begin = text.rfind("\n", max(0, found.start() - LONGEST_PREFIX), found.start()) + 1
        if begin == last or (begin == 0 and found.start() > LONGEST_PREFIX):
            continue
        last = begin
        prefix = text[begin : found.start()]
        if prefix.strip():
            yield prefix


def _parts_lines(prefix: str) -> bool:
    """Whether a program could have put it before each line; a sentence that quotes HPL's line is none."""
    bare = prefix.rstrip()
    if re.search(r"[-=]{5}", bare) or _ANCHOR.search(bare):
        return False
    return bare[-1] in ":|>]-" or prefix.endswith("\t") or _TIME_OR_STREAM.search(bare) is not None


def _template(prefix: str) -> str:
    """Return the pattern of prefixes that differ only in numbers, days and months."""
    bare = prefix.rstrip()
    pieces = []
    for piece in _PIECE.finditer(bare.lstrip()):
        if piece[1]:
            pieces.append(r"\d+")
        elif piece[2]:
            pieces.append(r"\s+")
        else:
            pieces.append(re.escape(piece[0]) if len(piece[0]) == 1 else r"[A-Z][a-z]{2}")
    return r"[ \t]*" + "".join(pieces) + (r"(?:[ \t]+|$)" if bare != prefix else "")


def _label(prefix: str) -> str:
    """Return which rank, host or file a prefix names; "" where it names none, as a time stamp does."""
    return " ".join(_STREAM.sub(" ", _TIME.sub(" ", prefix)).split()).strip(" :|>-[]()")


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; a ruler that text stands beside gets a line of its own."""
    for line in text.splitlines():
        ruler = _RULER.search(line)
        if ruler is None or ruler[0] == line.strip():
            yield line
        else:
            yield from filter(str.strip, _RULER.sub(r"\n\g<0>\n", line).splitlines())


def _cells(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; rows of a table of Markdown or CSV as HPL has them, without words behind the numbers."""
    for line in lines:
        table = _TABLE.match(line) if len(line) <= LONGEST_LINE else None
        if table is None:
            yield line
            continue
        row = _CELLS.sub(" ", line[table.start(1) :]).strip()
        code, *numbers = row.split() or [""]
        yield row if code == "T/V" else " ".join([code, *takewhile(_NUMBER.fullmatch, numbers)])


def _joined(lines: Sequence[str]) -> list[str]:
    """Return the lines; a row, head or check that mail or another program's message broke is one line again."""
    joined: list[str] = []
    for line in lines:
        whole = _whole(joined[-1], line) if joined and len(line) <= LONGEST_BROKEN >= len(joined[-1]) else None
        if whole is None:
            joined.append(line)
        else:
            joined[-1] = whole
    return joined


def _whole(begin: str, end: str) -> str | None:
    """Return the line of HPL that was broken in two; None where these are two lines."""
    row = _CUT_ROW.fullmatch(begin)
    if row and _REST_OF_ROW.fullmatch(end):
        return f"{row[1]} {end.strip()}"
    head = end.strip() in {"Gflops", "Time Gflops"} and _CUT_HEAD.fullmatch(begin)
    eps = _CUT_EPS.fullmatch(begin) and _NUMBER.fullmatch(end.strip())
    verdict = "PASSED" in end or "FAILED" in end
    if head or eps or (verdict and _CUT_CHECK.fullmatch(begin) and _REST_OF_CHECK.fullmatch(end)):
        return f"{begin.rstrip()} {end.strip()}"
    return None
