"""The report to hand in: a published tuning beside its simulation, a chapter for each test, and room to say why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from hpl.params import Scalar
from results.metrics import rate_text
from results.report.model import Blank, Copied, Folded, Heading, Part, Report, Sentence, Wrap, table_of
from runners.virtual.cluster import VirtualCluster

from ..simulation.lesson import LessonStep
from ..simulation.lesson_book import KeptAnswer
from ..simulation.reproduction import ComparedTest, PublishedTest, PublishedTuning
from ..words import counted, listed
from .lesson import answer_parts
from .reproduction import article_facts, reproduction_facts, sentences, test_fields, test_figures
from .study_page import StudyPage
from .virtual_cluster import cluster_sentence, cluster_table, virtual_cluster_of

COLUMNS = ("test", "published", "simulated", "error", "", "with", "N", "NB", "grid", "% of peak")
"""Of the table of all tests."""
HEADS = {"grid": "P x Q", "with": "what", "": "is"}
CALLED = {"grid": "P x Q", "blas": "BLAS", "net.network": "network", "net.mtu": "MTU"}
"""What a page calls parameters; others keep their name."""
NETWORK = "net.network"
WHY = "Why? In your words:"
WHY_LINES, UNKNOWN_LINES = 5, 4
FITTED = (
    "A fitted test was used to set a constant of the virtual cluster, so that the simulation agrees with it. All other "
    "tests are predicted."
)
HONEST = (
    "A simulated rate is a prediction. Do not report it as a rate of the real cluster: nobody ran these configurations "
    "there."
)


@dataclass(frozen=True)
class HandInPage:
    """What the report to hand in is made of.

    Attributes:
        tests: all tests of the publication, simulated.
        author: who hands it in; "" leaves a line to write the name on.
        best_dat: HPL.dat of the best published configuration.
        answers: steps of the lesson about it that the author has done, with what is kept of them.
        studies: pages of the studies that go with it.
    """

    cluster: VirtualCluster
    published: PublishedTuning
    tests: Sequence[ComparedTest]
    simulator: str | None
    author: str
    day: date
    command: str
    best_dat: str
    answers: Sequence[tuple[LessonStep, KeptAnswer]] = ()
    studies: Sequence[StudyPage] = ()

    def report(self) -> Report:
        """The report as data."""
        published = self.published
        author = Sentence(f"Author: {self.author}") if self.author else Blank("Author:")
        parts = (
            author,
            Sentence(f"Date: {self.day:%Y-%m-%d}"),
            Sentence(f"Task: {published.task}"),
            Sentence(f"Published in: {published.source}."),
            cluster_sentence(self.cluster, self.simulator, rates="every rate that is not called published"),
            *self._all_tests(),
            *(part for row in self.tests for part in self._chapter(row)),
            *self._beyond(),
            Heading("What you do not know"),
            Sentence("What does the article not say, and what does the simulation leave out?"),
            Blank("In your words:", UNKNOWN_LINES),
            *self._studies(),
            *self._appendix(),
        )
        return Report(published.title, parts, reproduction_facts(self.cluster, published, self.tests, None))

    def _all_tests(self) -> Iterator[Part]:
        """All tests, published beside simulated."""
        known = test_fields(self.published.best["price_usd"])
        told = {column.name: column for column in known if column.form is not None}
        shown = [replace(told[name], name=HEADS.get(name, name), aside=False) for name in COLUMNS]
        yield Heading("All tests, published beside simulated")
        yield table_of("Table 1: GFLOPS", shown, self.tests, wrap=Wrap.ANYWHERE, caption=FITTED)
        yield from test_figures(self.tests)
        yield from (Sentence(text) for text in sentences(self.published, self.tests, prices=False))
        yield Sentence(HONEST)

    def _chapter(self, row: ComparedTest) -> Iterator[Part]:
        """One test: what was changed, what came out, and room to say why."""
        yield Heading(f"Test {row.test.number}: {row.test.what}")
        yield Sentence(self._changed(row.test))
        yield Sentence(self._came_out(row))
        for step, answer in self.answers:
            if step.test == row.test.number:
                asked = "Asked" if answer.guess is None else "Guessed"
                yield Sentence(f"{asked} before the simulation: {step.question}")
                yield from answer_parts(step, answer, self.published)
        yield Blank(WHY, WHY_LINES)

    def _beyond(self) -> Iterator[Part]:
        """The steps of the lesson that belong to no test of the article."""
        for step, answer in self.answers:
            if step.test is None:
                yield Heading(f"Beyond the article: {step.title}")
                yield Sentence(step.question)
                yield from answer_parts(step, answer, self.published)
                yield Blank(WHY, WHY_LINES)

    def _changed(self, test: PublishedTest) -> str:
        """What a test changed, as a sentence."""
        now, before = self._settings(test), self.published.changed_by(test)
        if before is None:
            return f"The first test: {', '.join(f'{called(name)} {value}' for name, value in now.items())}."
        was = self._settings(before)
        changes = [f"{called(name)} from {was[name]} to {now[name]}" for name in now if was.get(name) != now[name]]
        told = f"Changed after test {before.number}: {listed(changes)}."
        if len(changes) == 1:
            return told
        return f"{told} These changed together, so the two rates do not tell which of them helped."

    def _settings(self, test: PublishedTest) -> Mapping[str, Scalar]:
        """All that is published of a test's parameters, with the network that it used."""
        return {NETWORK: self.cluster.default_network, **test.params}

    def _came_out(self, row: ComparedTest) -> str:
        """The rates of a test beside those of the one that it changed, and its error."""
        before = self.published.changed_by(row.test)
        earlier = next((other for other in self.tests if before and other.test.number == before.number), None)
        published = f"Published: {row.test.gflops:g} GFLOPS{_against(row.test.gflops, earlier, simulated=False)}."
        rate, error = row.simulated.gflops, row.error
        if rate is None or error is None:
            return f"{published} The simulation failed: {row.simulated.reason}."
        role = (
            "The virtual cluster was fitted to this test, so its error tells nothing."
            if row.test.role == "fitted"
            else "The virtual cluster was not fitted to this test: its rate is a prediction."
        )
        simulated = f"Simulated: {rate_text(rate)} GFLOPS{_against(rate, earlier, simulated=True)}."
        return f"{published} {simulated} Error: {error:+.1%}. {role}"

    def _studies(self) -> Iterator[Part]:
        """The studies, each folded."""
        if self.studies:
            yield Heading("The studies")
            yield Sentence(
                "Each study has its figures. Click on a study to unfold it: what is folded is printed neither on paper "
                "nor into a PDF."
            )
        for page in self.studies:
            context = page.found.context
            own = () if virtual_cluster_of(page.study) == self.cluster else context.head()
            cautions = () if own else map(Sentence, context.cautions())
            yield Folded(_study_title(page), (*own, *cautions, *page.chapter()))

    def _appendix(self) -> Iterator[Part]:
        """What was simulated, and how to do it again."""
        yield Heading("Appendix")
        yield Folded("The article also says", tuple(article_facts(self.published)))
        yield Folded("The virtual cluster", (cluster_table(self.cluster),))
        best = int(self.published.best["test"])
        yield Folded(f"HPL.dat of test {best}", (Copied(self.best_dat.rstrip(), columns="HPL.dat"),))
        for page in self.studies:
            if repeated := page.repeated():
                yield Folded(f"Command and HPL.dat of the best run of study {page.study.name}", tuple(repeated))
        yield Sentence("This report was made with:")
        yield Copied(self.command)


def called(name: str) -> str:
    """What a page calls a parameter."""
    return CALLED.get(name, name.removeprefix("net."))


def _against(rate: float, earlier: ComparedTest | None, *, simulated: bool) -> str:
    """How much more or less a rate is than that of an earlier test; "" where that has none."""
    if earlier is None:
        return ""
    old = earlier.simulated.gflops if simulated else earlier.test.gflops
    if not old:
        return ""
    ratio = rate / old
    if ratio >= 2:
        return f", {ratio:,.{0 if ratio >= 10 else 1}f} times the rate of test {earlier.test.number}"
    return f", {abs(ratio - 1):.1%} {'more' if ratio >= 1 else 'less'} than test {earlier.test.number}"


def _study_title(page: StudyPage) -> str:
    """A study in a line: its name, its runs and its best rate."""
    runs = counted(len(page.found.records), "run")
    summary = page.found.summary
    best = f", best {rate_text(summary.ranking[0].expected_gflops)} GFLOPS" if summary else ""
    return f"Study {page.study.marked_name}: {runs}{best}"
