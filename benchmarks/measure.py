#!/usr/bin/env python3
"""Measures a countersign executable on this machine, over loopback, with wrk.

Start-up time, resident memory, and for GET /health and POST /v1/validate (a fresh signature for
every request, by nonce) requests per second, latency and CPU microseconds of the server per request.
On a machine that is shared trust the last: it stays when requests per second halve.
"""
import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")


class Server:
    """One run of `countersign serve`."""

    def __init__(self, binary, data, loops):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COUNTERSIGN_")}
        # All requests come from one address; limits would be all that is measured.
        for name in ("ADDRESS_PER_MINUTE", "FIRST_CONTACTS_PER_MINUTE", "TRIALS_PER_DAY", "WRONG_KEYS_PER_MINUTE"):
            environment["COUNTERSIGN_LIMITS_RATE_" + name] = "0"
        self.errors = open(data.parent / "server.log", "ab")
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--loops", str(loops)],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment)
        line = self.process.stdout.readline()
        match = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)
        if not match:
            self.stop()
            raise SystemExit(f"the server did not start: {line!r}\n{(data.parent / 'server.log').read_text()}")
        self.port = int(match[1])
        with contextlib.closing(self.connect()) as connection:
            status, _ = exchange(connection, "GET", "/health")
        self.start_ms = (time.perf_counter() - started) * 1000
        assert status == 200, f"/health answered {status}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.errors.close()


def exchange(connection, method, path, body=None, token=None):
    headers = {}
    if body is not None:
        headers["Content-Type"] = "application/json"
        headers["Authorization"] = "Bearer " + token
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    return response.status, json.loads(text) if text[:1] == b"{" else text


def prepare(binary, server, data, count):
    """A product with `count` licenses, a seat of each taken; returns (key, install id) pairs and the token."""

    def admin(*arguments):
        done = subprocess.run([binary, "admin", *arguments, "--data", data, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"admin {' '.join(arguments)}: {done.stderr}")
        return json.loads(done.stdout)

    admin("vendor", "create", "--slug", "bench", "--name", "Bench")
    admin("product", "create", "--vendor", "bench", "--slug", "app", "--name", "App")
    admin("feature", "create", "--product", "bench/app", "--code", "pro", "--name", "Pro")
    admin("plan", "create", "--product", "bench/app", "--code", "pro", "--features", "pro", "--seats", "3")
    issued = admin("license", "issue", "--product", "bench/app", "--plan", "pro", "--count", str(count))
    token = admin("credential", "create", "--product", "bench/app", "--kind", "pk")["credential"]["token"]
    pairs = [(license["key"], f"bench-install-{n:08d}-{os.urandom(8).hex()}")
             for n, license in enumerate(issued["licenses"])]
    with contextlib.closing(server.connect()) as connection:
        started = time.perf_counter()
        for key, install in pairs:
            status, answer = exchange(connection, "POST", "/v1/activate",
                                      {"license_key": key, "install_id": install}, token)
            if status != 200:
                raise SystemExit(f"activate: {status} {answer}")
        seconds = time.perf_counter() - started
    print(f"{count} licenses issued, {count} seats taken one after the other in {seconds:.2f} s", file=sys.stderr)
    return pairs, token


def check_answers(server, pairs, token):
    """One answer by hand: a fast refusal is no result, and nonces must make it fresh."""
    bundles = set()
    with contextlib.closing(server.connect()) as connection:
        for nonce in ("first", "second"):
            status, answer = exchange(connection, "POST", "/v1/validate", {
                "license_key": pairs[0][0], "install_id": pairs[0][1], "nonce": nonce}, token)
            assert status == 200 and answer["valid"] is True, (status, answer)
            bundles.add(answer["bundle"])
    assert len(bundles) == 2, "two nonces gave one bundle"


def load(server, path, script, connections, seconds, arguments):
    """One run of wrk; returns its numbers and the server's CPU time for each request."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        for name in [script, "report.lua"]:
            if name:
                file.write((HERE / name).read_text() + "\n")
        file.flush()
        before = server.cpu_seconds()
        output = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", file.name,
             f"http://127.0.0.1:{server.port}{path}", "--", *arguments],
            capture_output=True, text=True, check=True).stdout
        used = server.cpu_seconds() - before
    result = json.loads(output.strip().splitlines()[-1])
    if result["refused"] or result["broken"] or not result["requests"]:
        raise SystemExit(f"{path}: {result}")
    return {
        "requests/s": result["requests"] / result["seconds"],
        "CPU us": used * 1e6 / result["requests"],
        "p50 us": result["p50"],
        "p99 us": result["p99"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the executable (benchmarks/run gives it)")
    parser.add_argument("--licenses", type=int, default=1000, help="how many, each with a seat taken (default 1000)")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 32], help="default 1 32")
    parser.add_argument("--loops", type=int, default=1, help="the server's threads (default 1: one core for wrk)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, interleaved; the median counts (default 3)")
    parser.add_argument("--seconds", type=int, default=2, help="length of one run (default 2)")
    parser.add_argument("--json", help="also write all numbers to this file")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("wrk is not installed: apt-get install wrk")

    folder = Path(tempfile.mkdtemp(prefix="countersign-benchmark-"))
    data = folder / "data"
    server = None
    try:
        server = Server(options.binary, data, options.loops)
        first_start = server.start_ms
        pairs, token = prepare(options.binary, server, data, options.licenses)
        server.stop()
        starts = []
        for _ in range(5):
            server = Server(options.binary, data, options.loops)
            starts.append(server.start_ms)
            resident = server.resident_mb()
            server.stop()
        server = Server(options.binary, data, options.loops)
        check_answers(server, pairs, token)
        (folder / "licenses").write_text("".join(f"{key} {install}\n" for key, install in pairs))
        kinds = [("GET /health", "/health", None, []),
                 ("POST /v1/validate, fresh", "/v1/validate", "validate.lua", [str(folder / "licenses"), token])]
        runs = {}
        for _ in range(options.rounds):
            for connections in options.connections:
                for name, path, script, arguments in kinds:
                    run = load(server, path, script, connections, options.seconds, arguments)
                    runs.setdefault((name, connections), []).append(run)
        check_answers(server, pairs, token)
        loaded = server.resident_mb()
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    figures = {
        "first start ms": first_start, "start ms": statistics.median(starts),
        "resident MB": resident, "resident MB after load": loaded,
    }
    for name, value in figures.items():
        print(f"{name:<24} {value:8.1f}")
    print(f"\n{'':<26}{'conns':>6}{'requests/s':>12}{'CPU us':>9}{'p50 us':>9}{'p99 us':>9}")
    table = []
    for (name, connections), results in runs.items():
        row = {key: statistics.median(result[key] for result in results) for key in results[0]}
        table.append({"name": name, "connections": connections, **row})
        print(f"{name:<26}{connections:>6}{row['requests/s']:>12,.0f}{row['CPU us']:>9.1f}"
              f"{row['p50 us']:>9,.0f}{row['p99 us']:>9,.0f}")
    if options.json:
        Path(options.json).write_text(json.dumps({**figures, "runs": table}, indent=2) + "\n")


if __name__ == "__main__":
    main()
