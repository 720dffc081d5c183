"""Mutations of model files: damage to the bytes, edits of the content, and forged content.

Edited and forged files have valid checksums and a valid digest, as an attacker would write them.
This module knows the layout of a file, but uses no code of `cordwood.persist`.
"""

import hashlib
import io
import itertools
import json
import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

KINDS = ("damaged", "edited", "forged")

_TREE, _ARRAYS, _DIGESTS = "model.json", "arrays", "sha256"

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
    return {"damaged": damage, "edited": edit, "forged": forge}[kind](data, rng)


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
