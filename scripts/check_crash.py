"""Kills a server with SIGKILL again and again, and compares what it acknowledged with what is there.

Each round has clients that activate, deactivate, count with and without idempotency keys, start trials of both kinds, show
purchases and have some refunded. The server is killed under that load, in a checkpoint, during a backup, or while it
starts; then it is started again and everything it ever acknowledged is looked for. The seed decides what is killed
when; `--rounds 50` takes a few minutes.
"""

import argparse
import collections
import os
import random
import subprocess
import tempfile
import time

from mixed_load import Load, World
from outside import Server, Unexpected, finish

KINDS = ("load", "checkpoint", "start", "backup", "load")


def kill_in_checkpoint(server, chance):
    """Right after the database file itself was written to: that is a checkpoint."""
    path = os.path.join(server.folder, "countersign.db")
    time.sleep(chance.uniform(0.05, 0.3))
    written, end = os.stat(path).st_mtime_ns, time.monotonic() + 4
    hit = False
    while not hit and time.monotonic() < end:
        hit = os.stat(path).st_mtime_ns != written
    server.kill()
    return hit


def kill_while_starting(server, chance):
    """The load's server first, then starts that get no further than a moment drawn by lot."""
    server.kill()
    for _ in range(chance.randint(1, 4)):
        server.spawn()
        time.sleep(chance.uniform(0, 0.15))
        server.kill()
    return True


def kill_in_backup(server, chance, folder):
    """The server while a backup reads it, and half of the time the backup, too."""
    target = os.path.join(folder, "backup.db")
    backup = subprocess.Popen(
        [server.binary, "backup", target], env=server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(chance.uniform(0.005, 0.1))
    server.kill()
    is_hit = backup.poll() is None
    if chance.random() < 0.5:
        backup.kill()
    code = backup.wait(60)
    faults = []
    if os.path.exists(target):
        # Whatever was killed: a file of that name is a whole backup.
        restored = Server(server.binary, os.path.join(folder, "restored"))
        os.makedirs(restored.folder, mode=0o700)
        key = os.path.join(restored.folder, "master.key")
        with open(os.path.join(server.folder, "master.key"), "rb") as source:
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as copy:
                copy.write(source.read())
        code, _, error = restored.run("restore", target)
        faults = restored.examine() if code == 0 else [f"a backup cannot be restored: {error}"]
    elif code == 0:
        faults = ["a backup succeeded and left no file"]
    for name in os.listdir(folder):
        if name.startswith("backup.db"):
            os.unlink(os.path.join(folder, name))
    subprocess.run(["rm", "-rf", os.path.join(folder, "restored")], check=True)
    return is_hit, faults


def one_round(world, server, kind, seed, folder):
    """Faults, the load with its books, and whether the kill met what it was meant to."""
    chance = random.Random(seed)
    server.start()
    load = Load(world, server, seed).start()
    faults, hit = [], True
    time.sleep(chance.uniform(0.05, 0.9))
    if kind == "checkpoint":
        hit = kill_in_checkpoint(server, chance)
    elif kind == "start":
        hit = kill_while_starting(server, chance)
    elif kind == "backup":
        hit, faults = kill_in_backup(server, chance, folder)
    else:
        server.kill()
    load.stop()
    faults += load.faults
    load.faults = []
    server.start()
    faults += load.compare()
    if server.stop() != 0:
        faults.append("SIGTERM did not end it with 0")
    return faults + server.examine(), load, hit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    print(f"crash: seed {arguments.seed}", flush=True)
    passed = failed = 0
    answers, kills = collections.Counter(), collections.Counter()
    loads, start = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.binary, os.path.join(folder, "data"))
        try:
            world = World(server)
            for number in range(arguments.rounds):
                kind = KINDS[number % len(KINDS)]
                faults, load, hit = one_round(world, server, kind, f"{arguments.seed}/{number}", folder)
                for fault in faults[:10]:
                    print(f"round {number} ({kind}): {fault}", flush=True)
                kills[kind if hit else f"{kind} missed"] += 1
                answers += load.answers
                loads.append(load)
                passed, failed = passed + (not faults), failed + bool(faults)
            # What a later crash broke of an earlier round's would be seen here.
            server.start()
            faults = [fault for load in loads for fault in load.compare()]
            server.stop()
            for fault in faults[:10]:
                print(f"all rounds: {fault}", flush=True)
            passed, failed = passed + (not faults), failed + bool(faults)
        except Unexpected as error:
            print(f"crash: {error}", flush=True)
            failed += 1
        finally:
            server.end()
    counted = collections.Counter()
    for load in loads:
        counted["seats"] += len(load.seats)
        counted["keyed consumptions"] += sum(len(book["keyed"]) for book in load.meters.values())
        counted["trials"] += len(load.trials)
        counted["purchases"] += len(load.purchases)
        counted["refunds"] += sum(entry["state"] == "refunded" for entry in load.purchases.values())
    print(
        f"crash: {answers[200]} writes acknowledged, {answers['none']} without answer, {answers[503]} times 503; "
        + ", ".join(f"{count} {name}" for name, count in counted.items())
        + "; killed in "
        + ", ".join(f"{name} {count}" for name, count in kills.items())
        + f"; {time.monotonic() - start:.0f} s"
    )
    finish("crash", passed, failed)


main()
