"""Kills a server under mixed load with SIGKILL, again and again, and compares what it acknowledged with what is there.

An answer of 200 is a promise: the seat is held, or released, after any crash. A call without an answer may have
happened or not, but never twice. Standard library only; everything stays on the loopback interface.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

WORKERS = 8


class Server:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.environment = dict(
            os.environ,
            COUNTERSIGN_DATA=folder,
            COUNTERSIGN_LIMITS_RATE_ADDRESS_PER_MINUTE="0",
            COUNTERSIGN_LIMITS_RATE_FIRST_CONTACTS_PER_MINUTE="0",
            COUNTERSIGN_LIMITS_RATE_TRIALS_PER_DAY="0",
            COUNTERSIGN_LIMITS_RATE_WRONG_KEYS_PER_MINUTE="0",
        )

    def admin(self, *words):
        done = subprocess.run(
            [self.binary, *words, "--json"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if done.returncode != 0:
            sys.exit(f"countersign {' '.join(words)}: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def start(self):
        self.log = open(os.path.join(self.folder, "..", "server.log"), "ab")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", "127.0.0.1:0"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        line = self.process.stdout.readline().decode()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)$", line.strip())
        if not found:
            sys.exit(f"the server did not start: {line!r}")
        self.port = int(found[1])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        self.log.close()
        return code


class Client:
    """One keep-alive connection; `None` for a call whose answer never came."""

    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, path, body):
        try:
            self.connection.request("POST", path, json.dumps(body), self.headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None


def load(server, token, key, number, stop, book, lock):
    """Activates and deactivates installs of its own until the server is gone."""
    client, count = Client(server.port, token), 0
    while not stop.is_set():
        install = f"crash-{os.getpid()}-{number}-{time.monotonic_ns()}-{count:06d}"
        count += 1
        with lock:
            book[install] = {"state": "activating"}
        got = client.call("/v1/activate", {"license_key": key, "install_id": install})
        if got is None:
            return
        if got[0] == 503:
            continue
        if got[0] != 200:
            sys.exit(f"activate answered {got}")
        with lock:
            book[install] = {"state": "held", "activation": got[1]["activation"]["id"]}
        if random.random() < 0.4:
            with lock:
                book[install]["state"] = "releasing"
            got = client.call("/v1/deactivate", {"license_key": key, "install_id": install})
            if got is None:
                return
            if got[0] == 503:
                continue
            if got[0] != 200 or not got[1]["released"]:
                sys.exit(f"deactivate answered {got}")
            with lock:
                book[install]["state"] = "released"


def compare(server, token, key, license_id, book):
    """Every promise is kept, and nothing is held that nobody asked for."""
    faults, held = [], 0
    client = Client(server.port, token)
    for install, entry in book.items():
        status, answer = client.call("/v1/validate", {"license_key": key, "install_id": install})
        seat = answer.get("activation")
        held += seat is not None
        wanted = {"held": (True,), "released": (False,)}.get(entry["state"], (True, False))
        if status != 200 or (seat is not None) not in wanted:
            faults.append(f"{install}: {entry} but {status} {answer.get('code')}")
        if seat and "activation" in entry and seat["id"] != entry["activation"]:
            faults.append(f"{install}: {entry} but holds {seat['id']}")
        entry["state"] = "held" if seat else "released"
        if seat:
            entry["activation"] = seat["id"]
    used = server.admin("admin", "license", "show", license_id)["license"]["seats"]["used"]
    if used != held:
        faults.append(f"{used} seats are used, {held} are known")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(os.path.abspath(arguments.binary), os.path.join(folder, "data"))
        server.admin("admin", "vendor", "create", "--slug", "crash", "--name", "Crash")
        server.admin("admin", "product", "create", "--vendor", "crash", "--slug", "app", "--name", "App")
        server.admin("admin", "plan", "create", "--product", "crash/app", "--code", "pro", "--features", "")
        token = server.admin("admin", "credential", "create", "--product", "crash/app", "--kind", "pk")["credential"]["token"]
        for number in range(arguments.rounds):
            issued = server.admin("admin", "license", "issue", "--product", "crash/app", "--plan", "pro")
            key, license_id = issued["licenses"][0]["key"], issued["licenses"][0]["id"]
            book, lock = {}, threading.Lock()
            server.start()
            stop = threading.Event()
            workers = [
                threading.Thread(target=load, args=(server, token, key, worker, stop, book, lock))
                for worker in range(WORKERS)
            ]
            for worker in workers:
                worker.start()
            time.sleep(random.uniform(0.05, 0.8))
            server.kill()
            stop.set()
            for worker in workers:
                worker.join()
            server.start()
            faults = compare(server, token, key, license_id, book)
            if server.stop() != 0:
                faults.append("SIGTERM did not end it with 0")
            findings = server.admin("doctor").get("findings", [])
            faults += [str(finding) for finding in findings if finding.get("severity") == "error"]
            for fault in faults[:10]:
                print(f"round {number}: {fault}", file=sys.stderr)
            passed, failed = passed + (not faults), failed + bool(faults)
    print(f"crash: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
