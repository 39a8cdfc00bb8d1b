"""Troubles a running server from outside: failing and full disks, no descriptors, strangers' locks, vanishing clients.

Of every case the same is asked. Who writes gets its answer or 503 with Retry-After and verdict `unknown`; who asks gets
200; nobody ever hears that a right is gone; when the trouble is over, writing works again without a restart; and every
acknowledged write is there, once. Each case prints one line with its figures.
"""

import argparse
import contextlib
import fcntl
import http.client
import mmap
import os
import random
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time
import traceback
import uuid

from mixed_load import Load, World
from outside import Client, Server, Unexpected, finish
from standing_still import PATIENCE, StandingStill, Wait

FOREVER = 0xFFFFFFFF
# A write waits two seconds for a lock, counted from its arrival; the rest is for a busy machine.
LONGEST_WAIT = PATIENCE + 0.8
# Who asks waits for nobody.
LONGEST_READ = 1.5
# Whether the process lives is told by a loop that no lock of the database may hold up.
LONGEST_HEALTH = 0.5
RECOVERY_SECONDS = 10
# For what has to come, and whose time is no claim.
LONG_ENOUGH = 60
# What a disk writes as a whole.
SECTOR = 512
POWER_LOSSES = 4


class Disk:
    """The control file of failing_disk.c."""

    def __init__(self, library, folder):
        self.path = os.path.join(folder, "control")
        with open(self.path, "wb") as file:
            file.write(bytes(64))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 64)
        self.environment = {"LD_PRELOAD": library, "FAULTS_CONTROL": self.path, "FAULTS_FOLDER": folder}
        self.synced = os.path.join(folder, "synced")

    def set(self, sync=0, times=0, full=0, ending=""):
        self.map[0:4] = bytes(4)
        self.map[16:56] = ending.encode().ljust(40, b"\0")
        self.map[4:12] = struct.pack("=II", times, full)
        self.map[0:4] = struct.pack("=I", sync)

    @property
    def hits(self):
        return struct.unpack("=I", self.map[12:16])[0]

    # What a loss of power leaves of a store.

    FILES = ("countersign.db", "countersign.db-wal")

    def keep_synced(self, data):
        """From now on it is known what was synced; all that is there is taken for it. Nothing may have the store open."""
        os.makedirs(self.synced)
        for name in self.FILES:
            if os.path.exists(os.path.join(data, name)):
                shutil.copy(os.path.join(data, name), self.synced)
        self.environment["FAULTS_SYNCED"] = self.synced

    def lose_power(self, data, chance=None):
        """Leaves what was synced, and of the rest nothing, or what `chance` draws; how many sectors had not been synced."""
        unsynced = 0
        for name in self.FILES:
            path, kept = os.path.join(data, name), os.path.join(self.synced, name)
            written, synced = (open(file, "rb").read() if os.path.exists(file) else b"" for file in (path, kept))
            left = bytearray(synced)
            for start in range(0, len(written), SECTOR):
                sector = written[start : start + SECTOR]
                if sector == synced[start : start + SECTOR]:
                    continue
                unsynced += 1
                if chance is not None and chance.random() < 0.5:
                    # What lies between the old end and this was never written: zeros.
                    left += bytes(max(0, start - len(left)))
                    left[start : start + SECTOR] = sector
            for file in (path, kept):
                with open(file, "r+b" if os.path.exists(file) else "wb") as one:
                    one.truncate(0)
                    one.write(left)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(data, "countersign.db-shm"))
        return unsynced


class Case:
    """A fresh folder with a server in it, a load, and what is found wrong."""

    def __init__(self, options, folder, seed):
        self.options, self.folder, self.seed = options, folder, seed
        self.faults, self.figures = [], []
        self.server = None
        self.disk = self.still = None

    def expect(self, condition, text):
        if not condition:
            self.faults.append(text)

    def say(self, text):
        self.figures.append(text)

    def prepare(self, data=None, shim=False, power=False, **load):
        data = data or os.path.join(self.folder, "data")
        os.makedirs(os.path.dirname(data), exist_ok=True)
        if shim:
            os.makedirs(data, mode=0o700)
            self.disk = Disk(self.options.library, self.folder)
        self.server = Server(self.options.binary, data, self.disk.environment if self.disk else None)
        self.server.log_path = os.path.join(self.folder, "server.log")
        self.world = World(self.server)
        if power:
            # The command line, too, writes on a disk that may lose power.
            self.disk.keep_synced(data)
            self.server.environment.update(self.disk.environment)
        self.still = StandingStill(os.path.dirname(data)).start()
        self.server.start()
        self.load = Load(self.world, self.server, self.seed, reader=True, **{"workers": 4, "pause": 0.005, **load})
        self.load.start()
        time.sleep(0.5)

    def recover(self):
        """Seconds until a write succeeds, without those in which this machine stood still."""
        start = time.monotonic()
        install = "recovery-" + uuid.uuid4().hex
        client = Client(self.server.port, self.world.token)
        entry = self.load.seats[install] = {"state": "activating"}
        while self.still.own(Wait(start, time.monotonic() - start)) < RECOVERY_SECONDS:
            got = client.call("/v1/activate", {"license_key": self.load.key, "install_id": install})
            if got is not None and got.status == 200:
                entry.update(state="held", activation=got.body["activation"]["id"])
                wait = Wait(start, time.monotonic() - start)
                self.say(f"recovered after {wait.seconds:.2f} s")
                return self.still.own(wait)
            time.sleep(0.05)
        self.faults.append(f"no write succeeds {RECOVERY_SECONDS} s after the trouble, {got}")
        return None

    def wait_for(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        return condition()

    def rest(self):
        """Waits until all of the log is in the database file.

        The checkpoint of a quiet moment syncs the log as a write does. Where it may come at any time nobody knows whose sync
        it is that hangs. Two numbers tell: https://sqlite.org/walformat.html#the_wal_index_file_format
        """

        def is_moved():
            with open(self.server.folder + "/countersign.db-shm", "rb") as file:
                index = file.read(100)
            return index[16:20] == index[96:100]

        self.expect(self.wait_for(is_moved, LONG_ENOUGH), "the log is not moved into the database file")

    def keep(self, waits, limit, text):
        """That each of the waits kept the limit. What this machine stood still for meanwhile is granted, and said."""
        longest = longest_of(waits)
        own = max((self.still.own(wait) for wait in waits if wait.seconds > limit), default=0)
        self.expect(own <= limit, f"{text} {longest:.2f} s; {own:.2f} s where what this machine stood still is taken off")
        if own <= limit < longest:
            self.say(f"GRANTED: {text} {longest:.2f} s; {self.still}")
        return longest

    def refuse_none(self, refused, text):
        """That no write was refused, but for those whose time went by while this machine stood still."""
        excused = sum(self.still.excuses(wait) for wait in refused)
        self.expect(excused == len(refused), f"{len(refused) - excused} writes were refused {text}")
        if excused:
            self.say(f"GRANTED: {excused} writes were refused {text}; {self.still}")

    def settle(self, may_miss_reads=False):
        """The end of the trouble: what was promised is compared with what is there, on the running server first."""
        load = self.load
        load.stop()
        self.faults += load.faults
        load.faults = []
        self.expect(load.reads, "nobody read")
        self.expect(may_miss_reads or not load.failed_reads, f"{load.failed_reads} reads got no answer")
        slowest = self.keep(load.reads, LONGEST_READ, "who only asks waited for an answer for")
        self.faults += load.compare()
        self.expect(self.server.stop() == 0, "SIGTERM did not end it with 0")
        self.faults += self.server.examine()
        self.say(
            f"{load.acknowledged} writes acknowledged, {len(load.refused)} times 503, {load.answers['none']} without "
            f"answer, longest wait {longest_of(load.waits):.2f} s; {len(load.reads)} reads, slowest {slowest:.2f} s"
        )

    def watch(self, body, *arguments):
        """Refusals and waits of the time in which `body` runs."""
        load = self.load
        refused, waits = len(load.refused), len(load.waits)
        result = body(*arguments)
        return result, load.refused[refused:], load.waits[waits:]


def longest_of(waits):
    """Its seconds."""
    return max((wait.seconds for wait in waits), default=0)


# MARK: Disks


def sync_fails_twice(case):
    """fsync of the log fails with EIO two times"""
    case.prepare(shim=True)
    case.disk.set(sync=1, times=2, ending="-wal")
    case.expect(case.wait_for(lambda: case.disk.hits >= 2, 10), "no fsync failed")
    case.disk.set()
    case.recover()
    time.sleep(0.5)
    case.expect(case.load.refused, "nobody was told 503")
    case.settle()


def sync_of_checkpoint_fails(case):
    """fsync of the database file fails with EIO for a while: only checkpoints need it"""
    case.prepare(shim=True)
    case.disk.set(sync=1, times=FOREVER, ending=".db")
    hit = case.wait_for(lambda: case.disk.hits >= 2, 60)
    case.expect(hit, "no checkpoint failed")
    case.refuse_none(case.load.refused, "although the log works")
    case.say(f"{case.disk.hits} syncs failed")
    case.disk.set()
    case.recover()
    case.settle()
    case.expect(os.path.getsize(case.server.folder + "/countersign.db") > 0, "the database file is empty")
    log = case.server.folder + "/countersign.db-wal"
    case.expect(not os.path.exists(log) or os.path.getsize(log) == 0, "the end left a log behind")


def sync_fails_for_good(case):
    """fsync of the log fails for good: after three COMMITs in a row the process ends with 1; a restart recovers"""
    case.prepare(shim=True)
    case.disk.set(sync=1, times=FOREVER, ending="-wal")
    start = time.monotonic()
    try:
        code = case.server.wait(20)
    except subprocess.TimeoutExpired:
        raise Unexpected("the process goes on although no COMMIT succeeds") from None
    case.say(f"ended with {code} after {time.monotonic() - start:.1f} s and {case.disk.hits} failed syncs")
    case.expect(code == 1, f"it ended with {code}")
    case.expect(case.disk.hits >= 3, f"it gave up after {case.disk.hits} failures")
    # Behind that may stand the answers of that very moment.
    case.expect("writer_failed" in case.server.log(), f"the log does not say why: {case.server.last_log()}")
    case.expect(case.load.refused, "nobody was told 503")
    case.disk.set()
    case.server.start()
    case.recover()
    time.sleep(0.5)
    case.settle(may_miss_reads=True)


def sync_lies(case):
    """fsync says yes and does nothing, then SIGKILL: what the system holds is there; without power it is not, and is missed"""
    case.prepare(shim=True, power=True)
    case.disk.set(sync=2, times=FOREVER)
    time.sleep(1)
    case.expect(case.wait_for(lambda: case.disk.hits > 0, 10), "no sync was asked for")
    case.say(f"{case.disk.hits} syncs not done")
    case.server.kill()
    case.load.stop()
    books = case.load.books()
    case.server.start()
    case.faults += case.load.compare()
    # A disk that lies and a loss of power: no server can keep its promises then, and a comparison that does not say so is
    # none. That is the proof of the case in which the disk does not lie.
    case.server.kill()
    lost = case.disk.lose_power(case.server.folder)
    case.disk.set()
    case.server.start()
    case.load.reopen(books, case.server)
    missing = case.load.compare()
    case.expect(missing, "what a lying disk lost with the power is not noticed")
    case.say(f"with the power {lost} sectors are lost, and {len(missing)} or more promises are seen broken")
    case.expect(case.server.stop() == 0, "SIGTERM did not end it with 0")
    case.faults += case.server.examine()


def power_is_lost(case):
    """power is lost under load: what was synced is left, and of the rest nothing, or some of it by lot"""
    case.prepare(shim=True, power=True, workers=6, pause=0)
    loads, unsynced, chance = [], 0, random.Random(case.seed)
    for number in range(POWER_LOSSES):
        if number > 0:
            case.load = Load(case.world, case.server, f"{case.seed}/{number}", workers=6).start()
            time.sleep(chance.uniform(0.3, 0.8))
        # Nothing is lost where nothing was promised.
        case.wait_for(lambda: case.load.acknowledged > 25, 30)
        case.server.kill()
        case.load.stop()
        unsynced += case.disk.lose_power(case.server.folder, chance if number % 2 else None)
        case.server.start()
        loads.append(case.load)
        case.faults += case.load.faults + case.load.compare()
    for load in loads:
        load.faults = []
        case.faults += load.compare()
    acknowledged = sum(load.acknowledged for load in loads)
    case.expect(acknowledged > 100, f"only {acknowledged} writes were acknowledged")
    case.say(f"{POWER_LOSSES} times; {acknowledged} writes acknowledged, {unsynced} sectors were not synced")
    case.expect(case.server.stop() == 0, "SIGTERM did not end it with 0")
    case.faults += case.server.examine()


def answers_wait_for_sync(case):
    """fsync of the log hangs: no write is answered before it, whatever its kind, and who asks is answered"""
    case.prepare(shim=True, workers=0)
    load, store = case.load, case.world.store
    now = int(time.time() * 1000)
    seat, other, owner = (f"{name}-{uuid.uuid4().hex}" for name in ("seat", "other", "owner"))
    number = "100000000000000001"
    purchase = {"install_id": owner, "store": "apple", "signed_transaction": store.transaction(number, now - 2000)}
    refund = store.transaction(number, now - 1000, revocationDate=now - 1000, revocationReason=0)
    key = {"Idempotency-Key": uuid.uuid4().hex}
    writes = (
        ("/v1/activate", {"license_key": load.key, "install_id": seat}, None),
        ("/v1/deactivate", {"license_key": load.key, "install_id": seat}, None),
        ("/v1/meters/consume", {"install_id": seat, "meter": "runs"}, None),
        ("/v1/meters/consume", {"install_id": seat, "meter": "runs"}, key),
        ("/v1/trial", {"install_id": other, "start": True}, None),
        ("/v1/sync", {"install_id": owner}, None),
        ("/v1/store/verify", purchase, None),
        (case.world.notifications, {"signedPayload": store.notification("REFUND", str(uuid.uuid4()), now, refund)}, None),
    )
    for path, body, headers in writes:
        answers = []
        client = Client(case.server.port, case.world.token)
        thread = threading.Thread(target=lambda: answers.append(client.call(path, body, headers)), daemon=True)
        case.rest()
        hits, reads = case.disk.hits, len(load.reads)
        case.disk.set(sync=3, times=FOREVER, ending="-wal")
        thread.start()
        # Who is answered without a sync has its answer long before the time for one is over.
        case.expect(case.wait_for(lambda: case.disk.hits > hits, 10), f"{path} asked for no sync")
        time.sleep(0.2)
        case.expect(not answers, f"{path} was answered before it was synced")
        case.expect(
            case.wait_for(lambda: len(load.reads) > reads + 1, 10), f"nobody reads while the sync of {path} hangs"
        )
        case.expect(not answers, f"{path} was answered while its sync hangs")
        case.disk.set()
        thread.join(10)
        client.close()
        case.expect(answers and answers[0] and answers[0].status == 200, f"{path} was answered {answers}")
    load.seats[seat] = {"state": "released"}
    case.say(f"{len(writes)} kinds of writes")
    case.settle()


def disk_stalls(case):
    """fsync of the log hangs for long: who waits behind it is told 503 in time, /ready tells, and it ends by itself"""
    case.prepare(shim=True, workers=0)
    load, answers = case.load, {}

    def activate(number):
        client = Client(case.server.port, case.world.token)
        answers[number] = client.call("/v1/activate", {"license_key": load.key, "install_id": installs[number]})
        client.close()

    def ready():
        client = http.client.HTTPConnection("127.0.0.1", case.server.port, timeout=LONG_ENOUGH)
        client.request("GET", "/ready")
        status = client.getresponse().status
        client.close()
        return status

    installs = [f"stall-{number}-{uuid.uuid4().hex}" for number in range(9)]
    load.seats.update({install: {"state": "activating"} for install in installs})
    threads = [threading.Thread(target=activate, args=(number,), daemon=True) for number in range(len(installs))]
    case.rest()
    hits = case.disk.hits
    case.disk.set(sync=3, times=FOREVER, ending="-wal")
    start = time.monotonic()
    threads[0].start()
    case.expect(case.wait_for(lambda: case.disk.hits > hits, 10), "nobody asked for a sync")
    for thread in threads[1:]:
        thread.start()
        time.sleep(0.3)
    told = case.wait_for(lambda: ready() == 503, 5)
    case.expect(told, "/ready says nothing of a disk that does not answer")
    for thread in threads[1:]:
        thread.join(10)
    time.sleep(max(0, case.options.hold - (time.monotonic() - start)))
    case.expect(0 not in answers, "a write was answered while its sync hangs")
    case.expect(ready() == 503, "/ready forgot the disk that does not answer")
    case.disk.set()
    case.expect(case.wait_for(lambda: ready() == 200, 5), "/ready does not recover")
    threads[0].join(10)
    first, others = answers.get(0), [answers.get(number) for number in range(1, len(installs))]
    case.expect(first is not None and first.status == 200, f"the write under way was answered {first}")
    if first is not None and first.status == 200:
        load.seats[installs[0]].update(state="held", activation=first.body["activation"]["id"])
    case.expect(
        all(other is not None and other.status == 503 and other.body["verdict"] == "unknown" for other in others),
        f"those behind it were answered {others}",
    )
    # Somebody looks for them once a second.
    waits = [other.wait for other in others if other is not None]
    longest = case.keep(waits, LONGEST_WAIT + 1, "a write waited for its answer for")
    case.say(f"hung for {time.monotonic() - start:.0f} s: {len(others)} times 503, the longest after {longest:.2f} s")
    case.recover()
    case.settle()


@contextlib.contextmanager
def small_disk(folder, size):
    """A tmpfs; `None` where this process may not mount one."""
    os.makedirs(folder)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder]
    if shutil.which("mount") is None or subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def disk_is_full(case):
    """a full disk, then room again"""
    with small_disk(os.path.join(case.folder, "disk"), "24m") as disk:
        if disk is None:
            case.say("(LD_PRELOAD in place of a tmpfs: this process may not mount one)")
            full_disk_by_library(case)
            return
        case.say("(tmpfs)")
        case.prepare(data=os.path.join(disk, "data"))
        filler = os.path.join(disk, "filler")
        fill(filler)
        case.expect(case.wait_for(lambda: len(case.load.refused) >= 5, 60), "nobody was told 503")
        time.sleep(1)
        fill(filler + "2")
        reads = len(case.load.reads)
        time.sleep(1)
        case.expect(len(case.load.reads) > reads, "reads stand still")
        os.unlink(filler)
        os.unlink(filler + "2")
        case.recover()
        time.sleep(0.5)
        case.settle()


def full_disk_by_library(case):
    """files that may not grow, by LD_PRELOAD"""
    case.prepare(shim=True)
    case.disk.set(full=1)
    case.expect(case.wait_for(lambda: len(case.load.refused) >= 5, 60), "nobody was told 503")
    time.sleep(1)
    case.say(f"{case.disk.hits} writes found no room")
    case.disk.set()
    case.recover()
    time.sleep(0.5)
    case.settle()


# MARK: Descriptors


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    """How many are open; only root may look into a process that forbids core files."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def descriptors_run_out(case):
    """no descriptor left for new connections"""
    if os.geteuid() != 0:
        case.say("!! NOT RUN: only root may take descriptors from a running server !!")
        return
    case.prepare(workers=2, pause=0.05)
    pid = case.server.process.pid
    # Both products' connections are open, so that the load needs no new one.
    time.sleep(0.5)
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = descriptors(pid)
    idle = processor_seconds(pid)
    time.sleep(2)
    idle = (processor_seconds(pid) - idle) / 2
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 8, hard))
    flood = []
    for _ in range(300):
        one = socket.socket()
        one.settimeout(LONG_ENOUGH)
        one.connect(("127.0.0.1", case.server.port))
        flood.append(one)
    before = case.load.acknowledged
    busy, start = processor_seconds(pid), time.monotonic()
    time.sleep(3)
    busy = (processor_seconds(pid) - busy) / (time.monotonic() - start)
    case.say(f"{busy * 100:.0f} % of a core with 300 connections too many, {idle * 100:.0f} % before")
    case.expect(busy < idle + 0.4, f"it is busy with accepting: {busy:.2f}, {idle:.2f} before")
    told = set()

    def listen():
        for one in flood:
            if one not in told:
                with contextlib.suppress(OSError):
                    if one.recv(4096).startswith(b"HTTP/1.1 503 "):
                        told.add(one)
        return len(told) >= 300 - 8

    for one in flood:
        one.setblocking(False)
    is_enough = case.wait_for(listen, RECOVERY_SECONDS)
    case.say(f"{len(told)} were told 503")
    case.expect(is_enough, f"only {len(told)} of them were told 503")
    goes_on = case.wait_for(lambda: case.load.acknowledged > before + 10, RECOVERY_SECONDS)
    case.expect(goes_on, "connections that were open stand still")
    for one in flood:
        one.close()
    seconds = case.recover()
    case.expect(seconds is not None and seconds < 3, "new connections are taken late")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    case.settle()


# MARK: Locks


@contextlib.contextmanager
def database_lock(case):
    connection = sqlite3.connect(case.server.folder + "/countersign.db", isolation_level=None, timeout=30)
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextlib.contextmanager
def file_lock(case):
    with open(case.server.folder + "/write.lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def hold_until_told(case, least):
    """Keeps a lock for so long, and on until each client has been refused: how many were by then.

    Nobody gets through while it is held, so each of them is told in its time, or has waited for longer than it may. With an
    end set before, a client that this machine held up, so that it came late, would succeed when the lock is free.
    """
    load, start = case.load, time.monotonic()
    refused, of_reads = len(load.refused), load.refused_reads

    def told():
        return len(load.refused) - refused - (load.refused_reads - of_reads)

    time.sleep(least)
    case.expect(
        case.wait_for(lambda: told() >= load.workers, LONG_ENOUGH),
        f"{told()} times 503 for {load.workers} clients in {time.monotonic() - start:.0f} s: some waited all the time",
    )
    return told()


def stranger(case, lock, least):
    case.prepare()
    waits, start = len(case.load.waits), time.monotonic()
    with lock(case):
        told = hold_until_told(case, least)
    held = time.monotonic() - start
    case.recover()
    # Whoever was waiting has its answer now.
    time.sleep(0.5)
    waits = case.load.waits[waits:]
    case.say(f"held for {held:.0f} s: {told} times 503, longest wait {longest_of(waits):.2f} s")
    case.keep(waits, LONGEST_WAIT, "a write waited for its answer for")
    case.settle()


def database_locked_briefly(case):
    """a stranger holds SQLite's write lock for 3 s"""
    stranger(case, database_lock, 3)


def database_locked_long(case):
    """a stranger holds SQLite's write lock for long"""
    stranger(case, database_lock, case.options.hold)


def write_lock_held_briefly(case):
    """a stranger holds write.lock for 3 s"""
    stranger(case, file_lock, 3)


def write_lock_held_long(case):
    """a stranger holds write.lock for long"""
    stranger(case, file_lock, case.options.hold)


@contextlib.contextmanager
def shared_memory_locks(case, first, last):
    """Locks on SQLite's own bytes, as a stopped program holds them: https://sqlite.org/walformat.html#locks"""
    with open(case.server.folder + "/countersign.db-shm", "r+b") as file:
        for byte in range(first, last + 1):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, byte)
        yield


def watch_health(case, until, waits):
    """Asks after the process all the time, on a connection of its own."""
    client = http.client.HTTPConnection("127.0.0.1", case.server.port, timeout=LONG_ENOUGH)
    while not until.wait(0.01):
        start = time.monotonic()
        try:
            client.request("GET", "/health")
            answer = client.getresponse()
            answer.read()
            case.expect(answer.status == 200, f"/health answered {answer.status}")
        except (OSError, http.client.HTTPException) as error:
            case.faults.append(f"/health was not answered: {error!r}")
            return
        waits.append(Wait(start, time.monotonic() - start))
    client.close()


def readers_kept_out(case, first, last):
    case.prepare()
    load, health, stop = case.load, [], threading.Event()
    watching = threading.Thread(target=watch_health, args=(case, stop, health), daemon=True)
    watching.start()
    load.may_refuse_reads = True
    waits, start = len(load.waits), time.monotonic()
    with shared_memory_locks(case, first, last):
        told, locked_reads = hold_until_told(case, case.options.hold), load.refused_reads
    held = time.monotonic() - start
    case.recover()
    time.sleep(0.5)
    load.may_refuse_reads = False
    # From here on nobody who asks may be refused.
    time.sleep(0.5)
    stop.set()
    watching.join(30)
    waits = load.waits[waits:]
    case.expect(case.server.process.poll() is None, f"the process ended: {case.server.last_log()}")
    case.keep(waits, LONGEST_WAIT, "a write waited for its answer for")
    case.expect(health, "nobody asked for /health")
    case.keep(health, LONGEST_HEALTH, "/health took")
    case.say(
        f"held for {held:.0f} s: {told} times 503 to who writes, {locked_reads} to who only asks, longest wait of a "
        f"write {longest_of(waits):.2f} s, {len(health)} times /health, the slowest in {longest_of(health):.2f} s"
    )
    case.settle()


def reader_slots_locked(case):
    """a stranger holds all places of SQLite's readers"""
    readers_kept_out(case, 123, 127)


def log_slots_locked(case):
    """a stranger holds the places of readers of the log: one that has nothing in it can be read, not written"""
    readers_kept_out(case, 124, 127)


# MARK: The command line beside clients


def import_beside_clients(case):
    """an import beside clients, then a dry run"""
    rows = case.options.rows
    table = os.path.join(case.folder, "licenses.csv")
    with open(table, "w") as file:
        file.write("key,plan,order_id,customer_email,customer_name\n")
        for number in range(rows):
            file.write(f"SOLD-{uuid.uuid4().hex.upper()},pro,order-{number},c{number}@example.com,Customer {number}\n")
    case.prepare(pause=0.02)
    for words in ([], ["--dry-run"]):
        start = time.monotonic()
        command = ["admin", "license", "import", table, "--product", "crash/first", *words]
        done, refused, waits = case.watch(lambda: case.server.command(*command))
        name = "dry run" if words else "import"
        case.say(
            f"{name} of {rows}: {time.monotonic() - start:.1f} s, {len(refused)} times 503 in {len(waits)} writes, "
            f"longest wait {longest_of(waits):.2f} s"
        )
        wanted = {"imported": 0, "unchanged": rows} if words else {"imported": rows, "unchanged": 0}
        case.expect({name: done["import"][name] for name in wanted} == wanted, f"{name}: {done}")
        case.refuse_none(refused, f"during the {name}")
        case.keep(waits, LONGEST_WAIT, f"during the {name} a write waited for its answer for")
    case.settle()


def restored(case, backup, number):
    """A fresh folder made from a backup, with the master key carried there."""
    target = Server(case.options.binary, os.path.join(case.folder, f"restored-{number}"))
    os.makedirs(target.folder, mode=0o700)
    shutil.copy(os.path.join(case.server.folder, "master.key"), target.folder)
    os.chmod(os.path.join(target.folder, "master.key"), 0o600)
    target.command("restore", backup)
    return target


def backups_under_load(case):
    """backups under load, each restored; and backups to where they cannot go"""
    case.prepare()
    load, seconds = case.load, []
    for number in range(case.options.backups):
        with load.lock:
            held = {s["activation"] for s in list(load.seats.values()) if s["state"] == "held"}
        path, start = os.path.join(case.folder, f"backup-{number}.db"), time.monotonic()
        case.server.command("backup", path)
        seconds.append(time.monotonic() - start)
        with load.lock:
            released = {
                s["activation"] for s in list(load.seats.values()) if s["state"] != "held" and "activation" in s
            }
        mode = os.stat(path).st_mode & 0o7777
        case.expect(mode == 0o600, f"a backup has mode {mode:o}")
        copy = restored(case, path, number)
        shown = copy.admin("license", "show", load.license_id)["license"]
        there = {seat["id"] for seat in shown["activations"]}
        missing = held - there - released
        case.expect(not missing, f"backup {number} lacks {len(missing)} of {len(held)} seats acknowledged before it")
        case.faults += copy.examine()
        shutil.rmtree(copy.folder)
        os.unlink(path)
    case.say(f"{len(seconds)} backups restored, the slowest took {max(seconds):.2f} s")
    bad_backups(case)
    # The last one, of a store that rests, with everything in it.
    load.stop()
    path = os.path.join(case.folder, "last.db")
    case.server.command("backup", path)
    books, served = load.books(), load.server
    copy = restored(case, path, "last")
    copy.start()
    try:
        load.reopen(books, copy)
        case.faults += [f"in the last backup: {fault}" for fault in load.compare()]
    finally:
        copy.end()
    load.reopen(books, served)
    case.settle()


def bad_backups(case):
    def beside(target):
        folder, name = os.path.split(target)
        return {other for other in os.listdir(folder) if other.startswith(name)} if os.path.isdir(folder) else set()

    def refuse(target, environment=None):
        before = beside(target)
        code, output, error = case.server.run("backup", target, "--json", environment=environment)
        after = beside(target)
        case.expect(code != 0, f"a backup to {target} succeeded")
        case.expect("code" in error and not output, f"a backup to {target} says nothing: {output} {error}")
        case.expect(after == before, f"a backup to {target} left {after - before}")

    refuse(os.path.join(case.folder, "no", "such", "folder"))
    refuse(case.folder)
    refuse(os.path.join(case.server.folder, "countersign.db"))
    refuse("/proc/backup.db")
    full = os.path.join(case.folder, "full")
    os.makedirs(full)
    disk = Disk(case.options.library, case.folder)
    disk.environment["FAULTS_FOLDER"] = full
    disk.set(full=1)
    refuse(os.path.join(full, "backup.db"), disk.environment)
    case.expect(disk.hits > 0, "the full disk was never written to")
    disk.set(sync=1, times=FOREVER)
    refuse(os.path.join(full, "backup.db"), disk.environment)
    with open(os.path.join(full, "old.db"), "w") as file:
        file.write("an older backup")
    disk.set(full=1)
    refuse(os.path.join(full, "old.db"), disk.environment)
    with open(os.path.join(full, "old.db")) as file:
        case.expect(file.read() == "an older backup", "a backup that failed replaced an older one")


# MARK: Clients


def clients_vanish(case):
    """clients that vanish in the middle of a request, or before its answer"""
    case.prepare(workers=2)
    pid = case.server.process.pid
    is_root = os.geteuid() == 0
    base = descriptors(pid) if is_root else 0
    body = b'{"license_key":"%s","install_id":"%s"}'
    installs = []

    def vanish(number):
        install = f"vanish-{number}-{uuid.uuid4().hex}"
        content = body % (case.load.key.encode(), install.encode())
        head = (
            f"POST /v1/activate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {case.world.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        ).encode()
        request = head + content
        one = socket.create_connection(("127.0.0.1", case.server.port), timeout=10)
        # A reset, or an orderly end.
        if number % 2:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        cut = (len(request), len(head) + len(content) // 2, len(head) // 2, len(request))[number % 4]
        one.sendall(request[:cut])
        if cut == len(request):
            # It arrived as a whole: perhaps it counts, and never twice.
            case.load.seats[install] = {"state": "activating"}
            installs.append(install)
            if number % 8 < 4:
                time.sleep(0.001)
        one.close()

    for number in range(600):
        vanish(number)
    if is_root and not case.wait_for(lambda: descriptors(pid) <= base + 4, 15):
        case.faults.append(f"{descriptors(pid)} descriptors, {base} before")
    case.recover()
    case.settle()
    held = sum(case.load.seats[install]["state"] == "held" for install in installs)
    case.say(f"600 vanished, {held} of {len(installs)} whole requests counted")


CASES = {
    "fsync-twice": sync_fails_twice,
    "fsync-checkpoint": sync_of_checkpoint_fails,
    "fsync-for-good": sync_fails_for_good,
    "fsync-lies": sync_lies,
    "fsync-hangs": answers_wait_for_sync,
    "fsync-stalls": disk_stalls,
    "power": power_is_lost,
    "disk-full": disk_is_full,
    "disk-full-shim": full_disk_by_library,
    "descriptors": descriptors_run_out,
    "database-lock-3": database_locked_briefly,
    "database-lock-long": database_locked_long,
    "write-lock-3": write_lock_held_briefly,
    "write-lock-long": write_lock_held_long,
    "reader-slots": reader_slots_locked,
    "log-slots": log_slots_locked,
    "import": import_beside_clients,
    "backups": backups_under_load,
    "vanish": clients_vanish,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("library", help="failing_disk.c, compiled")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--hold", type=float, default=10, help="seconds for which the long locks are held")
    parser.add_argument("--rows", type=int, default=50_000, help="licenses that are imported")
    parser.add_argument("--backups", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}: {', '.join(CASES)}")
    options.binary, options.library = os.path.abspath(options.binary), os.path.abspath(options.library)
    passed = failed = 0
    for name in options.cases or CASES:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            case = Case(options, folder, options.seed)
            try:
                CASES[name](case)
            except Unexpected as error:
                case.faults.append(str(error))
            except Exception:
                case.faults.append(traceback.format_exc())
            finally:
                if hasattr(case, "load"):
                    case.load.stopping.set()
                if case.still is not None:
                    case.still.stop()
                if case.server is not None:
                    case.server.end()
        for fault in case.faults[:10]:
            print(f"{name}: FAULT: {fault}", flush=True)
        verdict = "FAILED" if case.faults else "ok"
        figures = "; ".join(case.figures)
        print(f"{name}: {verdict}: {CASES[name].__doc__}: {figures} [{time.monotonic() - start:.0f} s]", flush=True)
        passed, failed = passed + (not case.faults), failed + bool(case.faults)
    finish("faults", passed, failed)


main()
