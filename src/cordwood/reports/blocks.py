"""Content of a report page: sections of tables, figures, sentences and samples.

A page has no markup. `html_page` and `markdown_page` render it; figures contain finished SVG.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

ColumnKind = Literal["text", "prose", "number", "bar"]


@dataclass(frozen=True)
class Entry:
    """An entry of a table."""

    text: str
    sort: float | str | None = None  # by default the text
    bar: float | None = None  # from 0 to 1
    strong: bool = False
    mark: str = ""  # badge beside the text
    href: str = ""  # fragment of the same page, such as "#samples-3"


MISSING = Entry("–", sort="")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table."""

    name: str
    kind: ColumnKind = "text"  # prose is wide, numbers are aligned to the right
    help: str = ""


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table, whose first column names the rows."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Entry]]
    note: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    kind: ClassVar[str] = "prose"
    text: str
    role: Literal["", "note", "advice", "warning", "command"] = ""


@dataclass(frozen=True)
class Steps:
    """A list of sentences."""

    kind: ClassVar[str] = "steps"
    items: Sequence[str]
    is_ordered: bool = False


@dataclass(frozen=True)
class Tile:
    """A headline number."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Tiles:
    """Headline numbers."""

    kind: ClassVar[str] = "tiles"
    items: Sequence[Tile]


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    kind: ClassVar[str] = "facts"
    items: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A figure, the sentence with its result, and its numbers."""

    kind: ClassVar[str] = "chart"
    title: str
    svg: str  # a complete element, safe to be included in a page
    sentence: str = ""
    data: DataTable | None = None


@dataclass(frozen=True)
class Charts:
    """Figures beside each other."""

    kind: ClassVar[str] = "charts"
    items: Sequence[Chart]


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """A matrix of counts as a table of entries, whose bar is the intensity of their color."""

    kind: ClassVar[str] = "heat_map"
    caption: str
    corner: str
    labels: Sequence[str]
    entries: Sequence[Sequence[Entry]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample with its text."""

    segments: Sequence[tuple[str, float]]  # parts of the text with weights from -1 to 1
    facts: Mapping[str, str]
    details: Sequence[DataTable] = ()


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Samples under a title, which entries of tables link to by its id."""

    kind: ClassVar[str] = "samples"
    title: str
    items: Sequence[Sample]
    id: str = ""
    is_folded: bool = False


@dataclass(frozen=True)
class WordList:
    """Words for and against a class, each with a weight from 0 to 1 and an explanation."""

    title: str
    positive: Sequence[tuple[str, float, str]]
    negative: Sequence[tuple[str, float, str]]


@dataclass(frozen=True)
class WordLists:
    """Words of all classes."""

    kind: ClassVar[str] = "words"
    items: Sequence[WordList]


@dataclass(frozen=True)
class Fold:
    """Blocks that are hidden until their title is selected."""

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
    """A section of a page."""

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A report; sections without blocks are omitted."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    footer: Mapping[str, str] = field(default_factory=dict)

    def list_sections(self) -> list[Section]:
        """Return the sections that have content."""
        return [section for section in self.sections if section.blocks]


def text_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> DataTable:
    """Return a table of texts, numbers, and pairs of a text and a number to sort by."""
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
    return MISSING if value is None else Entry(f"{100 * value:.1f} %", value)


def excerpt(text: str, is_shortened: bool) -> Sequence[tuple[str, float]]:
    """Return the segments of a text without colors."""
    return [(text + ("…" if is_shortened else ""), 0.0)]
