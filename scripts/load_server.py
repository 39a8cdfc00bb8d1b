"""A server under test for `check_load.py`: a seeded shop, one running process, and what can be seen of it from outside."""

import collections
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

SEED = {
    "vendors": [
        {
            "slug": "load",
            "name": "Load",
            "products": [
                {
                    "slug": "app",
                    "name": "App",
                    "key_prefix": "LOAD",
                    "settings": {"trial_duration": "P14D", "trial_plan": "pro", "extra": {"text": "x" * 2000}},
                    "features": [{"code": "pro", "name": "Pro"}],
                    "plans": [
                        {"code": "pro", "features": ["pro"], "seat_limit": 3},
                        {"code": "floating", "features": ["pro"], "seat_limit": 20, "lease_seconds": 3600},
                    ],
                    "meters": [
                        {"name": "run", "limit": 1000000000, "period": "day", "scope": "install"},
                        {"name": "few", "limit": 5, "period": "lifetime", "scope": "install"},
                    ],
                    "credentials": [
                        {"name": "app", "kind": "pk", "mode": "live"},
                        {"name": "administration", "kind": "sk", "mode": "live"},
                    ],
                }
            ],
        }
    ]
}

Shop = collections.namedtuple("Shop", "token secret keys floating")


def raise_descriptor_limit():
    """The most descriptors that this process, and each it starts, may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Server:
    """A shop in a folder of its own, and the server that runs on it."""

    running = []
    said_blind = False

    def __init__(self, binary, folder, licenses=300, **settings):
        self.binary, self.folder = os.path.abspath(binary), folder
        os.makedirs(folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
        self.environment = dict(kept, COUNTERSIGN_DATA=os.path.join(folder, "data"))
        seed = os.path.join(folder, "seed.json")
        with open(seed, "w") as file:
            json.dump(SEED, file)
        secrets = {secret["name"]: secret["token"] for secret in self.command("seed", seed)["secrets"]}
        keys = {}
        for plan, count in (("pro", licenses), ("floating", max(1, licenses // 10))):
            words = ("admin", "license", "issue", "--product", "load/app", "--plan", plan, "--count", str(count))
            keys[plan] = [license["key"] for license in self.command(*words)["licenses"]]
        self.shop = Shop(secrets["app"], secrets["administration"], keys["pro"], keys["floating"])
        # Everything comes from a few addresses: their limits would be all that is seen.
        for name in ("ADDRESS_PER_MINUTE", "FIRST_CONTACTS_PER_MINUTE", "TRIALS_PER_DAY", "WRONG_KEYS_PER_MINUTE"):
            self.environment["COUNTERSIGN_LIMITS_RATE_" + name] = "10000000"
        self.environment["COUNTERSIGN_LIMITS_RATE_ADMIN_PER_MINUTE"] = "10000000"
        self.environment["COUNTERSIGN_METRICS_LISTEN"] = "127.0.0.1:0"
        for name, value in settings.items():
            self.environment["COUNTERSIGN_" + name.upper()] = str(value)
        self.log_path = os.path.join(folder, "server.log")
        self.start()

    def command(self, *words):
        """A command of the command line; its answer."""
        done = subprocess.run([self.binary, *words, "--json"], env=self.environment, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"countersign {' '.join(words)}: {done.returncode} {done.stderr.decode()}")
        return json.loads(done.stdout)

    def start(self):
        # Appended to, so that it can be cut while the server runs.
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--listen", "127.0.0.1:0", "--loops", "2"],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        Server.running.append(self.process)
        self.port = self._port(rb"listening on http://127\.0\.0\.1:(\d+)$")
        self.metrics_port = self._port(rb"metrics on http://127\.0\.0\.1:(\d+)/metrics$")
        # The first of everything: contexts, caches, the metrics' own connection.
        self.health()
        self.metrics()
        # Their connections are gone once the number of descriptors stays.
        count, before = self.descriptors(), -1
        while count != before:
            time.sleep(0.2)
            count, before = self.descriptors(), count

    def _port(self, pattern):
        line = self.process.stdout.readline().strip()
        found = re.match(pattern, line)
        if not found:
            with open(self.log_path, errors="replace") as log:
                raise SystemExit(f"the server did not start: {line!r}\n{log.read()[-2000:]}")
        return int(found[1])

    @classmethod
    def kill_all(cls):
        """Ends those that a failed check left behind."""
        for process in cls.running:
            process.kill()
            process.wait()
        cls.running.clear()

    def stop(self, timeout=60):
        """Ends it as an operator would; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "no end in time"
        self.process.stdout.close()
        return status

    # What can be seen.

    def call(self, method, path, body=None, token=None, headers=()):
        """One request on a connection of its own: status, body, milliseconds."""
        started = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = dict(headers)
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if body is not None:
            fields["Content-Type"] = "application/json"
            body = json.dumps(body)
        connection.request(method, path, body, fields)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, (time.perf_counter() - started) * 1000

    def health(self):
        return self.call("GET", "/health")[0] == 200

    def validates(self):
        """Whether an ordinary question gets its ordinary answer."""
        body = {"license_key": self.shop.keys[0], "install_id": "load-ordinary-install"}
        status, content, _ = self.call("POST", "/v1/validate", body, self.shop.token)
        return status == 200 and json.loads(content)["code"] == "NOT_ACTIVATED"

    def metrics(self):
        """Every number of the metrics' listener by its line's name."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=30)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        lines = (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")
        return {name: float(value) for name, _, value in lines}

    def resident(self):
        """Bytes of memory the process holds."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except PermissionError:
            # The server lets nobody but root look into it.
            if not Server.said_blind:
                print("!! NOT CHECKED: the server's descriptors, which only root may count", file=sys.stderr)
            Server.said_blind = True
            return 0

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def busy(self, seconds=2):
        """What part of one core it uses while nobody asks anything."""
        before = self.cpu_seconds()
        time.sleep(seconds)
        return (self.cpu_seconds() - before) / seconds

    def wal_bytes(self):
        folder = self.environment["COUNTERSIGN_DATA"]
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith("-wal"))


def connect(port, source=None, receive_buffer=None):
    """A connected socket."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    if source:
        # Ports are chosen at the connect, by the whole pair of addresses.
        sock.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
        sock.bind((source, 0))
    sock.settimeout(30)
    sock.connect(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def wait_until(condition, seconds):
    """Whether it comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
