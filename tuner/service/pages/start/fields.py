"""The fields of the form that starts a campaign, in the words of people; each is a key of its document."""

from dataclasses import dataclass
from enum import StrEnum


class FieldKind(StrEnum):
    """How a field is filled in."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    TICK = "tick"
    TICKS = "ticks"
    LINES = "lines"


@dataclass(frozen=True)
class FormField:
    """A field.

    Attributes:
        name: its key in the document, or "set.N" for values of a parameter.
        hint: what to write; the form shows it below the label.
        listed: the document holds a list, which people separate by commas.
    """

    name: str
    label: str
    kind: FieldKind = FieldKind.TEXT
    hint: str = ""
    listed: bool = False

    @property
    def id(self) -> str:
        """What its element is called."""
        return self.name.replace(".", "-")


@dataclass(frozen=True)
class FieldGroup:
    """Fields that belong together.

    Attributes:
        title: "" for those that everybody sees first.
    """

    title: str
    fields: tuple[FormField, ...]


OTHER_PARAMETERS = "set"
"""The field for values of all parameters that have no field of their own."""
_TEXT, _NUMBER, _CHOICE, _TICK = FieldKind.TEXT, FieldKind.NUMBER, FieldKind.CHOICE, FieldKind.TICK
GROUPS = (
    FieldGroup(
        "",
        (
            FormField("space", "Search space", _CHOICE),
            FormField("cluster", "Machine", _CHOICE),
            FormField("budget", "Budget", _TEXT, "A time such as 90s, 5m or 1h30m, or node-hours such as 2nh."),
            FormField("objective", "Find the best of", _CHOICE),
            FormField("name", "Name", _TEXT, "Leave it empty for the name of the space and a number."),
        ),
    ),
    FieldGroup(
        "Sizes and other parameters",
        (
            FormField(
                "set.N", "N", _TEXT, "Order of the matrix. Empty: the budget decides. Several: 400, 800.", listed=True
            ),
            FormField(
                "set.NB", "NB", _TEXT, "Sizes of blocks. Empty: those of the space. Several: 64, 128.", listed=True
            ),
            FormField("full", "Measure with the N that fills the memory", _TICK),
            FormField("memory_fraction", "Part of the memory that N may fill", _NUMBER, "From 0.01 to 0.95."),
            FormField(
                OTHER_PARAMETERS, "Other parameters", FieldKind.LINES, "A line for each, such as grid = 1x2, 2x1."
            ),
            FormField(
                "blas", "Only these BLAS libraries", FieldKind.TICKS, "None ticked: those of the space.", listed=True
            ),
        ),
    ),
    FieldGroup(
        "How it searches",
        (
            FormField("engine", "Engine", _CHOICE),
            FormField("pareto", "Weigh GFLOPS against", _CHOICE),
            FormField("trials", "Most trials", _NUMBER, "Empty: the budget alone decides."),
            FormField("run_time", "Most time in runs of HPL", _TEXT, "A time such as 20m."),
            FormField("repeats", "Runs of each configuration", _NUMBER),
            FormField("confirm", "Further runs of the best ones", _NUMBER),
            FormField("points", "Points of a coarse grid", _NUMBER, "With the engine grid only."),
            FormField("seed", "Seed", _NUMBER),
            FormField("warm_start", "Learn from campaigns", _TEXT, "Names, separated by commas.", listed=True),
            FormField("from_simulation", "Begin with what a simulation found", _TEXT, "Name of a simulated campaign."),
        ),
    ),
    FieldGroup(
        "Price, power and peak",
        (
            FormField("price_usd", "Price of the machine in $", _NUMBER, "Empty: what the file of a cluster says."),
            FormField("power_w", "Power under load in W", _NUMBER, "Empty: what the file of a cluster says."),
            FormField("rpeak_gflops", "Rpeak in GFLOPS", _NUMBER, "Empty: what is detected."),
        ),
    ),
    FieldGroup(
        "Queue and programs",
        (
            FormField(
                "priority",
                "Priority",
                _NUMBER,
                "From -100 to 100; a higher one goes first. Above 0: only admins.",
            ),
            FormField("program", "Program", _CHOICE),
            FormField("parallel", "Trials at a time on a cluster", _NUMBER),
            FormField("jobs", "Simulations at a time", _NUMBER, "On a virtual cluster only."),
            FormField("limit", "Longest time of a simulation", _TEXT, "On a virtual cluster only."),
        ),
    ),
)
FIELDS = tuple(field for group in GROUPS for field in group.fields)
BY_NAME = {field.name: field for field in FIELDS}
