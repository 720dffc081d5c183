"""Read hostile files with the readers and the commands, and count the outcomes.

Files are generated from a seed: CSV, TSV, JSON Lines, JSON, Parquet, Arrow, Excel, SQLite,
svmlight, folders and Hugging Face data sets, in many encodings, with NULs, broken quotes, huge
fields, wrong shapes, damaged bytes, compression and wrong suffixes. A reader must return a data set
or raise `CordwoodError`; reading at once and streaming must give the same texts. A command must end
with exit code 0, 1 or 2; 70 means a bug. In a child process, it has 4 GB of address space.

Limited readers run in child processes with 512 MB of address space beside that of the imported
modules and 10 seconds of CPU time; half of their files are of `hostile_files`, whose content is
much larger than they are. Files of a seed that are read must have the texts that were written.

python dev.py bench fuzz_input [--readers N] [--limited N] [--commands N] [--children N] [--seed N]
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from cordwood.cli.main import main as run_command
from cordwood.datasets.readers import read_dataset, stream_dataset
from cordwood.exceptions import CordwoodError
from hostile_files import BUILDERS, SIZES, Builder
from options import at_least

FORMATS = (
    *("csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "sqlite", "huggingface"),
    *("folder", "svmlight"),
)
SUFFIXES = {"svmlight": "svm", "excel": "xlsx"}
ENCODINGS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "latin-1"),
    *("cp1252", "shift_jis", "gb18030", "big5", "iso2022_jp", "iso2022_kr", "hz", "cp037", "ascii"),
    *("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "rot13", "nonsense"),
)
RECIPES = ("svm", "nbsvm", "nb", "knn", "rf", "boosted_rf", "lazy_rf", "adauboost")
WORDS = (
    *("spam", "ham", "eggs", "naïve", "東京", "\U0001f600", "e\u0301", "\u202e", "\ufeff"),
    *("=1+1", "-1", "+x", "@y", "", " ", "\t", "''", '"', '""', ",", ";", "|", "#", ":"),
    *("1:1", "nan", "inf", "-inf", "1e999", "9" * 400, "0x1F", "null", "true", "\\"),
    *("\\n", "%s", "{}", "\u2028"),
)
VALUES = ("text", "label", "w", "Sheet", "t", "SELECT * FROM t", "SELECT 1 AS text", "DROP TABLE t")
MEMORY_LIMIT = 4 << 30
LIMITED_MEMORY = 512 << 20
LIMITED_SECONDS = 10
TIMEOUT = 600


class Case(NamedTuple):
    """Files by their relative path, the path to read, and options of `read_dataset`."""

    files: dict[str, bytes]
    path: str
    options: dict[str, Any]
    is_repeated: bool = False  # whether all rows have the same text, of the letter a


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--readers", type=at_least(0), default=6000, help="files to read")
    parser.add_argument("--limited", type=at_least(0), default=5000, help="files to read in limits")
    parser.add_argument("--commands", type=at_least(0), default=300, help="commands to call")
    parser.add_argument("--children", type=at_least(0), default=20, help="processes to start")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n_failed = 0
    for name, n_cases, check in (
        ("readers", args.readers, check_readers),
        ("limited readers", args.limited, check_limited),
        ("commands", args.commands, check_command),
        ("child processes", args.children, check_child),
    ):
        outcomes, failures = run_cases(n_cases, args.seed, check)
        counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()))
        print(f"{name}: {counts}", flush=True)
        for failure in failures:
            print(f"    {failure}")
        n_failed += len(failures)
    print(f"{n_failed} failures")
    sys.exit(n_failed > 0)


def run_cases(
    n_cases: int, seed: int, check: Callable[[Case, random.Random], str]
) -> tuple[Counter[str], list[str]]:
    """Check cases of a seed; return the counts of outcomes, and the failures."""
    outcomes: Counter[str] = Counter()
    failures = []
    for number in range(n_cases):
        rng = random.Random(f"{seed} {number}")
        is_hostile = check is check_limited and rng.random() < 0.5
        case = generate_hostile(rng) if is_hostile else generate_case(rng)
        outcome = run_case(case, rng, check)
        if outcome.startswith("failed: "):
            failures.append(f"seed {seed}, number {number}, {case.path}, {case.options}: {outcome}")
        outcomes[outcome.partition(": ")[0]] += 1
    return outcomes, failures


def run_case(case: Case, rng: random.Random, check: Callable[[Case, random.Random], str]) -> str:
    """Check a case in a temporary folder, and return its outcome."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for name, content in case.files.items():
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(content)
            return check(case, rng)
        except Exception as error:
            return f"failed: {type(error).__name__}: {str(error)[:200]}"
        finally:
            os.chdir(before)


# Checks


def check_readers(case: Case, rng: random.Random) -> str:
    """Read a file at once and as a stream."""
    read = stream = None
    with contextlib.suppress(CordwoodError):
        read = read_dataset(case.path, **case.options)
        repr(read)
        read.fingerprint()
    with contextlib.suppress(CordwoodError):
        stream = list(stream_dataset(case.path, **case.options))
    if read is not None and stream is not None:
        assert tuple(row.text for row in stream) == read.texts
    return "rejected" if read is None else "read"


def check_limited(case: Case, rng: random.Random) -> str:
    """Read a file in a forked process with limits of memory and time."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = "error: the process ended"
        try:
            limit_child()
            outcome = read_limited(case)
        except BaseException as error:
            outcome = f"error: {type(error).__name__}: {str(error)[:200]}"
        finally:
            os.write(sender, outcome.encode("utf-8", "replace"))
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, encoding="utf-8") as results:
        outcome = results.read()
    _, status = os.waitpid(child, 0)
    assert outcome and not outcome.startswith("error"), outcome or f"status {status}"
    return outcome


def read_limited(case: Case) -> str:
    try:
        read = read_dataset(case.path, **case.options)
    except CordwoodError as error:
        assert "needs more memory" not in str(error), str(error)
        return "rejected"
    if case.is_repeated:
        assert len(set(read.texts)) == 1, f"{len(set(read.texts))} texts"
        assert read.texts[0].rstrip("0123456789").strip("a") == "", read.texts[0][:50]
    return "read"


def limit_child() -> None:
    resource = import_module("resource")  # not on Windows
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    space = pages * resource.getpagesize() + LIMITED_MEMORY
    seconds = int(time.process_time()) + LIMITED_SECONDS
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def check_command(case: Case, rng: random.Random) -> str:
    """Call a command in this process."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        code = run_command(make_arguments(case, rng))
    return judge(code, errors.getvalue())


def check_child(case: Case, rng: random.Random) -> str:
    """Call a command in a child process with a limit of its memory."""
    done = subprocess.run(
        [sys.executable, "-m", "cordwood", *make_arguments(case, rng)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        preexec_fn=limit_memory if os.name == "posix" else None,
        timeout=TIMEOUT,
    )
    return judge(done.returncode, done.stderr)


def limit_memory() -> None:
    resource = import_module("resource")  # not on Windows
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def make_arguments(case: Case, rng: random.Random) -> list[str]:
    """Return the arguments of a command that trains on the file."""
    arguments = ["train", case.path, "-o", "model.cordwood", "-j", "1"]
    arguments += ["--recipe", rng.choice(RECIPES)]
    for name, value in case.options.items():
        if name != "require_labels":
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    return arguments


def judge(code: int, errors: str) -> str:
    """Return the outcome of a command; raise if it is neither success nor a proper error."""
    assert code in (0, 1, 2), f"exit code {code}: {errors[-300:]}"
    lines = [line for line in errors.splitlines() if not line.startswith("cordwood: warning: ")]
    assert len(lines) == (code != 0), f"{len(lines)} lines of errors: {errors[-300:]}"
    assert len(errors) < 5000, f"an error of {len(errors)} characters"
    return "trained" if code == 0 else "rejected"


# Files


def generate_case(rng: random.Random) -> Case:
    """Generate files and the options to read them."""
    format = rng.choice(FORMATS)
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.3 else "utf-8"
    options: dict[str, Any] = {} if encoding == "utf-8" else {"encoding": encoding}
    if rng.random() < 0.7:
        options["on_bad_rows"] = "skip"
    if rng.random() < 0.1:
        options[rng.choice(["max_bytes", "max_row_length"])] = rng.choice([1, 100, 10_000])
    if rng.random() < 0.05:
        options["delimiter"] = rng.choice([";", "|", "\t", '"', "ab", "", "é", "\0"])
    if rng.random() < 0.05:
        options["format"] = rng.choice(FORMATS)
    if rng.random() < 0.05:
        options[rng.choice(["id", "label", "group"])] = rng.choice([*WORDS, "text"])
    if rng.random() < 0.05:
        options[rng.choice(["weight", "time", "sheet", "table", "query"])] = rng.choice(VALUES)
    if rng.random() < 0.03:
        options["label_separator"] = rng.choice([";", " ", "", "ab"])
    if format == "folder":
        files = generate_folder(rng, encoding)
        return Case(files, "data", options)
    if format == "huggingface":
        return Case(generate_huggingface(rng), "data", options)
    if format in BINARY_GENERATORS:
        content = BINARY_GENERATORS[format](rng)
    else:
        content = encode(GENERATORS[format](rng), encoding)
    content = mutate(content, rng)
    suffix = SUFFIXES.get(format, format)
    if rng.random() < 0.05:
        suffix = rng.choice(["csv", "json", "jsonl", "parquet", "arrow", "xlsx", "db", "bin"])
    name = f"data.{suffix}"
    if rng.random() < 0.15:
        name += ".gz"
        content = gzip.compress(content, 1, mtime=0)
        if rng.random() < 0.3:
            content = mutate(content, rng)
    return Case({name: content}, name, options)


def generate_hostile(rng: random.Random) -> Case:
    """Generate a file whose content is larger than it is, sometimes damaged."""
    case = make_hostile(rng.choice(BUILDERS), *rng.choice(SIZES))
    content = mutate(case.files[case.path], rng)
    options = {**case.options, "on_bad_rows": rng.choice(["raise", "skip"])}
    is_repeated = content == case.files[case.path]
    return Case({case.path: content}, case.path, options, is_repeated)


def make_hostile(build: Builder, n_samples: int, length: int) -> Case:
    name, content = build(n_samples, length)
    options: dict[str, Any] = {"require_labels": False, "extra_columns": "all"}
    if name == "data.sqlite":
        options["table"] = "t"
    return Case({name: content}, name, options, is_repeated=True)


def encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding, "replace")
    except (LookupError, UnicodeError, ValueError):
        return text.encode("utf-8", "surrogatepass")


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Damage some bytes of a file, often none."""
    data = bytearray(content)
    for _ in range(rng.choice([0, 0, 0, 0, 0, 1, 1, 3, 10])):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([0, 1, 1, 2, 20]))
        data[start:end] = rng.choice(
            [
                b"",
                b"\0",
                b'"',
                b"\n",
                b"\r",
                b",",
                b"\xff\xfe",
                b"\xef\xbb\xbf",
                b"\x1f\x8b",
                rng.randbytes(rng.randrange(8)),
                bytes(data[: rng.randrange(50)]),
            ]
        )
    return bytes(data)


def make_value(rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.003:
        return rng.choice('ab,"[{1:') * rng.choice([5000, 1_000_000])
    if chance < 0.05:
        return "".join(map(chr, rng.choices(range(0xD800), k=rng.randrange(6))))
    return " ".join(rng.choices(WORDS, k=rng.randrange(5)))


def make_table(rng: random.Random) -> list[list[str]]:
    header = rng.choice(
        [
            *[["text", "label"]] * 5,
            *[["id", "text", "label"]] * 2,
            ["text", "label", "split", "group"],
            ["text", "text", "label"],
            ["body", "topic"],
            [make_value(rng) for _ in range(rng.randrange(4))],
        ]
    )
    rows = [header]
    for _ in range(rng.choice([0, 2, 5, 20, 20])):
        row = [make_value(rng) for _ in header]
        if "label" in header and rng.random() < 0.9:
            row[header.index("label")] = rng.choice("ab")
        rows.append(row if rng.random() < 0.97 else row[1:] + row)
    return rows


def generate_csv(rng: random.Random, delimiter: str = ",") -> str:
    end = rng.choice(["\n", "\r\n", "\r"])
    how_often = rng.choice([0.0, 0.5, 1.0, 1.0, 1.0, 1.0])

    def quote(value: str) -> str:
        is_quoted = rng.random() < how_often or rng.random() < 0.9 and delimiter in value
        return '"' + value.replace('"', '""') + '"' if is_quoted else value

    return end.join(delimiter.join(map(quote, row)) for row in make_table(rng)) + end


def generate_tsv(rng: random.Random) -> str:
    return generate_csv(rng, "\t")


def generate_jsonl(rng: random.Random) -> str:
    header, *rows = make_table(rng)
    lines = []
    for row in rows:
        record: dict[str, Any] = dict(zip(header, row, strict=False))
        chance = rng.random()
        if chance < 0.1:
            record[rng.choice(["text", "label", "id", "labels"])] = rng.choice(
                [None, 1, -1.5, True, [], ["a", "b"], {"a": 1}, float("nan"), 10**30, "\ud800"]
            )
        line = json.dumps(record, ensure_ascii=rng.random() < 0.5)
        if chance > 0.99:
            line = rng.choice(
                [
                    "[" * 100_000,
                    '{"a":' * 100_000,
                    '{"text": ' + "9" * 5000 + ', "label": "a"}',
                    "{" + ", ".join(f'"k{i % 999}": 0' for i in range(1000)) + "}",
                    "[]",
                    "1",
                    '"a"',
                    '{"text": "a", "text": "b"}',
                ]
            )
        lines.append(line)
    return "\n".join(lines)


def generate_svmlight(rng: random.Random) -> str:
    lines = []
    for _ in range(rng.choice([0, 2, 5, 20, 20])):
        indices = sorted(rng.sample(range(30), k=rng.randrange(6)))
        if rng.random() < 0.05:
            indices += [rng.choice([2**26 - 1, 2**26, 2**31 - 2, 2**31, 2**63, 10**30])]
        features = [f"{index}:{rng.choice(['1', '0.5', '-2', '1e3'])}" for index in indices]
        if rng.random() < 0.05:
            features.insert(rng.randrange(len(features) + 1), make_value(rng))
        label = rng.choice(["1", "-1", "2", "+1"])
        if rng.random() < 0.05:
            labels = ["1,2", "", "a", "1e400", "nan", "qid:1", str(2**53), make_value(rng)]
            label = rng.choice(labels)
        query = [f"qid:{rng.randrange(3)}"] if rng.random() < 0.02 else []
        comment = [f"# {make_value(rng)}"] if rng.random() < 0.1 else []
        lines.append(" ".join([label, *query, *features, *comment]))
    return "\n".join(lines)


def generate_folder(rng: random.Random, encoding: str) -> dict[str, bytes]:
    files = {}
    for number in range(rng.choice([1, 5, 10])):
        name = (
            f"data/{rng.choice(['a', 'b', 'a', 'b', 'train/a', 'test/b', '.c', ''])}/{number}.txt"
        )
        content = mutate(encode(make_value(rng), encoding), rng)
        if rng.random() < 0.2:
            name += ".gz"
            content = gzip.compress(content, mtime=0) if rng.random() < 0.8 else content
        files[name] = content
    return files


def generate_json(rng: random.Random) -> str:
    lines = generate_jsonl(rng).split("\n")
    end = rng.choice(["\n", "", ",", " "])
    return "[" + f",{end}".join(lines) + rng.choice(["]", "]", "]", "", "]]", "] 1"])


def make_records(rng: random.Random) -> list[dict[str, Any]]:
    """Return the rows of a table, sometimes with values of other types."""
    header, *rows = make_table(rng)
    records = []
    for row in rows:
        record: dict[str, Any] = dict(zip(header, row, strict=False))
        if record and rng.random() < 0.05:
            record[rng.choice(list(record))] = rng.choice([None, 1, -1.5, True, 10**15])
        records.append(record)
    return records


def make_arrow(rng: random.Random) -> pa.Table:
    records = make_records(rng)
    if rng.random() < 0.1:
        for record in records:
            record["label"] = rng.choice([["a"], ["a", "b"], []])
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        columns[name] = [record.get(name) for record in records]
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            arrays[name] = pa.array([None if value is None else str(value) for value in values])
    table = pa.table(arrays)
    if rng.random() < 0.1:
        features = {"label": {"names": rng.choice([["a", "b"], "ab", [1], []])}}
        metadata = json.dumps({"info": {"features": rng.choice([features, [], 1])}})
        table = table.replace_schema_metadata({"huggingface": metadata})
    return table


def generate_parquet(rng: random.Random) -> bytes:
    file = io.BytesIO()
    pq.write_table(make_arrow(rng), file, compression=rng.choice(["none", "snappy", "gzip"]))
    return file.getvalue()


def generate_arrow(rng: random.Random) -> bytes:
    table = make_arrow(rng)
    file = io.BytesIO()
    open_writer = rng.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with open_writer(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=rng.choice([1, 5, None]))
    return file.getvalue()


def generate_excel(rng: random.Random) -> bytes:
    book = openpyxl.Workbook()
    book.active.title = rng.choice(["Sheet", "data"])
    for row in make_table(rng):
        cells = [ILLEGAL_CHARACTERS_RE.sub("", value)[:30_000] for value in row]
        book.active.append(
            [rng.choice([1, 2.5, None]) if rng.random() < 0.05 else cell for cell in cells]
        )
    if rng.random() < 0.03:
        book.active[rng.choice(["XFD1048576", "A1048576", "XFD1", "ZZ99"])] = "far"
    file = io.BytesIO()
    book.save(file)
    if rng.random() < 0.8:
        return file.getvalue()
    # Damage the content of one member, so that the archive itself is valid.
    damaged = io.BytesIO()
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(damaged, "w") as copy:
        members = archive.infolist()
        chosen = rng.choice(members)
        for member in members:
            content = archive.read(member)
            copy.writestr(member.filename, mutate(content, rng) if member is chosen else content)
    return damaged.getvalue()


def generate_sqlite(rng: random.Random) -> bytes:
    records = make_records(rng)
    names = list(dict.fromkeys(name for record in records for name in record if "\0" not in name))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.sqlite")
        with closing(sqlite3.connect(path)) as database, contextlib.suppress(sqlite3.Error):
            quoted = ['"' + name.replace('"', '""') + '"' for name in names or ["text"]]
            database.execute(f"CREATE TABLE t ({', '.join(quoted)})")
            marks = ", ".join("?" * len(quoted))
            rows = [[record.get(name) for name in names or ["text"]] for record in records]
            database.executemany(f"INSERT INTO t VALUES ({marks})", rows)
            if rng.random() < 0.1:
                database.execute("INSERT INTO t SELECT CAST(x'ff' AS TEXT) FROM t LIMIT 1")
            if rng.random() < 0.1:
                database.execute("CREATE TABLE other (a)")
            database.commit()
        return path.read_bytes() if path.exists() else b""


def generate_huggingface(rng: random.Random) -> dict[str, bytes]:
    file = io.BytesIO()
    table = make_arrow(rng)
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    files = rng.choice([[{"filename": "0.arrow"}]] * 5 + [[], None, [{"filename": "../0"}], [1]])
    folder = rng.choice(["data", "data", "data/train"])
    content = {
        f"{folder}/0.arrow": file.getvalue(),
        f"{folder}/state.json": json.dumps({"_data_files": files}).encode(),
        f"{folder}/dataset_info.json": b'{"features": {}}',
    }
    if folder == "data/train":
        splits = rng.choice([*[["train"]] * 3, ["train", "test"], "train", [".."], None])
        content["data/dataset_dict.json"] = json.dumps({"splits": splits}).encode()
    damaged = rng.choice(list(content))
    return {**content, damaged: mutate(content[damaged], rng)}


BINARY_GENERATORS: dict[str, Callable[[random.Random], bytes]] = {
    "parquet": generate_parquet,
    "arrow": generate_arrow,
    "excel": generate_excel,
    "sqlite": generate_sqlite,
}
GENERATORS: dict[str, Callable[[random.Random], str]] = {
    "json": generate_json,
    "csv": generate_csv,
    "tsv": generate_tsv,
    "jsonl": generate_jsonl,
    "svmlight": generate_svmlight,
}


if __name__ == "__main__":
    main()
