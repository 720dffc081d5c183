"""Load of `cordwood serve` beside a FastAPI endpoint and MLflow's server of the same model.

    python benchmarks/serve_load.py [--seconds 60] [--clients 32] [--attack]

32 clients send single texts and batches for a minute, to 127.0.0.1 only; every reply is compared
with the predictions of the model. Requests a second depend on what else the computer does, requests
per CPU second of the server much less. Servers that are not installed are left out. With --attack,
idle and slow connections and a body of 1 GB are sent meanwhile, and other clients must be answered.
"""

import argparse
import http.client
import importlib.util
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from cordwood import TextClassifier, load
from cordwood.datasets import load_dataset

BATCH, SHARE_OF_BATCHES = 50, 0.2

FASTAPI = """
import sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from cordwood import load

model = load(sys.argv[1])
app = FastAPI()

class Body(BaseModel):
    texts: list[str]

@app.post("/predict")
def predict(body: Body):
    proba = model.predict_proba(body.texts)
    classes = model.classes_.tolist()
    return {"predictions": [
        {"label": classes[row.argmax()], "probabilities": dict(zip(classes, row.tolist()))}
        for row in proba
    ]}

@app.get("/health")
def health():
    return {}

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""

MLFLOW = """
import sys
import uvicorn
from mlflow.pyfunc.scoring_server import init
from cordwood import load

model = load(sys.argv[1])

class Metadata:
    def get_input_schema(self):
        return None

    def get_params_schema(self):
        return None

class Loaded:
    metadata, loader_module = Metadata(), ""

    def predict(self, data, params=None):
        proba = model.predict_proba(list(data))
        classes = model.classes_.tolist()
        return [
            {"label": classes[row.argmax()], "probabilities": dict(zip(classes, row.tolist()))}
            for row in proba
        ]

uvicorn.run(init(Loaded()), host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""


def start(command, port):
    """Start a server and wait until it answers."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            connection.getresponse().read()
            connection.close()
            return process
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise RuntimeError(f"{command[:4]} did not start")


def usage(process):
    """Return the CPU seconds and the resident MB of a process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Client(threading.Thread):
    """Sends requests one after another, and compares the replies."""

    def __init__(self, port, path, key, texts, proba, classes, end, seed):
        super().__init__()
        self.port, self.path, self.key = port, path, key
        self.texts, self.proba, self.classes, self.end = texts, proba, classes, end
        self.rng = random.Random(seed)
        self.times, self.statuses, self.wrong, self.n_texts = [], {}, 0, 0

    def run(self):
        """Send requests until the end."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while time.monotonic() < self.end:
            size = BATCH if self.rng.random() < SHARE_OF_BATCHES else 1
            chosen = [self.rng.randrange(len(self.texts)) for _ in range(size)]
            body = json.dumps({self.key: [self.texts[i] for i in chosen]})
            begin = time.perf_counter()
            try:
                connection.request("POST", self.path, body, {"content-type": "application/json"})
                with connection.getresponse() as response:
                    content = response.read()
            except (OSError, http.client.HTTPException):
                # A connection that waits may be closed, by any server: try again.
                connection.close()
                self.statuses["closed"] = self.statuses.get("closed", 0) + 1
                continue
            self.times.append(time.perf_counter() - begin)
            self.statuses[response.status] = self.statuses.get(response.status, 0) + 1
            if response.status == 200:
                self.n_texts += size
                found = json.loads(content)["predictions"]
                values = [[each["probabilities"][c] for c in self.classes] for each in found]
                same = np.shape(values) == (size, len(self.classes)) and np.allclose(
                    values, self.proba[chosen], atol=1e-6
                )
                self.wrong += not same
        connection.close()


def measure(name, process, port, path, key, data, args):
    """Run the clients against one server, and print a row."""
    texts, proba, classes = data
    before, memory = usage(process)
    begin = time.monotonic()
    clients = [
        Client(port, path, key, texts, proba, classes, begin + args.seconds, seed)
        for seed in range(args.clients)
    ]
    for client in clients:
        client.start()
    middle = memory
    while any(client.is_alive() for client in clients):
        time.sleep(0.5)
        if time.monotonic() - begin < args.seconds / 2:
            middle = usage(process)[1]
    wall = time.monotonic() - begin
    cpu, after = usage(process)
    times = np.concatenate([client.times for client in clients]) * 1000
    statuses = {}
    for client in clients:
        for status, n in client.statuses.items():
            statuses[status] = statuses.get(status, 0) + n
    wrong = sum(client.wrong for client in clients)
    n_texts = sum(client.n_texts for client in clients)
    p50, p99 = np.percentile(times, [50, 99])
    print(
        f"| {name} | {len(times) / wall:.0f} | {n_texts / wall:.0f} | {p50:.0f} | {p99:.0f} | "
        f"{len(times) / (cpu - before):.0f} | {middle:.0f} | {after:.0f} | {statuses} | {wrong} |",
        flush=True,
    )


def attack(port, seconds=15):
    """Open idle and slow connections and send 1 GB; return when all are sent."""
    sockets = []
    for i in range(5000):
        try:
            each = socket.create_connection(("127.0.0.1", port), timeout=2)
        except OSError:
            break
        if i % 3 == 1:
            each.sendall(
                b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
            )
        if i % 3 == 2:
            each.sendall(b"GET /hea")
            each.shutdown(socket.SHUT_WR)
        sockets.append(each)
    opened = len(sockets)
    large = socket.create_connection(("127.0.0.1", port))
    n_sent = 0
    try:
        large.sendall(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
        )
        for _ in range(1000):
            large.sendall(b" " * 1_000_000)
            n_sent += 1
    except OSError:
        pass
    time.sleep(seconds)
    for each in (*sockets, large):
        each.close()
    print(f"{opened:,} idle, slow or half-closed connections; {n_sent} MB of 1 GB were taken")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--port", type=int, default=18700)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--attack", action="store_true")
    return parser.parse_args()


def main():
    args = parse()
    corpus = load_dataset("docstrings")
    with tempfile.TemporaryDirectory() as folder:
        path = args.model or Path(folder, "docstrings.cordwood")
        if not path.exists():
            TextClassifier(encoder=None).fit(corpus.subset("train")).save(path)
        model = load(path)
        texts = list(corpus.subset("test").texts[:500])
        data = texts, model.predict_proba(texts), model.classes_.tolist()
        cordwood = [sys.executable, "-m", "cordwood", "serve", str(path), "--port"]
        print(
            "| server | requests/s | texts/s | p50 ms | p99 ms | requests per CPU s | "
            "MB at half time | MB at the end | statuses | wrong |"
        )
        print("|:--|--:|--:|--:|--:|--:|--:|--:|:--|--:|")
        servers = [("cordwood serve", [*cordwood, str(args.port)], "/predict", "texts")]
        for name, package, source, route, key in (
            ("FastAPI, hand-written", "fastapi", FASTAPI, "/predict", "texts"),
            ("MLflow's scoring server", "mlflow", MLFLOW, "/invocations", "inputs"),
        ):
            if importlib.util.find_spec(package) is not None and not args.attack:
                file = Path(folder, f"{package}_server.py")
                file.write_text(source)
                command = [sys.executable, str(file), str(path), str(args.port)]
                servers.append((name, command, route, key))
        for name, command, route, key in servers:
            process = start(command, args.port)
            try:
                if args.attack:
                    threading.Thread(target=attack, args=(args.port,)).start()
                measure(name, process, args.port, route, key, data, args)
            finally:
                process.terminate()
                process.wait(60)


if __name__ == "__main__":
    main()
