"""Mutations of model files: damage to the bytes, edits, forged content, and other structure.

All but damaged files have valid checksums and a valid digest, as an attacker would write them.
This module knows the layout of a file, but uses no code of `cordwood.persist`.
"""

import contextlib
import hashlib
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from cordwood.encoders.catalog import open_encoder
from cordwood.encoders.model_folder import FolderInMemory

KINDS = ("damaged", "edited", "forged", "structured")

_TREE, _ARRAYS, _DIGESTS, _CARD = "model.json", "arrays", "sha256", "cordwood.json"

Rng = np.random.Generator

# Values that break code which believes what it reads.
_HOSTILE_NUMBERS = (
    *(0, -1, 1, 2, 3, 7, 255, 256, 2**15, 2**16, 2**28, 2**31 - 1, 2**31, 2**32, 2**53),
    *(2**62, 2**63 - 1, 2**63, -(2**31), -(2**63), 10**9, 10**30),
    *(0.5, -0.5, 1e-300, 1e300, -1e300, float("inf"), float("-inf"), float("nan")),
)
_HOSTILE_STRINGS = (
    *("", "\0", "a", "nan", "é" * 50, "\ud800", "../../etc/passwd", "x" * 10_000),
    *(r"(a+)+$", r"(\w*)*\s", r"(?:(?:.*)*)*x", "(", "[", r"\w+", r"(?u)\b\w\w+\b"),
    *("word", "char", "char_wb", "tfidf", "tf", "binary", "l2", "auto", "social", "sigir17"),
    *("text", "table", "numeric", "label", "lists", "indicators", "f1", "macro_f1", "cost", "cv"),
    *("float64", "float32", "int64", "int8", "bool", "object", "uint64", "float16"),
)
_HOSTILE_TYPES = (
    *("builtins.eval", "os.system", "posix.system", "subprocess.Popen", "builtins.object"),
    *("sklearn.tree._tree.Tree", "sklearn.tree._classes.DecisionTreeClassifier"),
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_extraction.text.CountVectorizer",
    "sklearn.feature_extraction.text.HashingVectorizer",
    *("sklearn.svm._classes.SVC", "sklearn.neighbors._classification.KNeighborsClassifier"),
    *("numpy.random.mtrand.RandomState", "functools.partial", "sklearn.pipeline.Pipeline"),
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.linear_model._logistic.LogisticRegression",
    "cordwood.ensemble.forests.RandomForestClassifier",
    # As files name the classes that they may contain.
    *("cordwood.TextClassifier", "cordwood.TextVectorizer", "cordwood.LinearSVMClassifier"),
    *("cordwood.NeighborsClassifier", "cordwood.RandomForestClassifier"),
    *("cordwood.OOBStackingClassifier", "cordwood.MultiLabelClassifier"),
    *("cordwood.TableConverter", "cordwood.LogarithmicPool", "cordwood.NaiveBayesClassifier"),
    *("sklearn.Pipeline", "sklearn.FeatureUnion", "sklearn.StandardScaler"),
)
# What a model knows beside its pipeline.
_RECORDS = (
    *("decision_", "evaluation_", "oof_", "scope_", "columns_", "input_kind_", "target_kind_"),
    *("classes_", "n_features_in_", "decision", "estimator"),
)


def mutate(data: bytes, kind: str, rng: Rng) -> tuple[bytes, str]:
    """Return the content of a mutated model file, and what was changed."""
    mutations = {"damaged": damage, "edited": edit, "forged": forge, "structured": restructure}
    return mutations[kind](data, rng)


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the content of the members of a model file."""
    with ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return a model file with these members and a valid digest."""
    lines = [
        f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n"
        for name in sorted(members)
        if name != _DIGESTS
    ]
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in {**members, _DIGESTS: "".join(lines).encode()}.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def damage(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Change bytes of the file as disks and networks do."""
    content = bytearray(data)
    start = int(rng.integers(len(content)))
    length = min(int(rng.choice([1, 1, 4, 16, 512])), len(content) - start)
    action = str(rng.choice(["flip", "flip", "zero", "delete", "insert", "repeat", "truncate"]))
    if action == "flip":
        content[start] ^= 1 << int(rng.integers(8))
    elif action == "zero":
        content[start : start + length] = bytes(length)
    elif action == "delete":
        del content[start : start + length]
    elif action == "insert":
        content[start:start] = rng.bytes(length)
    elif action == "repeat":
        content[start:start] = content[start : start + length]
    else:
        del content[start:]
    return bytes(content), f"{action} {length} bytes at {start}"


def edit(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Change one or a few values of the tree or of the arrays."""
    members = unpack(data)
    ends = _list_ends(json.loads(members[_TREE])["arrays"])
    changes = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        if rng.random() < 0.6:
            changes.append(_edit_tree(members, rng))
        else:
            changes.append(_edit_arrays(members, ends, rng))
    return pack(members), "; ".join(changes)


def _list_ends(table: list[dict[str, Any]]) -> list[int]:
    """Return where the arrays end, from 0 on."""
    types = [np.dtype(entry.get("stored", entry["dtype"])) for entry in table]
    sizes = [math.prod(entry["shape"]) for entry in table]
    n_bytes = [size * each.itemsize for size, each in zip(sizes, types, strict=True)]
    return [0, *itertools.accumulate(n_bytes)]


def _edit_tree(members: dict[str, bytes], rng: Rng) -> str:
    tree = json.loads(members[_TREE])
    if not tree:
        return "nothing left"
    parent, key, path = _choose_node(tree, rng)
    old = parent[key]
    action = str(rng.choice(["replace", "replace", "replace", "delete", "duplicate", "nudge"]))
    if action == "delete":
        del parent[key]
    elif action == "duplicate" and isinstance(parent, list):
        parent.insert(key, deepcopy(old))
    elif action == "nudge" and isinstance(old, int | float):
        parent[key] = old + (1 if rng.random() < 0.5 else -1)
    else:
        parent[key] = _draw_value(old, rng)
    members[_TREE] = _dump(tree)
    return f"{action} {path}: {_brief(old)}"


def _edit_arrays(members: dict[str, bytes], ends: list[int], rng: Rng) -> str:
    content = bytearray(members[_ARRAYS])
    if not content:
        return "nothing left"
    start = int(rng.integers(len(content)))
    if rng.random() < 0.5:  # in any array, so that small ones are hit as often as large ones
        number = int(rng.integers(len(ends) - 1))
        start = int(rng.integers(ends[number], ends[number + 1] + 1)) % len(content)
    length = min(int(rng.choice([1, 2, 4, 8, 64, 1024])), len(content) - start)
    filler = str(rng.choice(["zeros", "ones", "127", "random", "copy", "cut", "append"]))
    if filler == "cut":
        del content[start : start + length]
    elif filler == "append":
        content += rng.bytes(length)
    else:
        source = int(rng.integers(len(content) - length + 1))
        content[start : start + length] = {
            "zeros": bytes(length),
            "ones": b"\xff" * length,
            "127": b"\x7f" * length,
            "random": rng.bytes(length),
            "copy": content[source : source + length],
        }[filler]
    members[_ARRAYS] = bytes(content)
    return f"arrays {start}:{start + length} {filler}"


def forge(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Replace types and structure of the tree."""
    members = unpack(data)
    tree = json.loads(members[_TREE])
    attack = _ATTACKS[int(rng.integers(len(_ATTACKS)))]
    change = attack(tree, rng)
    members[_TREE] = _dump(tree)
    return pack(members), f"{attack.__name__.strip('_')} {change}"


def _change_type(tree: Any, rng: Rng) -> str:
    """Replace the name of a class by another one, of the file or of the list."""
    nodes = [node for node in _list_nodes(tree) if _is_type(node[0][node[1]])]
    if not nodes:
        return "no types"
    parent, key, path = nodes[int(rng.integers(len(nodes)))]
    others = [*_HOSTILE_TYPES, *(other[0][other[1]] for other in nodes)]
    old, parent[key] = parent[key], others[int(rng.integers(len(others)))]
    return f"{path}: {old} -> {parent[key]}"


def _change_record(tree: Any, rng: Rng) -> str:
    """Change a value of what the model knows beside its pipeline: decision, scores, kinds."""
    model = tree["model"]
    groups = (model.get("fitted", {}), model.get("nested", {}))
    roots = [(group, name) for group in groups for name in _RECORDS if name in group]
    if not roots:
        return "no records"
    group, name = roots[int(rng.integers(len(roots)))]
    nodes = [(group, name, f".{name}"), *_list_nodes(group[name], f".{name}")]
    parent, key, path = nodes[int(rng.integers(len(nodes)))]
    old = parent[key]
    if isinstance(old, int | float) and not isinstance(old, bool) and rng.random() < 0.5:
        parent[key] = old + (1 if rng.random() < 0.5 else -1)
    elif rng.random() < 0.3:
        other_parent, other_key, _ = nodes[int(rng.integers(len(nodes)))]
        parent[key] = deepcopy(other_parent[other_key])
    else:
        parent[key] = _draw_value(old, rng)
    return f"{path}: {_brief(old)} -> {_brief(parent[key])}"


def _swap_subtrees(tree: Any, rng: Rng) -> str:
    """Replace a subtree by a copy of another one."""
    parent, key, path = _choose_node(tree, rng)
    other_parent, other_key, other_path = _choose_node(tree, rng)
    parent[key] = deepcopy(other_parent[other_key])
    return f"{path} <- {other_path}"


def _nest(tree: Any, rng: Rng) -> str:
    """Nest a value in itself many times."""
    parent, key, path = _choose_node(tree, rng)
    depth = int(rng.choice([3, 50, 500, 5000]))
    opening, closing = [("[", "]"), ('{"tuple": [', "]}"), ('{"object": {"x": ', "}}")][
        int(rng.integers(3))
    ]
    # Python's encoder does not nest as deeply as its decoder.
    parent[key] = {_RAW: opening * depth + "0" + closing * depth}
    return f"{path}: {depth} times"


def _repeat(tree: Any, rng: Rng) -> str:
    """Repeat the items of a list many times."""
    nodes = [node for node in _list_nodes(tree) if isinstance(node[0][node[1]], list)]
    parent, key, path = nodes[int(rng.integers(len(nodes)))]
    items = parent[key]
    parent[key] = [deepcopy(item) for _ in range(int(rng.choice([2, 10, 1000]))) for item in items][
        :20_000
    ]
    return f"{path}: {len(items)} -> {len(parent[key])} items"


def _add_values(tree: Any, rng: Rng) -> str:
    """Add keys to an object, such as parameters that a file may not set."""
    nodes = [node for node in _list_nodes(tree) if isinstance(node[0][node[1]], dict)]
    parent, key, path = nodes[int(rng.integers(len(nodes)))]
    names = ("n_jobs", "max_iter", "memory", "verbose", "__class__", "predict", "classes_")
    added = names[int(rng.integers(len(names)))]
    parent[key][added] = _draw_value(None, rng)
    return f"{path}.{added} = {_brief(parent[key][added])}"


def _enlarge(tree: Any, rng: Rng) -> str:
    """Multiply all integers of a subtree: sizes that agree with one another, but not the arrays."""
    parent, key, path = _choose_node(tree, rng)
    factor = int(rng.choice([2, 1000, 2**20, 2**31]))

    def scale(node: Any) -> Any:
        if type(node) is int:
            return node * factor
        if isinstance(node, list):
            return [scale(each) for each in node]
        if isinstance(node, dict):
            return {name: scale(each) for name, each in node.items()}
        return node

    parent[key] = scale(parent[key])
    return f"{path}: times {factor}"


_ATTACKS: tuple[Callable[[Any, Rng], str], ...] = (
    _change_type,
    _change_record,
    _change_record,
    _swap_subtrees,
    _nest,
    _repeat,
    _add_values,
    _enlarge,
)


def restructure(data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Nest, repeat, exchange and refer to objects and arrays, or change a bundled encoder."""
    members = unpack(data)
    tree = json.loads(members[_TREE])
    changes = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        attacks = _STRUCTURES
        if _find_encoder(tree) is not None and rng.random() < 0.8:
            attacks = (_change_encoder,)
        attack = attacks[int(rng.integers(len(attacks)))]
        try:
            change = attack(tree, members, rng)
        except (LookupError, AttributeError, TypeError, ValueError, StopIteration, RecursionError):
            change = "of what another change removed"
        changes.append(f"{attack.__name__.strip('_')} {change}")
    try:
        members[_TREE] = _dump(tree)
    except RecursionError:
        changes.append("nested too deeply to be written")
    if rng.random() < 0.1:
        name = str(rng.choice([_TREE, _CARD]))
        members[name] = _duplicate_key(members[name], rng)
        changes.append(f"duplicate key in {name}")
    return pack(members), "; ".join(changes)


def _list_objects(tree: Any) -> list[tuple[Any, Any, str]]:
    """List the parent, the key and the path of each estimator."""
    return [
        node
        for node in _list_nodes(tree)
        if isinstance(node[0][node[1]], dict) and "class" in node[0][node[1]]
    ]


def _draw_object(tree: Any, rng: Rng) -> tuple[Any, Any, str]:
    objects = _list_objects(tree) or [(tree, "model", ".model")]
    return objects[int(rng.integers(len(objects)))]


def _exchange_objects(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Replace an estimator by another one."""
    parent, key, path = _draw_object(tree, rng)
    source, source_key, source_path = _draw_object(tree, rng)
    parent[key] = deepcopy(source[source_key])
    return f"{path} <- {source_path}"


def _put_keyword(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Replace an estimator by a keyword, or add one after it."""
    parent, key, path = _draw_object(tree, rng)
    keyword = [None, "drop", "passthrough"][int(rng.integers(3))]
    steps = [node for node in _list_nodes(tree) if node[1] == "steps"]
    if steps and rng.random() < 0.3:
        parent, key, path = steps[int(rng.integers(len(steps)))]
        if isinstance(parent[key], list):
            parent[key].append(["last", keyword])
        return f"{path}: {keyword} added"
    parent[key] = keyword
    return f"{path}: {keyword}"


def _nest_objects(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Nest an estimator in pipelines, unions, or in itself."""
    parent, key, path = _draw_object(tree, rng)
    depth = int(rng.choice([1, 2, 8, 12, 15, 17, 40]))
    kind = str(rng.choice(["sklearn.Pipeline", "sklearn.FeatureUnion", "itself"]))
    original, node = deepcopy(parent[key]), parent[key]
    places = [place for place, _, _ in _list_objects({"": original})]
    for _ in range(depth):
        if kind == "itself" and len(places) > 1:
            copy = deepcopy(original)
            holders = _list_objects(copy)
            if not holders:
                break
            holder, name, _ = holders[int(rng.integers(len(holders)))]
            holder[name] = node
            node = copy
        else:
            name = "steps" if kind != "sklearn.FeatureUnion" else "transformer_list"
            kind = "sklearn.Pipeline" if name == "steps" else kind
            node = {"class": kind, "params": {}, "nested": {name: [["a", node]]}}
    if len(json.dumps(node)) < 2**22:
        parent[key] = node
    return f"{path}: {depth} times in {kind}"


def _repeat_objects(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Repeat the estimators of a list, with other names."""
    lists = [
        node
        for node in _list_nodes(tree)
        if isinstance(node[0][node[1]], list) and _list_objects({"": node[0][node[1]]})
    ]
    if not lists:
        return "no lists"
    parent, key, path = lists[int(rng.integers(len(lists)))]
    times = int(rng.choice([2, 10, 100, 450, 5000]))
    size = len(json.dumps(parent[key]))
    times = min(times, max(2, 2**22 // size))
    items = [deepcopy(item) for _ in range(times) for item in parent[key]]
    for number, item in enumerate(items):
        if isinstance(item, list) and item and isinstance(item[0], str):
            item[0] = f"{item[0]}{number}"
    parent[key] = items
    return f"{path}: {times} times"


def _refer(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Let attributes refer to other arrays, or all to the same one."""
    parent, key, path = _draw_object(tree, rng)
    numbers = [
        node for node in _list_nodes(parent[key].get("fitted", {})) if type(node[0][node[1]]) is int
    ]
    if not numbers:
        return "no arrays"
    n_arrays = len(tree["arrays"])
    if rng.random() < 0.3:
        number = int(rng.integers(n_arrays))
        for place, name, _ in numbers:
            place[name] = number
        return f"{path}: all are {number}"
    place, name, inner = numbers[int(rng.integers(len(numbers)))]
    place[name] = int(rng.integers(n_arrays))
    return f"{path}{inner}: {place[name]}"


def _inflate(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Enlarge a dimension of all arrays that have it, so that their shapes still agree."""
    table = tree["arrays"]
    sizes = sorted({n for entry in table for n in entry["shape"] if n > 1})
    if not sizes:
        return "no arrays"
    old = sizes[int(rng.integers(len(sizes)))]
    factor = int(rng.choice([2, 100, 10_000, 1_000_000]))
    content, parts, total = members[_ARRAYS], [], 0
    for entry, (start, end) in zip(table, itertools.pairwise(_list_ends(table)), strict=True):
        part = content[start:end]
        if old in entry["shape"]:
            times = factor ** entry["shape"].count(old)
            if total + len(part) * times > 2**26:
                return "too large"
            part = part * times if rng.random() < 0.5 else bytes(len(part) * times)
            entry["shape"] = [n * factor if n == old else n for n in entry["shape"]]
        total += len(part)
        parts.append(part)
    members[_ARRAYS] = b"".join(parts)
    for place, name, _ in _list_nodes(tree["model"]):
        if type(place[name]) is int and place[name] == old and name in ("n_features_in_", 0, 1):
            place[name] = old * factor
    return f"{old} -> {old * factor}"


def _change_card(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Change a value of the model card."""
    card = json.loads(members[_CARD])
    nodes = _list_nodes(card)
    parent, key, path = nodes[int(rng.integers(len(nodes)))]
    others = [parent[key], [parent[key]], {"a": parent[key]}, [[["b"]]]]
    choice = int(rng.integers(8))
    parent[key] = others[choice] if choice < len(others) else _draw_value(parent[key], rng)
    members[_CARD] = _dump(card)
    return path


_STRUCTURES: tuple[Callable[[Any, dict[str, bytes], Rng], str], ...] = (
    *(_exchange_objects, _exchange_objects, _put_keyword, _nest_objects, _repeat_objects),
    *(_refer, _inflate, _change_card),
)


def _duplicate_key(content: bytes, rng: Rng) -> bytes:
    """Add a key that an object already has, with a small or a large value before the old one."""
    text = content.decode("utf-8", "surrogatepass")
    places = [*re.finditer(r'{\s*("[^"\\]*"):', text)]
    if not places:
        return content
    place = places[int(rng.integers(len(places)))]
    size = int(rng.choice([0, 10, 1_000_000]))
    junk = ["0", '"Strip"', f"[{'[],' * size}0]", f"[{'{},' * size}0]"][int(rng.integers(4))]
    text = f"{text[: place.start() + 1]}{place[1]}:{junk},{text[place.start() + 1 :]}"
    return text.encode("utf-8", "surrogatepass")


# --- bundled encoders ------------------------------------------------------------------------

_NORMALIZERS = (
    *({"type": "NFC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"}),
    *({"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Nmt"}),
    {"type": "Replace", "pattern": {"String": "e"}, "content": "x" * 100_000},
    {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""},
    *({"type": "Prepend", "prepend": "x" * 100_000}, {"type": "Precompiled"}, {}),
)
_PRE_TOKENIZERS = (
    *({"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}),
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True},
    *({"type": "Digits", "individual_digits": True}, {"type": "Punctuation"}),
    {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
)


def _find_encoder(tree: Any) -> Any:
    """Return the files of a bundled encoder, by path, as numbers of arrays."""
    for parent, key, _ in _list_nodes(tree):
        if key == "encoder_files_" and isinstance(parent[key], dict):
            return parent
    return None


def _change_encoder(tree: Any, members: dict[str, bytes], rng: Rng) -> str:
    """Change a file of a bundled encoder, and its fingerprint so that it matches."""
    fitted = _find_encoder(tree)
    table, ends = tree["arrays"], _list_ends(tree["arrays"])
    files = {
        path: members[_ARRAYS][ends[number] : ends[number + 1]]
        for path, number in fitted["encoder_files_"].items()
    }
    path = str(rng.choice(sorted(files)))
    if rng.random() < 0.5:
        path = next(name for name in files if name.endswith("tokenizer.json"))
    change = "bytes"
    if path.endswith(".json") and rng.random() < 0.9:
        files[path], change = _change_json(files[path], path, rng)
    elif path.endswith(".safetensors") and rng.random() < 0.8:
        length = int.from_bytes(files[path][:8], "little")
        header, change = _change_json(files[path][8 : 8 + length], path, rng)
        files[path] = len(header).to_bytes(8, "little") + header + files[path][8 + length :]
        files[path] += bytes(int(rng.choice([0, 0, 0, 10**6, 10**8])))
    else:
        files[path], _ = damage(files[path], rng)
    number = len(table)
    table.append({"dtype": "uint8", "shape": [len(files[path])]})
    members[_ARRAYS] += files[path]
    fitted["encoder_files_"][path] = number
    with contextlib.suppress(Exception):
        encoder = open_encoder(FolderInMemory(files, Path("encoder")), 256, name="encoder")
        fitted["fingerprint_"] = encoder.fingerprint
    return f"{path} {change}"


def _change_json(content: bytes, path: str, rng: Rng) -> tuple[bytes, str]:
    """Change a JSON file of an encoder: a value, a key that occurs twice, or tokenizer steps."""
    parsed = json.loads(content)
    action = float(rng.random())
    if action < 0.15:
        return _duplicate_key(content, rng), "duplicate key"
    if action < 0.5 and path.endswith("tokenizer.json"):
        part, kinds, name = [
            ("normalizer", _NORMALIZERS, "normalizers"),
            ("pre_tokenizer", _PRE_TOKENIZERS, "pretokenizers"),
        ][int(rng.integers(2))]
        n_kinds = int(rng.choice([1, 1, 2, 3]))
        times = int(rng.choice([1, 1, 3, 20, 20_000]))
        steps = [kinds[int(rng.integers(len(kinds)))] for _ in range(n_kinds)]
        steps *= min(times, 2**22 // len(json.dumps(steps)))
        if n_kinds == 1 and times == 1 and rng.random() < 0.5:
            shown = next(kind for kind in kinds if kind)
            text = f"{json.dumps(steps[0])[:-1]}, {json.dumps(shown)[1:]}"
            raw = {_RAW: text.replace("{, ", "{")}
            return _dump({**parsed, part: raw}), f"{part} {steps[0]} as {shown['type']}"
        parsed[part] = steps[0] if len(steps) == 1 else {"type": "Sequence", name: steps}
        return _dump(parsed), f"{part} of {len(steps)} steps"
    parent, key, place = _choose_node(parsed, rng)
    old = parent[key]
    if isinstance(old, int | float) and not isinstance(old, bool) and rng.random() < 0.5:
        parent[key] = old * int(rng.choice([2, 100, 10_000, -1]))
    elif isinstance(old, list) and rng.random() < 0.5:
        parent[key] = old * int(rng.choice([2, 1000]))
    elif rng.random() < 0.1:
        del parent[key]
    else:
        parent[key] = "x" * 100_000 if rng.random() < 0.2 else _draw_value(old, rng)
    return _dump(parsed), place


_RAW = "\0raw"


def _dump(tree: Any) -> bytes:
    """Serialize a tree, in which `_RAW` marks text that is inserted as it is."""
    raw: list[str] = []

    def hide(node: Any) -> Any:
        if isinstance(node, dict):
            if _RAW in node:
                raw.append(node[_RAW])
                return f"\0raw {len(raw) - 1}"
            return {name: hide(each) for name, each in node.items()}
        if isinstance(node, list):
            return [hide(each) for each in node]
        return node

    text = json.dumps(hide(tree))
    for number, inserted in enumerate(raw):
        text = text.replace(json.dumps(f"\0raw {number}"), inserted)
    return text.encode("utf-8", "surrogatepass")


def _draw_value(old: Any, rng: Rng) -> Any:
    """Draw a value, most often of the same type as the old one."""
    if isinstance(old, str) and rng.random() < 0.7:
        return _HOSTILE_STRINGS[int(rng.integers(len(_HOSTILE_STRINGS)))]
    if isinstance(old, int | float) and rng.random() < 0.7:
        return _HOSTILE_NUMBERS[int(rng.integers(len(_HOSTILE_NUMBERS)))]
    others = (
        *(None, True, False, [], {}, [[]], {"tuple": []}, {"dict": []}, {"set": []}),
        *(*_HOSTILE_NUMBERS, *_HOSTILE_STRINGS),
    )
    return others[int(rng.integers(len(others)))]


def _list_nodes(tree: Any, path: str = "") -> list[tuple[Any, Any, str]]:
    """List the parent, the key and the path of each node below the root."""
    nodes: list[tuple[Any, Any, str]] = []
    if isinstance(tree, dict | list):
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        for key in keys:
            here = f"{path}.{key}"
            nodes += [(tree, key, here), *_list_nodes(tree[key], here)]
    return nodes


def _choose_node(tree: Any, rng: Rng) -> tuple[Any, Any, str]:
    """Choose a node by walking down from the root, so that large lists do not take all."""
    nodes = _list_nodes(tree)
    if rng.random() < 0.5:
        return nodes[int(rng.integers(len(nodes)))]
    depths: dict[int, list[tuple[Any, Any, str]]] = {}
    for node in nodes:
        depths.setdefault(node[2].count("."), []).append(node)
    level = list(depths.values())[int(rng.integers(len(depths)))]
    return level[int(rng.integers(len(level)))]


def _is_type(node: Any) -> bool:
    return isinstance(node, str) and node.partition(".")[0] in ("cordwood", "sklearn", "builtins")


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
