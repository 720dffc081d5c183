"""Send damaged requests to `cordwood serve`: python benchmarks/fuzz_server.py [N] [SEED].

Bodies of all protocols are changed byte by byte and value by value, binary tensors have false
lengths, and headers do not fit. Every reply must be a success, or a 4xx with one sentence.
"""

import copy
import gzip
import http.client
import json
import random
import struct
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from cordwood import TextClassifier
from cordwood.serve.protocols.open_inference import HEADER
from cordwood.serve.server import Settings, make_server

TEXTS = ["soup and bread", "a goal of the team", "soup", "the team"] * 6
LABELS = ["food", "sport", "food", "sport"] * 6
TENSOR = {"name": "text", "shape": [2], "datatype": "BYTES", "data": ["soup", "team"]}
CONFIG = (
    '<View><Text name="t" value="$text"/><Choices name="c" toName="t">'
    '<Choice value="food"/></Choices></View>'
)
TASKS = [{"id": 1, "data": {"text": "soup"}}]
BODIES = [
    ("/predict", {"texts": ["soup", "team"], "coverage": 0.9, "top": 1, "model": "texts"}),
    ("/predict", {"texts": ["soup"], "max_error": 0.2, "unknown": 0.1, "class_conditional": False}),
    ("/models/table/predict", {"rows": [{"body": "soup", "price": 3, "kind": "a"}]}),
    ("/models/numbers/predict", {"features": [[1.0, 0.0], [0.5, 2]]}),
    ("/explain", {"texts": ["soup"], "labels": ["food"]}),
    ("/models/table/explain", {"rows": [{"body": "soup", "price": 3, "kind": "a"}]}),
    ("/predict", {"inputs": [["soup"], ["team"]], "raw_scores": False, "truncate": False}),
    ("/predict", {"tasks": TASKS, "label_config": CONFIG, "project": "1", "params": {}}),
    ("/", {"inputs": ["soup"], "parameters": {"top_k": 1}}),
    ("/invocations", {"dataframe_split": {"columns": ["text"], "data": [["soup"]], "index": [0]}}),
    ("/models/table/invocations", {"inputs": {"body": ["a"], "price": [1], "kind": ["b"]}}),
    ("/models/numbers/invocations", {"instances": [[1, 2], [3, 4]], "params": {"top_k": 1}}),
    ("/v1/models/texts:predict", {"instances": ["soup", {"text": "team"}]}),
    ("/v1/models/texts:explain", {"instances": ["soup"]}),
    ("/v2/models/texts/infer", {"id": "1", "inputs": [TENSOR], "outputs": [{"name": "label"}]}),
    (
        "/v2/models/numbers/infer",
        {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [[1.0, 2.0]]}]},
    ),
    ("/setup", {"project": "1", "schema": CONFIG, "hostname": "", "access_token": ""}),
    ("/validate", {"config": CONFIG}),
    ("/webhook", {"action": "START_TRAINING"}),
]
VALUES = [
    *(None, True, -1, 0, 2**31, 2**63, 10**40, 1e308, -1e308, 0.5, "", "soup", "\x00", "\u202e"),
    *([], {}, [[]], [{}], [None], {"": None}, "x" * 5000, [1] * 300, "NaN", ["a", 1], -0.0),
]
TYPES = ["application/json", "text/csv", "application/x-ndjson", "text/plain", "", "x/\xff", "*"]


def _nodes(value, path=()):
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in items:
        yield from _nodes(child, (*path, key))


def change_value(rng, body):
    """Replace, remove or rename a part of a body."""
    body = copy.deepcopy(body)
    paths = [path for path in _nodes(body) if path]
    if not paths:
        return rng.choice(VALUES)
    *parents, key = rng.choice(paths)
    target = body
    for each in parents:
        target = target[each]
    action = rng.random()
    if action < 0.7:
        target[key] = copy.deepcopy(rng.choice(VALUES))
    elif isinstance(target, dict):
        value = target.pop(key)
        if action < 0.85:
            target[rng.choice(["x", "model", "rows", "inputs", "tasks", ""])] = value
    else:
        target *= rng.choice([0, 2, 3])
    return body


def change_bytes(rng, body):
    """Flip, insert, repeat or cut bytes."""
    changed = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(len(changed) + 1)
        action = rng.random()
        if action < 0.4 and position < len(changed):
            changed[position] = rng.randrange(256)
        elif action < 0.6:
            changed[position:position] = rng.randbytes(rng.randint(1, 8))
        elif action < 0.8:
            del changed[position : position + rng.randint(1, 20)]
        else:
            changed = changed[:position] + changed[position : position + 50] * rng.randint(2, 5)
    return bytes(changed)


def make_binary(rng):
    """Return an Open Inference request with binary tensors, whose lengths may be false."""
    strings = [rng.randbytes(rng.randint(0, 9)) for _ in range(rng.randint(0, 4))]

    def false(n):
        others = [0, -1, n + 1, n - 1, 2**31, 2**32 - 1]
        return n if rng.random() < 0.7 else rng.choice(others)

    content = b"".join(struct.pack("<I", false(len(each)) % 2**32) + each for each in strings)
    tensor = {
        "name": rng.choice(["text", "body", "x", ""]),
        "shape": rng.choice(
            [[false(len(strings))], [len(strings), 1], [1, false(2)], [0], [2**40, 2**40], []]
        ),
        "datatype": rng.choice(["BYTES", "BYTES", "BYTES", "FP64", "FP16", "INT8", "BOOL", "X"]),
        "parameters": {
            "binary_data_size": rng.choice([false(len(content)), len(content), "3", None, 1.5])
        },
    }
    outputs = [
        {
            "name": "probability",
            "parameters": {"classification": rng.choice([0, 1, -1, 10**9, "a", None])},
        }
    ]
    body = {
        "inputs": [tensor] * rng.choice([1, 1, 1, 2]),
        "parameters": {"binary_data_output": rng.random() < 0.5},
    }
    if rng.random() < 0.5:
        body["outputs"] = outputs
    start = json.dumps(body).encode()
    model = rng.choice(["texts", "texts", "table", "numbers"])
    return f"/v2/models/{model}/infer", start + content, {HEADER: str(false(len(start)))}


def make_request(rng):
    """Return a path, a body and headers."""
    if rng.random() < 0.25:
        return make_binary(rng)
    path, body = rng.choice(BODIES)
    headers = {}
    for _ in range(rng.randint(0, 3)):
        body = change_value(rng, body)
    content = json.dumps(body).encode()
    if rng.random() < 0.3:
        content = change_bytes(rng, content)
    if rng.random() < 0.1:
        headers["content-type"] = rng.choice(TYPES)
    if rng.random() < 0.05:
        headers["content-encoding"] = rng.choice(["gzip", "deflate", "br", "gzip, gzip"])
        content = gzip.compress(content) if rng.random() < 0.5 else content
    if rng.random() < 0.05:
        path = "/rows?name=" + rng.choice(
            ["a.csv", "a.xlsx", "a.json", "a.jsonl", "a.parquet", "a"]
        )
    return path, content, headers


def send(connection, path, body, headers):
    """Send a request; return its status and its error, and raise if there is no sentence."""
    connection.request("POST", path, body, headers)
    with connection.getresponse() as response:
        content, status = response.read(), response.status
    if status == 200:
        return status
    found = json.loads(content)
    sentence = found.get("error") or found.get("message")
    if not 400 <= status < 500 and status != 501 or not sentence or "\n" in sentence:
        raise AssertionError(f"{status} {content[:300]!r} for {path} {headers} {body[:2000]!r}")
    return status


def fuzz(n_requests, seed, folder):
    """Send requests to a server in this process; return the number of replies by status."""
    folder = Path(folder)
    TextClassifier("nb").fit(TEXTS, LABELS).save(folder / "texts.cordwood")
    table = {"body": TEXTS, "price": [len(text) for text in TEXTS], "kind": LABELS}
    roles = {"text": ["body"], "numeric": ["price"], "categorical": ["kind"]}
    TextClassifier("nb", columns=roles).fit(table, LABELS).save(folder / "table.cordwood")
    numbers = [[float(len(text)), float(text.count("o"))] for text in TEXTS]
    TextClassifier("nb").fit(numbers, LABELS).save(folder / "numbers.cordwood")
    started, address = threading.Event(), []

    def on_start(url, models):
        address.append(url.removeprefix("http://"))
        started.set()

    paths = [folder / f"{name}.cordwood" for name in ("texts", "table", "numbers")]
    server = make_server(paths, Settings(port=0), on_start)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    started.wait(60)
    rng, counts = random.Random(seed), Counter()
    connection = http.client.HTTPConnection(address[0], timeout=60)
    try:
        for _ in range(n_requests):
            counts[send(connection, *make_request(rng))] += 1
    finally:
        connection.close()
        server.should_exit = True
        thread.join(40)
    return counts


if __name__ == "__main__":
    arguments = [int(each) for each in sys.argv[1:]]
    n, seed = (*arguments, *(10_000, 0)[len(arguments) :])
    with tempfile.TemporaryDirectory() as folder:
        counts = fuzz(n, seed, folder)
    print(f"{n:,} requests, seed {seed}: {dict(sorted(counts.items()))}, no 5xx")
