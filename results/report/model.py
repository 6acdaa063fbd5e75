"""What a command found, as data that any renderer can show: a title, sentences, tables and figures."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from ..columns import doubts
from ..disturbance import Conditions
from ..metrics import prefix_gflops, rate_text
from ..record import Kind, TrialRecord, TrialState


def outcome(record: TrialRecord) -> str:
    """Describe the GFLOPS of a trial, or the stage that failed with its reason."""
    beside = "".join(f", {doubt}" for doubt in doubts(record, Conditions.UNKNOWN))
    if record.ranked and record.gflops is not None:
        return f"{rate_text(record.gflops):>8} GFLOPS{' small' if record.kind is Kind.SMALL else ''}{beside}"
    if record.kind is Kind.GIVEN_UP:
        return record.reason
    if record.part < 1 and record.state is TrialState.COMPLETE:
        return f"{rate_text(prefix_gflops(record) or 0.0):>8} GFLOPS in its first {record.part:.0%}{beside}"
    if record.state in {TrialState.CANCELLED, TrialState.RUNNING}:
        return f"{record.state}: {record.reason}" if record.reason else str(record.state)
    return f"{record.invalidity}: {record.reason}"


def uncounted(records: Iterable[TrialRecord]) -> list[str]:
    """Say of each trial that does not count why."""
    return [f"Trial {one.number} does not count: {outcome(one).strip()}." for one in records if not one.ranked]


class Tone(Enum):
    """Whether a sentence is good or bad news, or one that nobody may miss; a renderer may colour it."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    CAUTION = "caution"


@dataclass(frozen=True)
class Heading:
    """The title of the parts that follow."""

    text: str


@dataclass(frozen=True)
class Sentence:
    """One sentence or line.

    Attributes:
        unbroken: it holds a command or a path to copy, so that no renderer may break it into lines.
    """

    text: str
    unbroken: bool = False
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Copied:
    """A command or a file to copy, as it is.

    Attributes:
        columns: what it is, where its lines have columns: they are never broken, and a narrow page scrolls them.
    """

    text: str
    columns: str = ""


@dataclass(frozen=True)
class Blank:
    """Room to write in by hand below a label: lines without a text.

    Attributes:
        lines: how many.
    """

    label: str
    lines: int = 1


@dataclass(frozen=True)
class Folded:
    """Parts that a reader unfolds: a page shows only their title at first; of cautions the tone says so."""

    title: str
    parts: tuple["Part", ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Beside:
    """Parts that stand beside each other where there is room, the first of them wider; else below each other."""

    parts: tuple["Part", ...]


class Wrap(Enum):
    """Where a long cell may be broken into lines."""

    AT_WORDS = "at words"
    ANYWHERE = "anywhere"
    NEVER = "never"


Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Column:
    """The head of a table's column.

    Attributes:
        name: with the unit of its cells, for example "price $"; "" where cells speak for themselves.
        words: its cells are words, so that they begin at the left; figures end at the right.
        wrap: where a long cell may go on in the next line; None for at words.
        short: what a terminal prints instead where it has little room; None for the same.
        bars: for each row a part of 1, or None, which a terminal may show as a bar before the cell; none shows no bars.
    """

    name: str
    words: bool = field(default=False, kw_only=True)
    wrap: Wrap | None = field(default=None, kw_only=True)
    short: str | None = field(default=None, kw_only=True)
    bars: tuple[float | None, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class FactColumn(Column, Generic[Thing]):
    """A column, and what scripts are told of the same things: both are made of its values.

    Attributes:
        value: what a thing has of it; None where it has nothing.
        form: how its text is made of a value: a format as ",.1f", or a function; None keeps it out of tables.
        key: its name for scripts; "" keeps it from them.
        none: its text where there is no value.
        aside: a narrow page leaves it out.
        optional: a table leaves it out where no cell says anything.
    """

    value: Callable[[Thing], Any] = lambda _: None
    form: str | Callable[[Any], str] | None = ""
    key: str = ""
    none: str = field(default="", kw_only=True)
    aside: bool = field(default=False, kw_only=True)
    optional: bool = field(default=False, kw_only=True)

    def text(self, thing: Thing) -> str:
        """Write its cell."""
        value, form = self.value(thing), self.form or ""
        return self.none if value is None else form(value) if callable(form) else format(value, form)


def _require_pages(links: Iterable[str], of: str) -> None:
    """Refuse an address that is none of a page, as one that runs a script is."""
    for link in links:
        if not link.startswith(("https://", "http://", "/campaigns/")):
            raise ValueError(f"{of} links to {link!r}, which is no address of a page")


@dataclass(frozen=True)
class Table:
    """Rows of text cells below heads.

    Attributes:
        rows: a cell for each column.
        bold: numbers of rows that stand out, from 0.
        marked: rows and columns of cells that differ from what they are to be compared with; a page marks them, and
            lets two rows be compared.
        narrow: names of the columns that a narrow page keeps; none keeps all.
        below: a narrow page tells in lines below it what it leaves out.
        in_pieces: where it is too wide, it is shown as several tables, each with the first column.
        total: its last row stands apart.
        headless: the names of the columns are not shown.
        caption: a remark below the table.
        links: an address for each row, to which its first cell leads where a renderer can link; none links nothing.
            One of the service that shows the table begins with /campaigns/.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[int] = frozenset()
    marked: frozenset[tuple[int, int]] = frozenset()
    narrow: tuple[str, ...] | None = None
    below: bool = False
    in_pieces: bool = False
    total: bool = False
    headless: bool = False
    caption: str = ""
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.links and len(self.links) != len(self.rows):
            raise ValueError(f"table {self.title!r} has {len(self.links)} links for {len(self.rows)} rows")
        _require_pages(self.links, f"table {self.title!r}")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of table {self.title!r} has {len(row)} cells for {len(self.columns)} columns")

    def only(self, names: tuple[str, ...]) -> "Table":
        """Return the table with some of its columns."""
        kept = [number for number, column in enumerate(self.columns) if column.name in names]
        columns = tuple(self.columns[number] for number in kept)
        rows = tuple(tuple(row[number] for number in kept) for row in self.rows)
        return replace(self, columns=columns, rows=rows, narrow=None)


def columns(*names: str, words: Container[str] | None = None, wrap: Wrap | None = None) -> tuple[Column, ...]:
    """Make columns with these names.

    Args:
        words: names of those whose cells are words; None for all.
    """
    return tuple(Column(name, words=words is None or name in words, wrap=wrap) for name in names)


def table_of(
    title: str,
    columns: Iterable[FactColumn[Thing]],
    things: Sequence[Thing],
    *,
    bold: Collection[int] = (),
    wrap: Wrap | None = None,
    caption: str = "",
) -> Table:
    """Build a table with a row for each thing.

    Args:
        bold, caption: as of a Table.
        wrap: of columns that have none of their own.
    """
    told = [(one, [one.text(thing) for thing in things]) for one in columns if one.form is not None]
    shown = [(one, cells) for one, cells in told if any(cells) or not one.optional]
    return Table(
        title,
        tuple(
            Column(one.name, words=one.words, wrap=one.wrap or wrap, short=one.short, bars=one.bars) for one, _ in shown
        ),
        tuple(zip(*(cells for _, cells in shown), strict=True)),
        bold=frozenset(bold),
        narrow=tuple(one.name for one, _ in shown if not one.aside),
        caption=caption,
    )


def facts_of(columns: Iterable[FactColumn[Thing]], thing: Thing) -> dict[str, Any]:
    """Make what scripts are told of a thing, as JSON can hold it."""
    return {one.key: one.value(thing) for one in columns if one.key}


def facts_table(title: str, facts: Iterable[tuple[str, str]]) -> Table:
    """Build a table of facts, each with its name and without a head; those that say nothing are left out."""
    shown = tuple((name, told) for name, told in facts if told)
    return Table(title, (Column("", words=True), Column("", words=True, wrap=Wrap.ANYWHERE)), shown, headless=True)


HOLLOW = "Hollow: something disturbed the run."
"""What the caption of a figure with hollow points ends with."""


@dataclass(frozen=True)
class Series:
    """Points of a figure that belong together.

    Attributes:
        x, y: numbers, or names on an axis of names.
        labels: what a point is called; none leaves them nameless.
        line: the points are joined.
        bare: the line has no markers, as a curve that nobody measured; without a line, only its labels are written.
        low, high: ends of the interval around each y, where it is uncertain or runs differ; none draws no interval, and
            NaN none for that point.
        behind: it is drawn in grey behind the others, as what they are to be seen against.
        points: values on an axis of names are points, where they would be bars, as one of several runs is.
        dashes: each point is a dash, beside which a point of another series at the same place is seen.
        steps: the line keeps its height until the next point, as the best so far does.
        notes: what is told of each point to who points at it; labels are written beside points where these are few.
        hollow: whether each point is drawn empty, as a run that something disturbed is; none fills all.
        links: an address for each point, which a click opens, as of a Table.
    """

    name: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]
    labels: tuple[str, ...] = ()
    line: bool = False
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    bare: bool = False
    behind: bool = False
    points: bool = False
    dashes: bool = False
    steps: bool = False
    notes: tuple[str, ...] = ()
    hollow: tuple[bool, ...] = ()
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ends = (self.low, self.high) if self.low or self.high else ()
        counts = {len(one) for one in (self.x, self.y, *ends, *filter(None, (self.notes, self.hollow, self.links)))}
        if len(counts) > 1:
            raise ValueError(f"series {self.name!r} has lists of different lengths: {sorted(counts)}")
        _require_pages(self.links, f"series {self.name!r}")


@dataclass(frozen=True)
class Figure:
    """A diagram, as its data: a renderer that cannot draw leaves it out.

    Attributes:
        x_axis, y_axis: what the axes show, with units; "" for a y that is only a place, whose labels tell the value.
        x_log, y_log: each step of the axis is the same factor.
        lying: its bars lie, even where their names are short.
        in_text: a terminal may show its line, or its columns, in characters.
        stacked: standing bars of the same name stand on each other, in the order of the series.
        x_whole: the x axis counts, so that it is marked at whole numbers only.
        from_zero: the y axis begins at 0, as that of bars always does.
        legend: what the series are values of, which their legend is called by; "" where their names tell it.
        caption: what its points, lines and error bars are, in sentences.
        origin: where its values are from, in a line.
    """

    title: str
    x_axis: str
    y_axis: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    lying: bool = False
    in_text: bool = False
    stacked: bool = False
    x_whole: bool = False
    from_zero: bool = False
    legend: str = ""
    caption: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        if any(any(one.hollow) for one in self.series) and HOLLOW not in self.caption:
            object.__setattr__(self, "caption", f"{self.caption} {HOLLOW}".strip())


@dataclass(frozen=True)
class Matrix:
    """A heat map, as its data: a colour for each pair of values; more is better.

    Attributes:
        x_axis, y_axis: what the columns and the rows are values of.
        columns, rows: the values.
        cells: a number for each column in each row; None where there is none.
        unit: of the cells.
        notes: what else is to be told of each cell; empty for nothing.
        guessed: for each cell whether nobody measured it; empty where all were.
        caption, origin: as of a Figure.
    """

    title: str
    x_axis: str
    y_axis: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    unit: str
    notes: tuple[tuple[str, ...], ...] = ()
    guessed: tuple[tuple[bool, ...], ...] = ()
    caption: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        for lines in (self.cells, *(more for more in (self.notes, self.guessed) if more)):
            if len(lines) != len(self.rows) or any(len(line) != len(self.columns) for line in lines):
                raise ValueError(f"matrix {self.title!r} does not have a cell for each row and column")


@dataclass(frozen=True)
class Timeline:
    """Small diagrams below each other on one axis of time, as their data.

    Attributes:
        rows: at least one, from above; each has a title of its own, and the first one's x axis is that of all.
        shaded: stretches of time, each with its begin and end, that are not like the rest.
        moments: times that a line marks in all rows, each with its name.
        caption, origin: as of a Figure.
    """

    title: str
    rows: tuple[Figure, ...]
    shaded: tuple[tuple[float, float], ...] = ()
    moments: tuple[tuple[float, str], ...] = ()
    caption: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"timeline {self.title!r} has no row")


@dataclass(frozen=True)
class Stretch:
    """A stretch of time of a lane.

    Attributes:
        parts: how much of it each kind of the picture takes, as parts of 1.
    """

    begin: float
    end: float
    parts: tuple[float, ...]


@dataclass(frozen=True)
class Lane:
    """What one of several did over time: spans that do not overlap, in their order."""

    name: str
    spans: tuple[Stretch, ...]


@dataclass(frozen=True)
class LaneGroup:
    """Lanes that belong together, below a title.

    Attributes:
        steps: times that a small line marks above the lanes.
    """

    title: str
    lanes: tuple[Lane, ...]
    steps: tuple[float, ...] = ()


@dataclass(frozen=True)
class Gantt:
    """A picture of what several did at the same time, as its data: a coloured lane for each.

    Attributes:
        x_axis, lane_axis: what the axis of time and the names of lanes are.
        kinds: what they can do, at most six. The last one is doing nothing, which shows as an empty lane.
        groups: below each other on the same axis of time; at least one.
        begin, end: of that axis.
        caption, origin: as of a Figure.
    """

    title: str
    x_axis: str
    lane_axis: str
    kinds: tuple[str, ...]
    groups: tuple[LaneGroup, ...]
    begin: float
    end: float
    caption: str = ""
    origin: str = ""

    @property
    def seen(self) -> tuple[int, ...]:
        """The places of the kinds that occur in a lane, and of the last one."""
        parts = [span.parts for group in self.groups for lane in group.lanes for span in lane.spans]
        last = len(self.kinds) - 1
        return (*(kind for kind in range(last) if any(part[kind] for part in parts)), last)


Tile = tuple[str, str, str, str]


@dataclass(frozen=True)
class Card:
    """The answer at a glance: pages begin with it, and other renderers leave it out, for it repeats what follows.

    Attributes:
        tiles: of each figure that readers came for: its name, value and unit, and a sentence; the most wanted first.
        facts: what else is to be known, each with its name.
        following: what to do next.
    """

    tiles: tuple[Tile, ...]
    facts: tuple[tuple[str, str], ...] = ()
    following: str = ""


Drawable = Figure | Matrix | Timeline | Gantt
Part = Heading | Sentence | Copied | Blank | Folded | Beside | Table | Card | Drawable


def inner_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield all parts, and those that are folded into others or stand beside others."""
    for part in parts:
        yield part
        if isinstance(part, Folded | Beside):
            yield from inner_parts(part.parts)


@dataclass(frozen=True)
class Rows:
    """A long list of facts, which is read row by row so that it is never in memory as a whole.

    Attributes:
        read: begins to read the rows; what they are read from must still be open.
    """

    read: Callable[[], Iterator[Mapping[str, object]]]


@dataclass(frozen=True)
class Report:
    """What a command found.

    Attributes:
        title: names the report; pages show it, a terminal shows the titles of the tables.
        parts: in the order in which they are read.
        facts: the same for scripts, as JSON can hold it.
    """

    title: str
    parts: tuple[Part, ...] = ()
    facts: Mapping[str, object] | list[object] | Rows = field(default_factory=dict)
