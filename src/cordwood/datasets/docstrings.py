"""Built-in text data set: docstrings of installed libraries, labeled by subject.

Real text that needs no download. Source files are parsed and never imported, so that no code is
run. The corpus depends only on the versions of Python, numpy, scipy and scikit-learn.
"""

import ast
import hashlib
import re
import sysconfig
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError

# Without tkinter and distutils, which some Python builds lack, and without deprecated modules.
MODULES_OF_CLASS: Mapping[str, tuple[str, ...]] = {
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
"""Modules and packages of each class."""

MIN_WORDS = 8
MAX_WORDS = 100
MIN_CLASS_SIZE = 40
TEST_SIZE = 0.2

_ALIASES = ("np", "sp", "scikit", "learn")
# Names of all classes are removed from the texts of all classes: if "asyncio" were missing only in
# the texts of its own class, its presence would rule out that class.
LEAKING_NAMES = frozenset(
    part
    for name in (
        *_ALIASES,
        *MODULES_OF_CLASS,
        *(name for names in MODULES_OF_CLASS.values() for name in names),
    )
    for part in re.split(r"[._]", name)
    if part
)
"""Parts of names of classes and modules, which are removed from the texts."""

_SKIPPED_FOLDERS = frozenset({"_vendor", "externals", "test", "tests"})
_INSTALLED = ("numpy", "scipy", "sklearn")
_MIN_CORPUS_SIZE = 200

# An example extends from its prompt to the next blank line, as in the doctest module.
_EXAMPLE = re.compile(r"^[ \t]*>>>.*(?:\n[ \t]*\S.*)*", re.MULTILINE)
_WORD = re.compile(r"\w+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


class _SourceFile(NamedTuple):
    label: str
    module: str
    path: Path


class _Docstring(NamedTuple):
    id: str
    module: str
    label: str
    text: str


def collect_docstrings(
    *,
    classes: Collection[str] | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Corpus:
    """Collect the docstrings of the standard library, numpy, scipy and scikit-learn.

    A text is the docstring of a module, class, method or function (not of nested functions) in the
    modules of `MODULES_OF_CLASS`. It is processed in these steps:

    1. Doctest examples are removed, each from its prompt to the next blank line.
    2. A word (consecutive letters, digits and underscores) is removed if one of its parts between
       underscores is in `LEAKING_NAMES`, ignoring case: the parts of the names of all classes and
       modules, and "np", "sp", "scikit", "learn". Tokens that are left without a letter or digit
       are removed as well, and white space is replaced by single spaces.
    3. Texts of fewer than `MIN_WORDS` words are dropped, longer ones are truncated to `MAX_WORDS`.
    4. Of duplicate texts in one class, the first is kept; duplicates in different classes are all
       dropped.
    5. Classes with fewer than `MIN_CLASS_SIZE` texts are dropped, with a message in `skipped`.

    Ids are such as "asyncio.base_events:BaseEventLoop.call_later", and groups are modules. The
    split keeps each module in one subset, because its texts share phrases and names: "test" has
    whole modules, in the order of a hash, up to a fifth of each class. With `classes`, only the
    modules of these are read.

    Examples
    --------
    >>> corpus = collect_docstrings()
    >>> len(corpus) > 1000, "asyncio" in corpus.labels
    (True, True)
    """
    sources = [each for each in _find_sources() if classes is None or each.label in classes]
    docstrings: list[_Docstring] = []
    skipped: list[str] = []
    for done, source in enumerate(sources, start=1):
        try:
            docstrings += _read_source(source)
        except (OSError, SyntaxError, ValueError) as error:
            skipped.append(f"{source.path} cannot be read as Python source: {error}")
        if progress is not None:
            progress(done, len(sources))
    docstrings, messages = _drop_small_classes(_drop_duplicates(docstrings))
    _check_size(docstrings, n_files=len(sources))
    return Corpus(
        texts=tuple(docstring.text for docstring in docstrings),
        ids=tuple(docstring.id for docstring in docstrings),
        labels=tuple(docstring.label for docstring in docstrings),
        split=_split_by_module(docstrings),
        groups=tuple(docstring.module for docstring in docstrings),
        skipped=(*skipped, *messages),
    )


def _find_sources() -> list[_SourceFile]:
    """Return the source files of all classes, sorted by class and module name."""
    roots = {"": Path(sysconfig.get_path("stdlib"))}
    for package in _INSTALLED:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            roots[package] = Path(spec.origin).parent.parent
    return [
        _SourceFile(label, module, path)
        for label, names in MODULES_OF_CLASS.items()
        for name in names
        if (root := roots.get(name.partition(".")[0] if "." in name else "")) is not None
        for module, path in sorted(_find_modules(root, name))
    ]


def _find_modules(root: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Yield the names and files of a module, or of a package without its tests."""
    folder = root.joinpath(*name.split("."))
    file = folder.with_name(f"{folder.name}.py")
    if file.is_file():
        yield name, file
    for path in folder.rglob("*.py"):
        inner = path.relative_to(folder).with_suffix("").parts
        if _SKIPPED_FOLDERS.isdisjoint(inner):
            yield ".".join((name, *inner)).removesuffix(".__init__"), path


# The installed files do not change, and parsing them takes seconds.
@lru_cache(maxsize=2**12)
def _read_source(source: _SourceFile) -> tuple[_Docstring, ...]:
    return tuple(_parse_source(source))


def _parse_source(source: _SourceFile) -> Iterator[_Docstring]:
    """Yield the cleaned docstrings of a file that have at least `MIN_WORDS` words."""
    with tokenize.open(source.path) as file, warnings.catch_warnings():
        # New versions of Python warn about invalid escape sequences in the source files of others.
        warnings.simplefilter("ignore")
        tree = ast.parse(file.read())
    seen: Counter[str] = Counter()
    for name, docstring in _find_docstrings(tree, ""):
        words = list(islice(_clean(docstring), MAX_WORDS))
        if len(words) >= MIN_WORDS:
            id = f"{source.module}:{name}" if name else source.module
            seen[id] += 1
            # The getter and the setter of a property have the same name.
            unique = id if seen[id] == 1 else f"{id}#{seen[id]}"
            yield _Docstring(unique, source.module, source.label, " ".join(words))


def _find_docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yield qualified names and docstrings in source order, except of nested functions."""
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
    """Yield the words of a docstring, without examples and leaking names."""
    return filter(None, map(_remove_leaking_names, _EXAMPLE.sub("", docstring).split()))


# Most words are repeated: with a cache, cleaning takes less time than parsing.
@lru_cache(maxsize=2**14)
def _remove_leaking_names(token: str) -> str:
    kept = _WORD.sub(_keep_or_remove, token)
    return kept if _LETTER_OR_DIGIT.search(kept) else ""


def _keep_or_remove(word: re.Match[str]) -> str:
    return word[0] if LEAKING_NAMES.isdisjoint(word[0].lower().split("_")) else ""


def _drop_duplicates(docstrings: Sequence[_Docstring]) -> list[_Docstring]:
    """Keep the first of duplicate texts, and none if the duplicates are of different classes."""
    duplicates: defaultdict[str, list[_Docstring]] = defaultdict(list)
    for docstring in docstrings:
        duplicates[docstring.text].append(docstring)
    return [
        same[0] for same in duplicates.values() if len({docstring.label for docstring in same}) == 1
    ]


def _drop_small_classes(docstrings: Sequence[_Docstring]) -> tuple[list[_Docstring], list[str]]:
    """Keep the classes that are large enough; return messages about the others."""
    sizes = Counter(docstring.label for docstring in docstrings)
    messages = [
        f"the class {label!r} is dropped: {sizes[label]} texts were found in the installed source "
        f"files and {MIN_CLASS_SIZE} are required"
        for label in MODULES_OF_CLASS
        if sizes[label] < MIN_CLASS_SIZE
    ]
    kept = [docstring for docstring in docstrings if sizes[docstring.label] >= MIN_CLASS_SIZE]
    return kept, messages


def _check_size(docstrings: Sequence[_Docstring], *, n_files: int) -> None:
    labels = {docstring.label for docstring in docstrings}
    if len(labels) < 2 or len(docstrings) < _MIN_CORPUS_SIZE:
        raise DataError(
            f"the data set 'docstrings' cannot be built: {n_files} source files of the standard "
            f"library, numpy, scipy and scikit-learn were found, with {len(docstrings)} texts in "
            f"{len(labels)} classes; install them with their .py files, or choose another data set"
        )


def _split_by_module(docstrings: Sequence[_Docstring]) -> tuple[str, ...]:
    """Assign whole modules to the test subset, up to `TEST_SIZE` of each class."""
    sizes = Counter((docstring.label, docstring.module) for docstring in docstrings)
    capacity = {
        label: int(TEST_SIZE * n)
        for label, n in Counter(docstring.label for docstring in docstrings).items()
    }
    test = set()
    for label, module in sorted(sizes, key=lambda pair: hashlib.sha256(pair[1].encode()).digest()):
        size = sizes[label, module]
        if size <= capacity[label]:
            capacity[label] -= size
            test.add(module)
    return tuple("test" if docstring.module in test else "train" for docstring in docstrings)
