"""Damages a store on purpose, in each of the ways that a crash must not, and looks whether the comparison tells.

A judge that cannot say no is none: each damage is done to a copy of what a killed server left, with the books of the load
that it had acknowledged. A damage that takes nothing away is said, with the reason.
"""

import contextlib
import os
import shutil
import sqlite3
import struct
import time

from mixed_load import Load, World
from outside import Client, Server, Unexpected

LOG_HEADER, FRAME_HEADER = 32, 24
WORKERS = 3


class Log:
    """SQLite's write-ahead log as a file: where its commits end, and what of it is left over from before its last reset."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.content = file.read()
        self.path, self.ends, self.frames, self.valid = path, [], 0, 0
        if len(self.content) < LOG_HEADER:
            return
        page_size, salt = struct.unpack(">8xI4x8s", self.content[:24])
        self.step = FRAME_HEADER + page_size
        self.frames = (len(self.content) - LOG_HEADER) // self.step
        while self.valid < self.frames:
            size, salt_of_frame = struct.unpack_from(">4xI8s", self.content, LOG_HEADER + self.valid * self.step)
            if salt_of_frame != salt:
                break
            self.valid += 1
            if size != 0:
                self.ends.append(LOG_HEADER + self.valid * self.step)

    def cut(self, size):
        """Keeps so many bytes; the frames that were valid and are gone."""
        os.truncate(self.path, size)
        kept = max(0, size - LOG_HEADER) // self.step
        return max(0, self.valid - kept)


@contextlib.contextmanager
def database(folder):
    """The store, opened as a stranger would; what the log held is in the database file afterwards."""
    connection = sqlite3.connect(os.path.join(folder, "countersign.db"), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def log_of(folder):
    return Log(os.path.join(folder, "countersign.db-wal"))


# MARK: Damages. Each answers why it cannot be noticed, where it cannot.


def last_commit_cut(folder, evidence):
    """the log ends just before the last acknowledged write"""
    log = log_of(folder)
    for end in reversed([LOG_HEADER] + log.ends[:-1]):
        log.cut(end)
        beside = folder + "-look"
        shutil.copytree(folder, beside)
        with database(beside) as rows:
            there = rows.execute("SELECT count(*) FROM activations WHERE id = ?", (evidence["last"],)).fetchone()[0]
        shutil.rmtree(beside)
        if not there:
            return None
    return "that write is in the database file already"


def last_commit_torn(folder, evidence):
    """one bit of the last commit is another"""
    log = log_of(folder)
    if not log.ends:
        return "the log is empty"
    with open(log.path, "r+b") as file:
        file.seek(log.ends[-1] - log.step // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    return None


def log_emptied(folder, evidence):
    """the log is empty"""
    log = log_of(folder)
    return None if log.frames and log.cut(0) else "nothing was in it"


def log_quartered(folder, evidence):
    """the log is cut to three quarters of its file"""
    log = log_of(folder)
    size = len(log.content) * 3 // 4
    if log.frames and log.cut(size):
        return None
    return (
        f"of {log.frames} frames only the first {log.valid} are of this log, the others are left over from before its last "
        "reset, and all that was cut is of those"
    )


def page_overwritten(folder, evidence):
    """a page of the database file is overwritten"""
    with database(folder) as rows:
        size = rows.execute("PRAGMA page_size").fetchone()[0]
        page = rows.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'activations'").fetchone()[0]
    with open(os.path.join(folder, "countersign.db"), "r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(range(256)) * (size // 256))


def row(sentence, what, **chosen):
    """A damage that is one sentence of SQL, and changes one row at least."""

    def damage(folder, evidence):
        with database(folder) as rows:
            values = {name: evidence[kind] for name, kind in chosen.items()}
            if rows.execute(sentence, values).rowcount < 1:
                raise Unexpected(f"'{what}' changed nothing: the check does not know the store any more")

    damage.__doc__ = what
    return damage


# By name: what is done, in a folder with the evidence of what was promised.
DAMAGES = {
    "log-last-commit": last_commit_cut,
    "log-bit": last_commit_torn,
    "log-emptied": log_emptied,
    "log-three-quarters": log_quartered,
    "page": page_overwritten,
    "seat-lost": row("DELETE FROM activations WHERE id = :id", "a seat is gone", id="held"),
    "seat-renamed": row(
        "UPDATE activations SET id = 'act_00000000000000000000000000' WHERE id = :id", "a seat has another id", id="held"
    ),
    "release-lost": row(
        "UPDATE activations SET released_at = NULL, release_reason = NULL WHERE id = :id",
        "a released seat is held",
        id="released",
    ),
    "seat-double": row(
        "INSERT INTO activations (id, license_id, install_id, activated_at, last_seen_at) "
        "SELECT 'act_00000000000000000000000000', license_id, (SELECT max(id) FROM installs WHERE id NOT IN "
        "(SELECT install_id FROM activations)), activated_at, last_seen_at FROM activations WHERE id = :id",
        "a seat that nobody asked for",
        id="held",
    ),
    "count-doubled": row(
        "UPDATE meter_usage SET used = used * 2 WHERE subject = (SELECT max(subject) FROM meter_usage)", "a count is doubled"
    ),
    "count-lost": row(
        "UPDATE meter_usage SET used = used - 1 WHERE subject = (SELECT max(subject) FROM meter_usage)", "a count is missing"
    ),
    "key-forgotten": row(
        "DELETE FROM idempotency WHERE digest = (SELECT max(digest) FROM idempotency)", "an idempotency key is forgotten"
    ),
    "trial-moved": row(
        "UPDATE trials SET started_at = started_at + 1, ends_at = ends_at + 1 WHERE id = "
        "(SELECT max(id) FROM trials WHERE token_digest IS NOT NULL)",
        "a trial starts a second later",
    ),
    "trial-lost": row(
        "DELETE FROM trials WHERE id = (SELECT max(id) FROM trials WHERE token_digest IS NOT NULL)", "a trial is gone"
    ),
    "link-lost": row(
        "DELETE FROM purchase_links WHERE original_transaction_id = "
        "(SELECT original_transaction_id FROM purchases WHERE id = :id)",
        "a purchase is not its install's any more",
        id="owned",
    ),
    "purchase-lost": row("DELETE FROM purchases WHERE id = :id", "a purchase is gone", id="owned"),
    "refund-lost": row("UPDATE purchases SET revoked_at = NULL WHERE id = :id", "a refund is forgotten", id="refunded"),
    "refund-invented": row(
        "UPDATE purchases SET revoked_at = purchased_at WHERE id = :id", "a purchase is refunded that was not", id="owned"
    ),
    "audit-lost": row(
        "DELETE FROM audit WHERE position = (SELECT max(position) FROM audit)", "the last row of the audit log is gone"
    ),
}


def evidence_of(load):
    """One acknowledged thing of each kind that a damage is about; `None` while there is none."""
    seats, purchases = list(load.seats.values()), list(load.purchases.values())

    def first(entries, state, member):
        # One client may still be about to change one of them.
        found = [entry[member] for entry in entries if entry["state"] == state]
        return found[0] if len(found) > WORKERS or load.stopping.is_set() and found else None

    found = {
        "held": first(seats, "held", "activation"),
        "released": first(seats, "released", "activation"),
        "owned": first(purchases, "owned", "purchase"),
        "refunded": first(purchases, "refunded", "purchase"),
        "counted": sum(bool(book["sure"]) and bool(book["keyed"]) for book in list(load.meters.values())) or None,
        "trial": sum(entry["facts"] is not None for entry in list(load.trials.values())) or None,
    }
    return None if None in found.values() else found


def killed_server(binary, folder, seed):
    """What a server left that was killed right after its last acknowledged write: folder, load, evidence."""
    os.makedirs(folder)
    server = Server(binary, os.path.join(folder, "whole"))
    world = World(server)
    server.start()
    try:
        load = Load(world, server, seed, workers=WORKERS).start()
        end = time.monotonic() + 60
        while evidence_of(load) is None and time.monotonic() < end:
            time.sleep(0.05)
        load.stop()
        evidence = evidence_of(load)
        if evidence is None or load.faults:
            raise Unexpected(f"the load did not do all of its kinds: {load.faults}")
        # In a quiet moment the log is moved into the database file, and the next write begins it anew: what follows is in
        # the log alone, in front of what is left over there.
        path = os.path.join(server.folder, "countersign.db")
        written, end = os.stat(path).st_mtime_ns, time.monotonic() + 60
        while os.stat(path).st_mtime_ns == written and time.monotonic() < end:
            time.sleep(0.05)
        client = Client(server.port, world.token)
        for number in range(4):
            install = f"last-install-of-the-check-{number}"
            got = client.call("/v1/activate", {"license_key": load.key, "install_id": install})
            evidence["last"] = got.body["activation"]["id"]
            load.seats[install] = {"state": "held", "activation": evidence["last"]}
    finally:
        server.end()
    return server, load, evidence


def told(load, books, server):
    """What the check says of a store: a server that does not start says enough."""
    try:
        server.start()
    except Unexpected as error:
        return [str(error)]
    load.reopen(books, server)
    try:
        return load.compare() or server.examine()
    except Unexpected as error:
        return [str(error)]
    finally:
        server.end()


def self_check(binary, folder, seed, report):
    """Calls `report(name, whether it is as it should be, words)` for the undamaged store and for each damage."""
    whole, load, evidence = killed_server(binary, folder, seed)
    books = load.books()
    for name, damage in {"none": None, **DAMAGES}.items():
        copy = Server(binary, os.path.join(folder, name))
        shutil.copytree(whole.folder, copy.folder)
        reason = damage(copy.folder, evidence) if damage else None
        faults = told(load, books, copy)
        what = damage.__doc__ if damage else "no damage at all"
        if damage is None:
            report(name, not faults, f"{what}: {faults[0] if faults else 'nothing is told'}")
        elif reason:
            report(name, not faults, f"{what}: NOT NOTICED, and cannot be: {reason}")
        else:
            report(name, bool(faults), f"{what}: {faults[0][:140] if faults else 'NOT NOTICED'}")
        shutil.rmtree(copy.folder)
