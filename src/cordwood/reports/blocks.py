"""Content of a report page: sections of tables, figures, sentences and samples.

A page has no markup. `html_page` and `markdown_page` render it; figures contain finished SVG.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

ColumnKind = Literal["text", "prose", "number", "bar"]


@dataclass(frozen=True)
class Entry:
    """An entry of a table.

    Parameters
    ----------
    text : str
        Shown text.
    sort : float or str, optional
        Value to sort by; by default the text.
    bar : float, optional
        Length of a bar, from 0 to 1.
    strong : bool, default=False
        Whether the text is emphasized.
    mark : str, default=""
        Text of a badge beside the text.
    href : str, default=""
        Fragment of the same page that the text links to, such as "#samples-3".
    """

    text: str
    sort: float | str | None = None
    bar: float | None = None
    strong: bool = False
    mark: str = ""
    href: str = ""


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Parameters
    ----------
    name : str
        Header.
    kind : {"text", "prose", "number", "bar"}, default="text"
        Prose is wide; numbers are aligned to the right; bars have a bar beside the number.
    help : str, default=""
        Explanation of the header.
    """

    name: str
    kind: ColumnKind = "text"
    help: str = ""


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table.

    Parameters
    ----------
    caption : str
        Title of the table.
    columns : sequence of TableColumn
        Columns. The first one names the rows.
    rows : sequence of sequences of Entry
        Rows of the same length as `columns`.
    n_summary_rows : int, default=0
        Number of rows at the end that summarize the others, and are not sorted.
    note : str, default=""
        Sentences below the table.
    """

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Entry]]
    n_summary_rows: int = 0
    note: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph.

    Parameters
    ----------
    text : str
        Its sentences.
    role : {"", "note", "advice", "warning"}, default=""
        Advice and warnings are set apart from the text.
    """

    kind: ClassVar[str] = "prose"
    text: str
    role: Literal["", "note", "advice", "warning"] = ""


@dataclass(frozen=True)
class Steps:
    """A list of sentences.

    Parameters
    ----------
    items : sequence of str
        The sentences.
    is_ordered : bool, default=False
        Whether they are numbered.
    """

    kind: ClassVar[str] = "steps"
    items: Sequence[str]
    is_ordered: bool = False


@dataclass(frozen=True)
class Tile:
    """A headline number.

    Parameters
    ----------
    name, value : str
        What it is, and its value.
    note : str, default=""
        A few words below, such as an interval.
    """

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Tiles:
    """Headline numbers.

    Parameters
    ----------
    items : sequence of Tile
    """

    kind: ClassVar[str] = "tiles"
    items: Sequence[Tile]


@dataclass(frozen=True)
class Facts:
    """Names and values.

    Parameters
    ----------
    items : mapping of str to str
    """

    kind: ClassVar[str] = "facts"
    items: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A figure.

    Parameters
    ----------
    title : str
        Title above the figure.
    svg : str
        Complete ``svg`` element, safe to be included in a page.
    sentence : str, default=""
        Result and explanation, below the figure.
    data : DataTable, optional
        The numbers of the figure.
    """

    kind: ClassVar[str] = "chart"
    title: str
    svg: str
    sentence: str = ""
    data: DataTable | None = None


@dataclass(frozen=True)
class Charts:
    """Figures beside each other.

    Parameters
    ----------
    items : sequence of Chart
    """

    kind: ClassVar[str] = "charts"
    items: Sequence[Chart]


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """A matrix of counts as a table of colored entries.

    Parameters
    ----------
    caption : str
        Title of the table.
    corner : str
        Header of the row names.
    labels : sequence of str
        Names of the rows and the columns.
    entries : sequence of sequences of Entry
        Texts of the entries; `bar` is the intensity of the color.
    note : str, default=""
        Sentences below the table.
    """

    kind: ClassVar[str] = "heat_map"
    caption: str
    corner: str
    labels: Sequence[str]
    entries: Sequence[Sequence[Entry]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample with its text.

    Parameters
    ----------
    segments : sequence of (str, float)
        Parts of the text with weights from -1 to 1, which are shown by colors.
    facts : mapping of str to str
        What is known about the sample.
    details : sequence of DataTable, default=()
        Tables below the text.
    """

    segments: Sequence[tuple[str, float]]
    facts: Mapping[str, str]
    details: Sequence[DataTable] = ()


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Samples under a title.

    Parameters
    ----------
    title : str
        Title, such as the true and the predicted class.
    items : sequence of Sample
    id : str, default=""
        Identifier that entries of tables link to.
    is_folded : bool, default=False
        Whether the samples are hidden until the title is selected.
    note : str, default=""
        Sentence below the title.
    """

    kind: ClassVar[str] = "samples"
    title: str
    items: Sequence[Sample]
    id: str = ""
    is_folded: bool = False
    note: str = ""


@dataclass(frozen=True)
class WordList:
    """Words for and against a class.

    Parameters
    ----------
    title : str
        The class.
    positive, negative : sequence of (str, float, str)
        Word, weight from 0 to 1, and an explanation.
    """

    title: str
    positive: Sequence[tuple[str, float, str]]
    negative: Sequence[tuple[str, float, str]]


@dataclass(frozen=True)
class WordLists:
    """Words of all classes.

    Parameters
    ----------
    items : sequence of WordList
    """

    kind: ClassVar[str] = "words"
    items: Sequence[WordList]


@dataclass(frozen=True)
class Fold:
    """Blocks that are hidden until their title is selected.

    Parameters
    ----------
    title : str
    blocks : sequence of Block
    """

    kind: ClassVar[str] = "fold"
    title: str
    blocks: "Sequence[Block]"


Block = (
    DataTable
    | Prose
    | Steps
    | Tiles
    | Facts
    | Chart
    | Charts
    | HeatMap
    | Samples
    | WordLists
    | Fold
)


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    id : str
        Identifier in links.
    title : str
        Heading.
    blocks : sequence of Block
        Content.
    """

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A report.

    Parameters
    ----------
    title : str
        Heading of the page.
    subtitle : str
        One sentence below it.
    sections : sequence of Section
        Sections; those without blocks are omitted.
    footer : mapping of str to str
        Versions and the time of writing.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    footer: Mapping[str, str] = field(default_factory=dict)

    def list_sections(self) -> list[Section]:
        """Return the sections that have content."""
        return [section for section in self.sections if section.blocks]


def text_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> DataTable:
    """Return a table without bars; columns whose entries are all numbers are aligned to the right.

    Parameters
    ----------
    caption : str
        Title.
    columns : sequence of str
        Headers.
    rows : sequence of sequences
        Entries: texts, numbers, or pairs of a text and a number to sort by.

    Returns
    -------
    DataTable
    """
    entries = [[_to_entry(value) for value in row] for row in rows]
    kinds: list[ColumnKind] = [
        "number" if rows and all(isinstance(row[i].sort, float) for row in entries) else "text"
        for i in range(len(columns))
    ]
    return DataTable(
        caption=caption,
        columns=[TableColumn(name, kind) for name, kind in zip(columns, kinds, strict=True)],
        rows=entries,
    )


def _to_entry(value: Any) -> Entry:
    if isinstance(value, Entry):
        return value
    if isinstance(value, tuple):
        return Entry(str(value[0]), sort=float(value[1]))
    if isinstance(value, int):
        return Entry(f"{value:,}", sort=float(value))
    if isinstance(value, float):
        return Entry(f"{value:.3f}", sort=value)
    return Entry(str(value))


def percent(value: float | None) -> Entry:
    """Return a share as a percentage with one decimal place, or a dash."""
    return Entry("–", "") if value is None else Entry(f"{100 * value:.1f} %", value)
