"""Ordinary and extraordinary requests for `check_load.py`, many at a time, each answer checked."""

import collections
import multiprocessing
import random
import socket
import struct
import time

from load_server import connect
from standing_still import Wait

CONNECTIONS = 48
INSTALLS = 1200


class Mix:
    """Requests of all kinds, each with the statuses it may get and what one of those answers says.

    Every key and every trial is in force: nothing is ever rejected here.
    """

    def __init__(self, shop, number, addresses):
        self.shop, self.random, self.addresses = shop, random.Random(number), addresses
        self.kinds, self.weights = zip(
            *[
                (self.validate, 30),
                (self.activate, 12),
                (self.deactivate, 8),
                (self.heartbeat, 6),
                (self.sync, 6),
                (self.trial, 5),
                (self.peek, 6),
                (self.consume, 10),
                (self.config, 3),
                (self.keys, 3),
                (self.health, 3),
                (self.wrong_key, 3),
                (self.wrong_token, 2),
                (self.malformed_json, 2),
                (self.invalid, 1),
                (self.elsewhere, 1),
                (self.administration, 0.2),
            ]
        )

    # What is told where a write could not be done in its time. Only a machine that stood still makes it due.
    LATE = {503: (b'"code":"UNAVAILABLE","verdict":"unknown"',)}
    # By status, what the answer says; one of several where there are several. Any of these may be a first contact: a write.
    VALIDATED = {
        200: (
            b'"valid":true,"code":"VALID","verdict":"granted"',
            b'"valid":false,"code":"NOT_ACTIVATED","verdict":"unknown"',
        ),
        **LATE,
    }
    SEATED = {200: (b'"verdict":"granted"',), 409: (b'"code":"NO_SEATS_AVAILABLE","verdict":"unknown"',), **LATE}
    RELEASED = {200: (b'"released":',), **LATE}
    RENEWED = {200: (b'"lease_expires_at":"',), 409: (b'"code":"NOT_ACTIVATED","verdict":"unknown"',), **LATE}
    SIGNED = {200: (b'"bundle":"',), **LATE}
    TRIED = {200: (b'"code":"TRIAL_ACTIVE","verdict":"granted"',), **LATE}
    READ = {200: (b'"meters":[{',), **LATE}
    COUNTED = {200: (b'"allowed":true', b'"allowed":false'), 409: (b'"code":"IDEMPOTENCY_CONFLICT"',), **LATE}
    MALFORMED = {400: (b'"code":"MALFORMED_JSON"',)}
    INVALID = {400: (b'"code":"VALIDATION"',)}

    def next(self):
        return self.random.choices(self.kinds, self.weights)[0]()

    def post(self, path, body, statuses, token=None, media="application/json"):
        content = body.encode()
        return (
            f"POST {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token or self.shop.token}\r\n"
            f"X-Forwarded-For: {self.address()}\r\nContent-Type: {media}\r\nContent-Length: {len(content)}\r\n\r\n"
        ).encode() + content, statuses

    def get(self, path, statuses, token=None):
        return (
            f"GET {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token or self.shop.token}\r\n"
            f"X-Forwarded-For: {self.address()}\r\n\r\n"
        ).encode(), statuses

    def address(self):
        number = self.random.randrange(self.addresses)
        return f"203.{number >> 16}.{number >> 8 & 255}.{number & 255}"

    def install(self):
        return f"soak-install-{self.random.randrange(INSTALLS):06d}"

    def pair(self, keys=None):
        """A license and one of the four installs that share it, one more than a plan's seats."""
        keys, number = keys or self.shop.keys, self.random.randrange(INSTALLS)
        return f'"license_key":"{keys[number // 4 % len(keys)]}","install_id":"soak-install-{number:06d}"'

    def validate(self):
        return self.post("/v1/validate", f'{{{self.pair()},"nonce":"{self.random.getrandbits(64):x}"}}', self.VALIDATED)

    def activate(self):
        body = f'{{{self.pair(self.any_keys())},"device":{{"name":"Soak","platform":"linux"}}}}'
        return self.post("/v1/activate", body, self.SEATED)

    def deactivate(self):
        return self.post("/v1/deactivate", f"{{{self.pair(self.any_keys())}}}", self.RELEASED)

    def heartbeat(self):
        return self.post("/v1/heartbeat", f"{{{self.pair(self.shop.floating)}}}", self.RENEWED)

    def any_keys(self):
        return self.shop.floating if self.random.random() < 0.3 else self.shop.keys

    def sync(self):
        return self.post("/v1/sync", f'{{"install_id":"{self.install()}"}}', self.SIGNED)

    def trial(self):
        return self.post("/v1/trial", f'{{"install_id":"{self.install()}"}}', self.TRIED)

    def peek(self):
        return self.post("/v1/meters/peek", f'{{"install_id":"{self.install()}","meters":["run","few"]}}', self.READ)

    def consume(self):
        meter = self.random.choice(("run", "run", "few"))
        key = f',"idempotency_key":"{self.random.randrange(4000)}"' if self.random.random() < 0.3 else ""
        return self.post(
            "/v1/meters/consume", f'{{"install_id":"{self.install()}","meter":"{meter}"{key}}}', self.COUNTED
        )

    def config(self):
        return self.get("/v1/config", {200: (b'"config":"',)})

    def keys(self):
        return self.get("/v1/keys", {200: (b'"keys":[{',)})

    def health(self):
        return self.get("/health", {200: ()})

    def wrong_key(self):
        body = f'{{"license_key":"LOAD-X762-XE6V-YJ98-AW8R","install_id":"{self.install()}"}}'
        path, status = self.random.choice((("/v1/validate", 200), ("/v1/activate", 404)))
        return self.post(path, body, {status: (b'"code":"LICENSE_NOT_FOUND","verdict":"unknown"',), **self.LATE})

    def wrong_token(self):
        return self.post("/v1/validate", f"{{{self.pair()}}}", {401: ()}, token="pk_live_" + "0" * 43)

    def malformed_json(self):
        return self.post("/v1/activate", self.random.choice(('{"license_key":', '{"a":1,}', "[" * 70, "\x00")), self.MALFORMED)

    def invalid(self):
        return self.random.choice(
            (
                lambda: self.post("/v1/activate", '{"install_id":5}', self.INVALID),
                lambda: self.post("/v1/validate", '{"license_key":5}', self.INVALID),
                lambda: self.post("/v1/sync", "{}", self.INVALID),
                lambda: self.post("/v1/sync", "{}", {415: ()}, media="text/plain"),
            )
        )()

    def elsewhere(self):
        return self.random.choice(
            (lambda: self.get("/v1/nowhere", {404: ()}), lambda: self.get("/v1/validate", {405: ()}))
        )()

    def administration(self):
        return self.get("/v1/admin/licenses?limit=20", {200: (b'"licenses":[{',)}, token=self.shop.secret)


class Line:
    """One connection of a worker: what was asked on it and not yet answered."""

    def __init__(self, port):
        self.port = port
        self.open()

    def open(self):
        self.socket, self.buffer, self.expected = connect(self.port), b"", []

    def ask(self, requests):
        self.expected += [statuses for _, statuses in requests]
        self.asked = time.monotonic()
        self.socket.sendall(b"".join(request for request, _ in requests))

    def answers(self):
        """Takes all that was asked for; yields statuses beside those allowed."""
        position, buffer = 0, self.buffer
        for allowed in self.expected:
            while True:
                end = buffer.find(b"\r\n\r\n", position)
                if end >= 0:
                    at = buffer.find(b"Content-Length: ", position, end)
                    length = int(buffer[at + 16 : buffer.find(b"\r", at)]) if at >= 0 else 0
                    if len(buffer) >= end + 4 + length:
                        break
                more = self.socket.recv(1 << 18)
                if not more:
                    raise ConnectionError("closed with answers owed")
                buffer, position = buffer[position:] + more, 0
            yield int(buffer[position + 9 : position + 12]), allowed, buffer[end + 4 : end + 4 + length]
            position = end + 4 + length
        self.buffer, self.expected = buffer[position:], []

    def reopen(self, abruptly):
        if abruptly:
            # A reset in place of a goodbye.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self.open()


def work(port, shop, number, count, seconds, addresses, sent, results):
    """Sends `count` requests, or for so many seconds, or with neither until the server goes; tells statuses and faults.

    Beside them the waits that ended with 503, for somebody to judge who knows when this machine stood still.
    """
    end = time.monotonic() + (seconds or float("inf"))
    mix, statuses, faults, done = Mix(shop, number, addresses), collections.Counter(), [], 0
    refused = []
    lines = []
    try:
        lines = [Line(port) for _ in range(CONNECTIONS)]
        while (count is None or done < count) and time.monotonic() < end:
            for line in lines:
                if mix.random.random() < 0.02:
                    line.reopen(abruptly=mix.random.random() < 0.5)
                line.ask([mix.next() for _ in range(mix.random.choice((1, 1, 4, 16)))])
            asked = sum(len(line.expected) for line in lines)
            for line in lines:
                for status, allowed, content in line.answers():
                    statuses[status] += 1
                    texts = allowed.get(status)
                    if texts == () or texts and any(text in content for text in texts):
                        if status == 503:
                            refused.append(Wait(line.asked, time.monotonic() - line.asked))
                        continue
                    if len(faults) < 5:
                        faults.append(f"{status} where {allowed} was due: {content[:300]!r}")
            done += asked
            with sent.get_lock():
                sent.value += asked
    except (OSError, ConnectionError) as error:
        if count is not None or seconds is not None:
            faults.append(f"after {done} requests: {error!r}")
    for line in lines:
        line.socket.close()
    results.put((sum(statuses.values()), statuses, faults, refused))


class Soak:
    """Workers, each a process, so that the load is more than one Python can make."""

    def __init__(self, server, workers, addresses, requests=None, seconds=None):
        context = multiprocessing.get_context("fork")
        self.sent, self.results = context.Value("q", 0), context.Queue()
        share = None if requests is None else -(-requests // workers)
        self.workers = [
            context.Process(
                target=work,
                args=(server.port, server.shop, number, share, seconds, addresses, self.sent, self.results),
            )
            for number in range(workers)
        ]
        self.started = time.monotonic()
        for worker in self.workers:
            worker.start()

    def is_running(self):
        return self.results.qsize() < len(self.workers) and any(worker.is_alive() for worker in self.workers)

    def finish(self, timeout):
        """Requests answered, by status, what was wrong, and which were refused; waits for the workers."""
        done, statuses, faults, refused = 0, collections.Counter(), [], []
        for _ in self.workers:
            part = self.results.get(timeout=timeout)
            done, statuses = done + part[0], statuses + part[1]
            faults, refused = faults + part[2], refused + part[3]
        for worker in self.workers:
            worker.join()
        self.seconds = time.monotonic() - self.started
        return done, statuses, faults, refused
