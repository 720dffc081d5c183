"""The embedded data set: documentation strings of the installed libraries, labelled by subject.

Real text that is on every machine. The sources are parsed, never imported, so that nothing of them
runs; the same versions of Python, numpy, scipy and scikit-learn give the same corpus.
"""

import ast
import hashlib
import re
import sysconfig
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError

# Left out: tkinter and distutils, which some Pythons lack, and modules on their way out.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "asyncio": ("asyncio",),
    "concurrency": tuple(
        "concurrent multiprocessing queue sched selectors subprocess threading".split()
    ),
    "dates": ("_pydatetime", "_strptime", "calendar", "datetime", "zoneinfo"),
    "files": tuple(
        "_pyio bz2 filecmp fileinput fnmatch genericpath glob gzip io lzma ntpath os pathlib "
        "posixpath shutil stat tarfile tempfile zipfile".split()
    ),
    "logging": ("logging",),
    "mail": ("email", "imaplib", "mailbox", "poplib", "smtplib"),
    "markup": ("html", "xml"),
    "network": tuple("ftplib http ipaddress socket socketserver ssl urllib wsgiref xmlrpc".split()),
    "numbers": ("_pydecimal", "decimal", "fractions", "numbers", "random", "statistics"),
    "testing": ("doctest", "unittest"),
    "numpy.core": ("numpy._core", "numpy.core", "numpy.lib", "numpy.matrixlib"),
    "numpy.ma": ("numpy.ma",),
    "numpy.polynomial": ("numpy.polynomial",),
    "scipy.interpolate": ("scipy.interpolate",),
    "scipy.optimize": ("scipy.optimize",),
    "scipy.signal": ("scipy.signal",),
    "scipy.stats": ("scipy.stats",),
    "sklearn.cluster": ("sklearn.cluster",),
    "sklearn.ensemble": ("sklearn.ensemble",),
    "sklearn.linear_model": ("sklearn.linear_model",),
    "sklearn.metrics": ("sklearn.metrics",),
    "sklearn.preprocessing": ("sklearn.preprocessing",),
}
"""Label -> the modules and packages whose documentation carries it."""

MIN_WORDS = 8
MAX_WORDS = 100
MIN_DOCUMENTS = 40
TEST_SHARE = 0.2

_ALIASES = ("np", "sp", "scikit", "learn")
# A family's names are taken out of every family's documents: were "asyncio" missing only where it
# is the label, finding it would say what a document is not.
GIVEAWAYS = frozenset(
    part
    for name in (*_ALIASES, *FAMILIES, *(name for names in FAMILIES.values() for name in names))
    for part in re.split(r"[._]", name)
    if part
)
"""Pieces of names that no document may contain as a piece of a word."""

_SKIPPED_FOLDERS = frozenset({"_vendor", "externals", "test", "tests"})
_INSTALLED = ("numpy", "scipy", "sklearn")
_MIN_CORPUS = 200

# An example runs from its prompt to the next blank line, as in the doctest module.
_EXAMPLE = re.compile(r"^[ \t]*>>>.*(?:\n[ \t]*\S.*)*", re.MULTILINE)
_WORD = re.compile(r"\w+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


class _Source(NamedTuple):
    label: str
    module: str
    path: Path


class _Document(NamedTuple):
    id: str
    module: str
    label: str
    text: str


def collect_docstrings(*, progress: Callable[[int, int | None], None] | None = None) -> Corpus:
    """Collect the documentation strings of the standard library, numpy, scipy and scikit-learn.

    A document is the docstring of a module, a class, a method or a function that is not nested in
    another, from the families of modules in `FAMILIES`. It is made in these steps:

    1. Doctest examples are removed, each from its prompt to the next blank line.
    2. Each word (a run of letters, digits and underscores) is removed if one of its pieces
       between underscores is in `GIVEAWAYS`, in any case: the pieces of all labels and of the
       names in `FAMILIES`, and "np", "sp", "scikit", "learn". What is left without a letter or
       digit goes too; white space becomes single spaces.
    3. Documents of fewer than `MIN_WORDS` words are left out, longer ones end after `MAX_WORDS`.
    4. Of equal documents in one family the first is kept; of equal documents in several, none.
    5. Families of fewer than `MIN_DOCUMENTS` documents are left out, with a sentence in `skipped`.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of source files read and the number of all.

    Returns
    -------
    Corpus
        Ids such as "asyncio.base_events:BaseEventLoop.call_later". `groups` are modules. `split`
        keeps a module on one side, because its documents share phrases and names: "test" holds
        whole modules, in the order of a hash, up to a fifth of each family.

    Raises
    ------
    DataError
        If the sources are not installed, so that there is too little to learn from.

    Examples
    --------
    >>> corpus = collect_docstrings()
    >>> len(corpus) > 1000, "asyncio" in corpus.labels
    (True, True)
    """
    sources = _find_sources()
    documents: list[_Document] = []
    skipped: list[str] = []
    for done, source in enumerate(sources, start=1):
        try:
            documents += _read_source(source)
        except (OSError, SyntaxError, ValueError) as error:
            skipped.append(f"{source.path} cannot be read as Python source: {error}")
        if progress is not None:
            progress(done, len(sources))
    documents, too_small = _leave_out_small(_leave_out_copies(documents))
    _check_enough(documents, n_files=len(sources))
    return Corpus(
        texts=tuple(document.text for document in documents),
        ids=tuple(document.id for document in documents),
        labels=tuple(document.label for document in documents),
        split=_split_by_module(documents),
        groups=tuple(document.module for document in documents),
        skipped=(*skipped, *too_small),
    )


def _find_sources() -> list[_Source]:
    """Find the source files of all families, in the order of family and module name."""
    roots = {"": Path(sysconfig.get_path("stdlib"))}
    for package in _INSTALLED:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            roots[package] = Path(spec.origin).parent.parent
    return [
        _Source(label, module, path)
        for label, names in FAMILIES.items()
        for name in names
        if (root := roots.get(name.partition(".")[0] if "." in name else "")) is not None
        for module, path in sorted(_find_modules(root, name))
    ]


def _find_modules(root: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Find the file of a module, or the files of a package but for its tests."""
    folder = root.joinpath(*name.split("."))
    file = folder.with_name(f"{folder.name}.py")
    if file.is_file():
        yield name, file
    for path in folder.rglob("*.py"):
        inner = path.relative_to(folder).with_suffix("").parts
        if _SKIPPED_FOLDERS.isdisjoint(inner):
            yield ".".join((name, *inner)).removesuffix(".__init__"), path


def _read_source(source: _Source) -> Iterator[_Document]:
    """Yield the cleaned docstrings of one file that are long enough."""
    with tokenize.open(source.path) as file, warnings.catch_warnings():
        # Newer Pythons warn of invalid escapes in older sources: not ours to mend.
        warnings.simplefilter("ignore")
        tree = ast.parse(file.read())
    seen: Counter[str] = Counter()
    for name, docstring in _find_docstrings(tree, ""):
        words = list(islice(_clean(docstring), MAX_WORDS))
        if len(words) >= MIN_WORDS:
            id = f"{source.module}:{name}" if name else source.module
            seen[id] += 1
            # A property's getter and setter share a name.
            unique = id if seen[id] == 1 else f"{id}#{seen[id]}"
            yield _Document(unique, source.module, source.label, " ".join(words))


def _find_docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yield qualified names and docstrings, in source order, without entering functions."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        docstring = ast.get_docstring(node, clean=False)
        if docstring:
            yield name, docstring
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _find_docstrings(child, f"{name}.{child.name}" if name else child.name)
        elif isinstance(child, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            yield from _find_docstrings(child, name)


def _clean(docstring: str) -> Iterator[str]:
    """Yield the words between white space, without examples and giveaways."""
    return filter(None, map(_remove_giveaways, _EXAMPLE.sub("", docstring).split()))


# Text repeats its words: remembering them makes cleaning cheap beside parsing.
@lru_cache(maxsize=2**14)
def _remove_giveaways(chunk: str) -> str:
    kept = _WORD.sub(_blank_giveaway, chunk)
    return kept if _LETTER_OR_DIGIT.search(kept) else ""


def _blank_giveaway(word: re.Match[str]) -> str:
    return word[0] if GIVEAWAYS.isdisjoint(word[0].lower().split("_")) else ""


def _leave_out_copies(documents: Sequence[_Document]) -> list[_Document]:
    """Keep the first of equal documents, and none where equal documents disagree on the label."""
    copies: defaultdict[str, list[_Document]] = defaultdict(list)
    for document in documents:
        copies[document.text].append(document)
    return [same[0] for same in copies.values() if len({document.label for document in same}) == 1]


def _leave_out_small(documents: Sequence[_Document]) -> tuple[list[_Document], list[str]]:
    """Keep the families that are large enough, and say which are not."""
    sizes = Counter(document.label for document in documents)
    sentences = [
        f"the family {label!r} is left out: {sizes[label]} documents were found in the installed "
        f"sources and {MIN_DOCUMENTS} are needed"
        for label in FAMILIES
        if sizes[label] < MIN_DOCUMENTS
    ]
    kept = [document for document in documents if sizes[document.label] >= MIN_DOCUMENTS]
    return kept, sentences


def _check_enough(documents: Sequence[_Document], *, n_files: int) -> None:
    labels = {document.label for document in documents}
    if len(labels) < 2 or len(documents) < _MIN_CORPUS:
        raise DataError(
            f"the data set 'docstrings' cannot be built: {n_files} source files of the standard "
            f"library, numpy, scipy and scikit-learn were found, which give {len(documents)} "
            f"documents in {len(labels)} families; install them with their .py files, or choose "
            "another data set"
        )


def _split_by_module(documents: Sequence[_Document]) -> tuple[str, ...]:
    """Put whole modules into the test part, up to its share of each family."""
    sizes = Counter((document.label, document.module) for document in documents)
    room = {
        label: int(TEST_SHARE * n)
        for label, n in Counter(document.label for document in documents).items()
    }
    test = set()
    for label, module in sorted(sizes, key=lambda pair: hashlib.sha256(pair[1].encode()).digest()):
        n_documents = sizes[label, module]
        if n_documents <= room[label]:
            room[label] -= n_documents
            test.add(module)
    return tuple("test" if document.module in test else "train" for document in documents)
