"""Holds a running server against clients that are slow, many, deaf, gone, or simply numerous.

Sizes are asserted (memory for each connection, descriptors, that time-outs cut and when they may not); times and rates
are printed, and asserted only where they tell a server that hangs from one that works. With --full the counts are those
of a day and health must answer within 50 ms beside 2,000 slow clients. With --sanitized the server is one built with a
sanitizer: fewer clients, no figures of memory, commands beside the load, and its log must be free of reports.
Standard library only; everything stays on the loopback interface.
"""

import argparse
import concurrent.futures
import contextlib
import datetime
import http.client
import json
import multiprocessing
import os
import random
import re
import select
import signal
import socket
import statistics
import struct
import sys
import tempfile
import time
import traceback

from load_server import Server, connect, raise_descriptor_limit, wait_until
from load_soak import Line, Soak
from standing_still import StandingStill, Wait

MIB = 1 << 20
# Of fewer, the hundredth part that may be slow would be none.
PROBES = 200


class Report:
    """What was seen and what was wrong with it."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, holds, text):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(f"  {'ok  ' if holds else 'FAIL'} {text}", file=sys.stderr, flush=True)


def say(text):
    print(text, file=sys.stderr, flush=True)


def fitting(wanted, options, what):
    """As many as wanted, or as many as a process may hold here."""
    count = min(wanted, options.descriptors - 200)
    if count < wanted:
        say(f"!! NOT IN FULL: {count} {what} in place of {wanted}, since a process may have only {options.descriptors}")
        say("!! descriptors here (ulimit -Hn)")
    return count


def connections(server):
    return server.metrics()["countersign_connections"]


def probe(port, pipe):
    """Asks for health until told to stop, and often enough, on kept and on new connections in turn; the wait of each."""
    waits, kept = [], connect(port)
    while len(waits) < PROBES or not pipe.poll():
        for fresh in (False, True):
            started, answer = time.monotonic(), b""
            with contextlib.suppress(OSError):
                sock = connect(port) if fresh else kept
                sock.sendall(b"GET /health HTTP/1.1\r\nHost: load\r\n\r\n")
                answer = sock.recv(4096)
            is_right = answer.startswith(b"HTTP/1.1 200")
            waits.append(Wait(started, time.monotonic() - started if is_right else float("inf")))
            if fresh:
                sock.close()
            elif not answer:
                kept.close()
                kept = connect(port)
        time.sleep(0.02)
    kept.close()
    pipe.send(waits)


@contextlib.contextmanager
def probing(server, report, what, bound):
    """Measures health, from another process, for as long as the block runs."""
    ours, theirs = multiprocessing.Pipe()
    prober = multiprocessing.get_context("fork").Process(target=probe, args=(server.port, theirs))
    prober.start()
    try:
        with StandingStill(server.folder) as still:
            yield
            ours.send("stop")
            waits = ours.recv() if ours.poll(60) else [Wait(time.monotonic(), float("inf"))]
    finally:
        prober.kill()
        prober.join()
    took, own = (sorted(1000 * part(wait) for wait in waits) for part in (lambda wait: wait.seconds, still.own))
    p99, own_p99 = (all_of_them[int(len(all_of_them) * 0.99)] for all_of_them in (took, own))
    if own_p99 < bound <= p99:
        say(f"  GRANTED: health's p99 of {p99:.1f} ms {what}; {still}")
        p99 = own_p99
    report.check(
        p99 < bound,
        f"health answers {what}: {len(took)} times, p50 {statistics.median(took):.1f} ms, p99 {p99:.1f} ms, "
        f"most {took[-1]:.1f} ms; bound {bound} ms",
    )


def slow(binary, folder, options, report):
    """Heads and bodies that come a byte at a time."""
    count = fitting(2 * options.count(1000, 100), options, "slow clients") // 2
    head_seconds, body_seconds = (10, 30) if options.full else (4, 7)
    server = Server(
        binary,
        folder,
        licenses=1,
        limits_header_seconds=head_seconds,
        limits_body_seconds=body_seconds,
        limits_idle_seconds=60,
        limits_connections=2 * count + 100,
        # Those who are slow are to be cut for that, not for what they make the server hold.
        limits_held_bytes=256 << 20,
    )
    head = b"GET /health HTTP/1.1\r\nHost: load\r\nX-Slow: "
    body = (
        f"POST /v1/validate HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {server.shop.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
    ).encode() + b" " * 32768
    before = server.resident()
    poll, slow_ones, cut = select.epoll(), {}, {"head": [], "body": []}
    # A cut that is seen now was made after the look before.
    looked = looking = time.monotonic()

    with probing(server, report, f"beside {count} slow heads and {count} slow bodies", 50 if options.full else 2000):
        for number in range(2 * count):
            started = time.monotonic()
            sock = connect(server.port)
            sock.sendall(body if number % 2 else head)
            sock.setblocking(False)
            slow_ones[sock.fileno()] = (sock, "body" if number % 2 else "head", started)
            poll.register(sock, select.EPOLLIN)
        held = server.resident()
        asked, ended, step = False, set(), 0
        end = time.monotonic() + body_seconds + 10
        while len(ended) < len(slow_ones) and time.monotonic() < end:
            # Each gets its byte about once a second; those that were told to go send on, too.
            step += 1
            for number, (sock, _, _) in slow_ones.items():
                if number % 8 == step % 8:
                    with contextlib.suppress(OSError):
                        sock.send(b" ")
            until = time.monotonic() + 0.125
            while (left := until - time.monotonic()) > 0:
                looked, looking = looking, time.monotonic()
                for number, _ in poll.poll(left):
                    sock, kind, started = slow_ones[number]
                    with contextlib.suppress(BlockingIOError):
                        try:
                            more = sock.recv(65536)
                        except ConnectionError:
                            more = b""
                        if not more:
                            ended.add(number)
                            cut[kind].append((looked - started, time.monotonic() - started))
                            poll.unregister(number)
            if not asked and step == 8:
                asked = True
                report.check(server.validates(), "a validation works beside them")
        for kind, seconds in (("head", head_seconds), ("body", body_seconds)):
            after, before_then = [late for _, late in cut[kind]], [early for early, _ in cut[kind]]
            report.check(
                len(after) == count and min(after) >= seconds and max(before_then) < seconds + 5,
                f"{len(after)} of {count} slow {kind}s were cut by the time-out of {seconds} s, after "
                f"{min(after, default=0):.1f} to {max(after, default=0):.1f} s",
            )
        # Told to go, they are still there and sending: the server hangs up on them. Only the prober stays.
        gone = wait_until(lambda: connections(server) <= 2, 10)
        report.check(gone, f"{connections(server):.0f} connections are left, with the one that probes")
    for sock, _, _ in slow_ones.values():
        sock.close()
    report.check(wait_until(lambda: connections(server) == 0, 5), "no connection is left")
    memory(options, report, "slow clients", before, held, server, 2 * count, 40 * 1024)
    end_server(server, report, options)


def memory(options, report, what, before, held, server, count, bound):
    """That connections took what they may and gave it back."""
    if options.sanitized:
        return
    each = (held - before) / count
    report.check(each <= bound, f"{count} {what} took {each:.0f} bytes of memory each; bound {bound}")
    # What the table keeps is bounded by what an idle connection may take; pages are given back within seconds.
    most = 12 * MIB + 1024 * count
    wait_until(lambda: server.resident() - before <= most, 15)
    kept = server.resident() - before
    report.check(
        kept <= most,
        f"resident memory {before / MIB:.1f} MiB before, {held / MIB:.1f} with them, {kept / MIB:+.1f} after; "
        f"bound {most / MIB:+.1f}",
    )


def idle(binary, folder, options, report):
    """As many kept connections as a busy evening brings."""
    count = fitting(options.count(10000, 500), options, "idle connections")
    seconds = 30 if options.full else 14
    server = Server(binary, folder, licenses=1, limits_idle_seconds=seconds, limits_connections=count + 100)
    descriptors, before = server.descriptors(), server.resident()

    sockets, last = [], 0.0
    started = time.monotonic()
    for number in range(count):
        sock = connect(server.port, source=f"127.0.0.{2 + number % 4}")
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: load\r\n\r\n")
        sockets.append(sock)
    opened = time.monotonic() - started
    first_closes = started + seconds
    answered = 0
    for sock in sockets:
        with contextlib.suppress(ConnectionError):
            answered += sock.recv(4096).startswith(b"HTTP/1.1 200")
    last = time.monotonic()
    report.check(answered == count, f"{answered} of {count} connections were answered; opened in {opened:.1f} s")
    open_now, held = connections(server), server.resident()
    busy = server.busy(1)
    if time.monotonic() >= first_closes:
        say("!! NOT CHECKED: how many are open, since this machine took so long that the first were closed again")
    else:
        report.check(open_now == count, f"{open_now:.0f} idle connections are open")
        more = server.descriptors() - descriptors
        # The one that asked for the number of connections may not be gone yet.
        report.check(more in (count, count + 1) or Server.said_blind, f"{more} descriptors more than before")
    report.check(busy < 0.5, f"with them all idle the server uses {busy:.2f} of a core; bound 0.5")
    with probing(server, report, f"beside {count} idle connections", 50 if options.full else 2000):
        time.sleep(1)
        report.check(server.validates(), "a validation works beside them")
    gone = wait_until(lambda: connections(server) == 0, last + seconds + 5 - time.monotonic())
    report.check(gone, f"all were closed by the idle time-out of {seconds} s")
    report.check(
        wait_until(lambda: server.descriptors() <= descriptors, 5),
        f"{server.descriptors()} descriptors after, {descriptors} before",
    )
    for sock in sockets:
        sock.close()
    memory(options, report, "idle connections", before, held, server, count, 1024)
    end_server(server, report, options)


def deaf(binary, folder, options, report):
    """Clients that ask and never read."""
    count, seconds = (200, 30) if options.full else (24, 8)
    server = Server(binary, folder, licenses=1, limits_idle_seconds=seconds, limits_header_seconds=seconds)
    ask = f"GET /v1/config HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {server.shop.token}\r\n\r\n".encode()
    status, content, _ = server.call("GET", "/v1/config", token=server.shop.token)
    report.check(status == 200, f"an answer has {len(content)} bytes")
    descriptors, before = server.descriptors(), server.resident()

    sockets = []
    for number in range(count):
        sock = connect(server.port, receive_buffer=4096)
        sock.setblocking(False)
        # Half ask for far more than may wait; the others for all sizes between nothing and that.
        with contextlib.suppress(BlockingIOError):
            sock.send(ask * (4000 if number % 4 < 2 else 1 + 20 * (number // 2)))
        sockets.append(sock)
    asked, held = time.monotonic(), 0

    def step():
        """They send on, as if another request came: that is no reading."""
        nonlocal held
        held = max(held, server.resident())
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.send(b"G")
        time.sleep(0.5)

    with probing(server, report, f"beside {count} clients that do not read", 5000):
        def calm():
            step()
            return server.busy(0.5) < 0.5

        # What was asked is answered first, as far as there is room for answers.
        report.check(wait_until(calm, seconds - 1), "the server rests while they do not read: less than half a core")
        report.check(server.validates(), "a validation works beside them")

        def gone():
            step()
            return connections(server) <= 2

        report.check(
            # Those whose answers all fit into the system's buffers are first told that their next request took too long.
            wait_until(gone, asked + 2 * seconds + 25 - time.monotonic()),
            f"{connections(server):.0f} connections are left {time.monotonic() - asked:.1f} s after they asked, "
            f"with the one that probes; time-out {seconds} s",
        )
    report.check(
        wait_until(lambda: server.descriptors() <= descriptors, 5),
        f"{server.descriptors()} descriptors after, {descriptors} before",
    )
    for sock in sockets:
        sock.close()
    memory(options, report, "clients that do not read", before, held, server, count, MIB + 65536)
    end_server(server, report, options)


def vanishing(binary, folder, options, report):
    """Clients that go away, in every way at every moment."""
    rounds = options.count(30, 6) * (10 if options.full else 1)
    server = Server(binary, folder, licenses=1)
    token, key = server.shop.token, server.shop.keys[0]
    body = f'{{"license_key":"{key}","install_id":"load-vanishing-install"}}'
    post = (
        f"POST /v1/activate HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    ask = f"GET /v1/config HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token}\r\n\r\n"
    chunked = post.replace(f"Content-Length: {len(body)}", "Transfer-Encoding: chunked")
    phases = {
        "nothing sent": "",
        "in the request line": "GET /hea",
        "in a field": "GET /health HTTP/1.1\r\nHost: lo",
        "before a body": post + "\r\n",
        "told to go on": post + "Expect: 100-continue\r\n\r\n",
        "in a body": post + "\r\n" + body[:20],
        "in a chunk": chunked + "\r\nff\r\n{",
        "a write under way": post + "\r\n" + body,
        "many writes under way": (post + "\r\n" + body) * 20,
        "a read answered": "GET /health HTTP/1.1\r\nHost: load\r\n\r\n",
        "long answers under way": ask * 200,
        "an answer that ends the connection": "GET / HTTP/9.9\r\n\r\n",
        "a body refused": post.replace(token, "wrong") + "\r\n" + body[:20],
    }
    descriptors, before = server.descriptors(), server.resident()
    lingering = []

    def leave(sock, way):
        if way == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if way == "half":
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
            lingering.append(sock)
        else:
            sock.close()

    total = 0
    for number in range(rounds):
        for phase in phases.values():
            for way in ("close", "reset", "half"):
                sock = connect(server.port, receive_buffer=4096 if number % 2 and way != "half" else None)
                with contextlib.suppress(OSError):
                    sock.sendall(phase.encode())
                    if number % 3 == 1:
                        time.sleep(random.uniform(0, 0.002))
                    if number % 3 == 2 and phase.endswith("\r\n\r\n"):
                        sock.settimeout(0.002)
                        sock.recv(100)
                leave(sock, way)
                total += 1
        if number == rounds // 2:
            # What it has not come to yet would be taken for what it keeps of the other half.
            wait_until(lambda: connections(server) <= len(lingering), 15)
            half = server.resident()
        # Those who only said that they have no more to say read what they are owed, and go.
        if number % 5 == 4:
            finish(lingering, report)
    finish(lingering, report)
    report.check(
        wait_until(lambda: connections(server) == 0, 15),
        f"{total} clients went away in {len(phases)} phases; {connections(server):.0f} connections are left",
    )
    report.check(
        wait_until(lambda: server.descriptors() <= descriptors, 5),
        f"{server.descriptors()} descriptors after, {descriptors} before",
    )
    busy = server.busy(1)
    report.check(busy < 0.5, f"the server uses {busy:.2f} of a core after that; bound 0.5")
    report.check(server.health() and server.validates(), "it goes on")
    if not options.sanitized:
        kept, late = server.resident() - before, server.resident() - half
        report.check(
            kept < 32 * MIB and late < 2 * MIB,
            f"resident memory grew by {kept / MIB:.1f} MiB, bound 32, and since half of them by {late / MIB:.1f}, bound 2",
        )
    end_server(server, report, options)


def steady(binary, folder, options, report):
    """The same again and again, on few connections and on ever new ones: nothing is kept of it."""
    server = Server(binary, folder, licenses=1)
    token, key = server.shop.token, server.shop.keys[0]

    def post(path, body):
        return (
            f"POST {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()

    install = '"install_id":"load-steady-install"'
    asked = {
        "activations of a seat that is held": (200, post("/v1/activate", f'{{"license_key":"{key}",{install}}}')),
        "validations": (200, post("/v1/validate", f'{{"license_key":"{key}",{install}}}')),
        "counts": (200, post("/v1/meters/consume", f'{{{install},"meter":"run"}}')),
        "keys that nobody has": (404, post("/v1/activate", f'{{"license_key":"LOAD-X762-XE6V-YJ98-AW8R",{install}}}')),
        "broken bodies": (400, post("/v1/activate", f'{{"license_key":"{key}",{install}')),
    }
    connected = {"connections": (200, b"GET /health HTTP/1.1\r\nHost: load\r\n\r\n")}

    def again(count, status, request, line, at_once=8):
        """Asks so often; how many answers are not as they should be."""
        wrong = 0
        for _ in range(count // at_once):
            line.ask([(request, status)] * at_once)
            wrong += sum(answer != allowed for answer, allowed, _ in line.answers())
        return wrong

    def anew(count, status, request, line):
        wrong = 0
        for _ in range(count):
            line.reopen(abruptly=False)
            wrong += again(1, status, request, line, at_once=1)
        return wrong

    for repeat, count, kinds in ((again, 1600, asked), (anew, 3200, connected)):
        if options.sanitized:
            count //= 10
        for what, (status, request) in kinds.items():
            lines = [Line(server.port) for _ in range(4)]
            sizes, wrong = [], 0
            # The first fill what is filled once. Of so many, what a process takes by the way is little for each.
            for part in (2, 8, 8):
                with concurrent.futures.ThreadPoolExecutor(len(lines)) as pool:
                    wrong += sum(pool.map(lambda line: repeat(part * count // 4 // len(lines), status, request, line), lines))
                sizes.append(server.resident())
            for line in lines:
                line.socket.close()
            report.check(not wrong, f"{18 * count // 4} {what}, {wrong} of them not answered {status}")
            if not options.sanitized:
                grown, bound = (sizes[2] - sizes[1]) / (2 * count), 256
                report.check(grown <= bound, f"{grown:.0f} bytes of memory are kept of each; bound {bound}")
    end_server(server, report, options)


def finish(lingering, report):
    """Reads to the end on connections whose other half is closed; each must end."""
    stuck = 0
    for sock in lingering:
        sock.settimeout(20)
        try:
            while sock.recv(1 << 18):
                pass
        except TimeoutError:
            stuck += 1
        except OSError:
            pass
        sock.close()
    if stuck:
        report.check(False, f"{stuck} half-closed connections never ended")
    lingering.clear()


def soak(binary, folder, options, report):
    """Requests of every kind, so many that anything that grows is seen to grow."""
    total = options.requests or (1000000 if options.full else None if options.sanitized else 60000)
    # In the long run more addresses than there is room for in the table of rates.
    addresses = 131072 if options.full else 4096
    server = Server(binary, folder, trusted_proxies="127.0.0.0/8")
    with StandingStill(server.folder) as still:
        soak_server(server, total, addresses, options, report, still)


def soak_server(server, total, addresses, options, report, still):
    descriptors = server.descriptors()
    # The check's own request of the start.
    wait_until(lambda: sum_of_requests(server) >= 1, 5)
    counted = sum_of_requests(server)
    load = Soak(server, 2, addresses, requests=total, seconds=None if total else 60)
    samples, errors, wal, commands = [], [], 0, 0
    while load.is_running():
        time.sleep(0.25)
        samples.append((load.sent.value, server.resident(), server.descriptors()))
        wal = max(wal, server.wal_bytes())
        if os.path.getsize(server.log_path) > 16 * MIB:
            errors += faults_of(server.log_path, options)
            os.truncate(server.log_path, 0)
        if options.sanitized:
            beside(server, commands)
            commands += 1
    done, statuses, faults, refused = load.finish(timeout=60)
    faults += unexcused(refused, still)
    say(f"  {done} requests in {load.seconds:.1f} s, {done / load.seconds:.0f} a second; by status {dict(sorted(statuses.items()))}")
    report.check(not faults, f"every answer was one that was due {faults[:3] if faults else ''}")

    report.check(
        wait_until(lambda: sum_of_requests(server) - counted >= done, 5) and sum_of_requests(server) - counted == done,
        f"the metrics count {sum_of_requests(server) - counted:.0f} requests, {done} were answered",
    )
    report.check(
        wait_until(lambda: server.descriptors() <= descriptors, 10),
        f"{server.descriptors()} descriptors after, {descriptors} before, {max(sample[2] for sample in samples)} at most",
    )
    # From 64 MiB on it is cut at the next moment without a reader.
    report.check(wal <= 128 * MIB, f"the write-ahead log had {wal / MIB:.1f} MiB at most; bound 128")
    if not options.sanitized:
        # After a third all installs, addresses and pages have been seen; from then on nothing may grow.
        warm = [sample[1] for sample in samples if sample[0] >= done / 3]
        part = max(1, len(warm) // 10)
        early, late = statistics.median(warm[:part]), statistics.median(warm[-part:])
        bound = (8 if options.full else 4) * MIB
        report.check(
            late - early <= bound,
            f"resident memory {samples[0][1] / MIB:.1f} MiB at the start, {early / MIB:.1f} after a third, "
            f"{late / MIB:.1f} at the end; bound {bound / MIB:+.0f} since the third",
        )
    errors = undue(errors + faults_of(server.log_path, options), still)
    report.check(not errors, f"no error in its log {errors[:3] if errors else ''}")

    # Stopped in the middle of it all.
    os.truncate(server.log_path, 0)
    load = Soak(server, 2, addresses)
    time.sleep(5 if options.sanitized else 1)
    end_server(server, report, options, "under load ", still)
    done, statuses, faults, refused = load.finish(timeout=60)
    faults += unexcused(refused, still)
    report.check(not faults, f"{done} answers of before were right {faults[:3] if faults else ''}")


def unexcused(refused, still):
    """What is wrong with the writes that were refused: nothing, where their time went by while this machine stood still."""
    faults = [f"503 after {wait.seconds:.2f} s" for wait in refused if not still.excuses(wait)]
    if len(faults) < len(refused):
        say(f"  GRANTED: {len(refused) - len(faults)} writes were refused; {still}")
    return faults


def undue(errors, still):
    """Lines of the log but for those that tell of no more than that this machine stood still."""
    # The wall clock's zero by the monotonic one.
    offset = time.monotonic() - time.time()

    def is_due(line):
        if not line.startswith("{"):
            return False
        facts = json.loads(line)
        # A step of the writer that lasts for two seconds, or a write that waits for as long; seen by who looks each second.
        words = "stuck at one step|did not come to it within|another process holds"
        if facts["event"] != "database_unusable" or not re.search(words, facts["reason"]):
            return False
        told = datetime.datetime.fromisoformat(facts["time"].replace("Z", "+00:00")).timestamp() + offset
        return still.between(told - 4, told) >= 1

    left = [line for line in errors if not is_due(line)]
    if len(left) < len(errors):
        say(f"  GRANTED: {len(errors) - len(left)} times database_unusable in its log; {still}")
    return left


def sum_of_requests(server):
    """All that were answered; those for metrics themselves go to another listener and are not counted."""
    return sum(value for name, value in server.metrics().items() if name.startswith("countersign_requests_total{"))


def beside(server, number):
    """A command of the operator's, while the server works."""
    target = os.path.join(server.folder, f"backup-{number}")
    commands = (
        ("admin", "license", "issue", "--product", "load/app", "--plan", "pro", "--count", "5"),
        ("admin", "product", "set", "load/app", f"offline_life=P{2 + number % 5}D", "--affects-existing"),
        ("admin", "license", "list", "--product", "load/app", "--limit", "50"),
        ("admin", "keys", "rotate", "--vendor", "load"),
        ("backup", target),
        ("doctor",),
        ("admin", "credential", "create", "--product", "load/app", "--kind", "pk"),
    )
    server.command(*commands[number % len(commands)])
    if number % 3 == 0:
        server.process.send_signal(signal.SIGHUP)


def faults_of(path, options):
    """Lines of a log that tell of a fault: errors, and what a sanitizer or a crash writes."""
    with open(path, errors="replace") as file:
        lines = file.read().splitlines()
    pattern = re.compile(r'"level":"error"|WARNING: ThreadSanitizer|ERROR: \w+Sanitizer|Fatal error|SUMMARY: ')
    found = [line for line in lines if pattern.search(line)]
    if found and options.log:
        with open(options.log, "a") as kept:
            kept.write("\n".join(line for line in lines if not line.startswith("{") or pattern.search(line)) + "\n")
    return found


def end_server(server, report, options, how="", still=None):
    status = server.stop(timeout=120 if options.sanitized else 30)
    faults = faults_of(server.log_path, options)
    faults = undue(faults, still) if still else faults
    report.check(
        status == 0 and not faults, f"SIGTERM {how}ends it with {status} {faults[:3] if faults else 'and a clean log'}"
    )


SECTIONS = {"slow": slow, "idle": idle, "deaf": deaf, "vanishing": vanishing, "steady": steady, "soak": soak}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--full", action="store_true", help="a million requests, and health within 50 ms")
    parser.add_argument("--sanitized", action="store_true", help="the server is built with a sanitizer")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="only this part; may be repeated")
    parser.add_argument("--requests", type=int, help="how many requests the soak sends")
    parser.add_argument("--log", help="a file to which the log's reports are appended")
    options = parser.parse_args()
    options.count = lambda usual, sanitized: sanitized if options.sanitized else usual
    options.descriptors = raise_descriptor_limit()

    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        # A sanitized server takes minutes to fill what a deaf client's connection holds.
        usual = [name for name in SECTIONS if not (options.sanitized and name == "deaf")]
        for name in options.only or usual:
            started = time.monotonic()
            say(f"{name}: {SECTIONS[name].__doc__}")
            try:
                SECTIONS[name](options.binary, os.path.join(folder, name), options, report)
            except (OSError, http.client.HTTPException) as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                report.check(False, f"the server went on answering: {error!r}, {os.path.basename(where[0])}:{where[1]}")
            finally:
                Server.kill_all()
            say(f"  {time.monotonic() - started:.1f} s")
    print(f"load: {report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed else 0)


main()
