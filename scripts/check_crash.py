"""Kills a server with SIGKILL again and again, and compares what it acknowledged with what is there.

Each round has clients that activate, deactivate, count with and without idempotency keys, start trials of both kinds, show
purchases and have some refunded. The server is killed under that load, in a checkpoint, during a backup, together with an
import of licenses, or while it starts; then it is started again and everything it ever acknowledged is looked for. The seed
decides what is killed when; `--rounds 50` takes a few minutes.

With --self-check what a killed server left is then damaged on purpose, in each way that matters: see crash_damages.py.
"""

import argparse
import collections
import os
import random
import subprocess
import tempfile
import time

from crash_damages import self_check
from mixed_load import Load, World
from outside import Server, Unexpected, finish

KINDS = ("load", "checkpoint", "start", "backup", "import")
IMPORTED = 5000
# The log is moved when it has a thousand frames, which so many writes fill several times over. A slow disk takes long for them.
CHECKPOINT_SECONDS, CHECKPOINT_WRITES, LONGEST_SECONDS = 60, 5000, 600


def kill_in_checkpoint(server, load, chance):
    """Right after the database file itself was written to: that is a checkpoint."""
    path = os.path.join(server.folder, "countersign.db")
    time.sleep(chance.uniform(0.05, 0.3))
    written, start, hit, seconds = os.stat(path).st_mtime_ns, time.monotonic(), False, 0
    while not hit and seconds < LONGEST_SECONDS and (
        seconds < CHECKPOINT_SECONDS or load.acknowledged < CHECKPOINT_WRITES
    ):
        hit = os.stat(path).st_mtime_ns != written
        seconds = time.monotonic() - start
    writes = load.acknowledged
    server.kill()
    if hit and seconds > CHECKPOINT_SECONDS:
        print(f"GRANTED: a checkpoint after {seconds:.0f} s, since this disk let only {writes} writes through", flush=True)
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


def kill_in_import(server, chance, table):
    """The server and the command line that imports beside it; whether that was still at work."""
    with open(table, "w") as file:
        file.write("key,plan,customer_email\n")
        for _ in range(IMPORTED):
            name = f"{chance.getrandbits(96):X}"
            file.write(f"SOLD-{name},pro,{name.lower()}@example.com\n")
    importer = subprocess.Popen(
        [server.binary, *import_of(table)], env=server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    # It writes two thousand licenses at a time: the moment is drawn from before the first to after the last.
    time.sleep(chance.uniform(0.05, 0.8))
    is_hit = importer.poll() is None
    importer.kill()
    server.kill()
    importer.wait(60)
    return is_hit


def import_of(table):
    return "admin", "license", "import", table, "--product", "crash/first", "--json"


def finish_import(server, table):
    """What is wrong with an import that goes on after it was killed."""
    again, dry = server.command(*import_of(table)), server.command(*import_of(table), "--dry-run")
    done = again["import"]
    faults = []
    # Nothing twice, and of two thousand at a time all or none.
    if done["imported"] + done["unchanged"] != IMPORTED or done["unchanged"] not in (0, 2000, 4000, IMPORTED):
        faults.append(f"the import that was killed goes on with {done}")
    if dry["import"]["unchanged"] != IMPORTED:
        faults.append(f"after the import a dry run says {dry}")
    return faults


def one_round(world, server, kind, seed, folder):
    """Faults, the load with its books, and whether the kill met what it was meant to."""
    chance = random.Random(seed)
    server.start()
    load = Load(world, server, seed).start()
    faults, hit, table = [], True, os.path.join(folder, "licenses.csv")
    time.sleep(chance.uniform(0.05, 0.9))
    if kind == "checkpoint":
        hit = kill_in_checkpoint(server, load, chance)
    elif kind == "start":
        hit = kill_while_starting(server, chance)
    elif kind == "backup":
        hit, faults = kill_in_backup(server, chance, folder)
    elif kind == "import":
        hit = kill_in_import(server, chance, table)
    else:
        server.kill()
    load.stop()
    faults += load.faults
    load.faults = []
    server.start()
    faults += load.compare()
    if kind == "import":
        faults += finish_import(server, table)
    if server.stop() != 0:
        faults.append("SIGTERM did not end it with 0")
    return faults + server.examine(), load, hit


def judge(arguments, folder):
    """Whether each deliberate damage was told as it should be."""
    outcomes, start = [], time.monotonic()

    def report(name, holds, words):
        outcomes.append(holds)
        print(f"self-check: {name}: {'ok' if holds else 'FAULT'}: {words}", flush=True)

    try:
        self_check(arguments.binary, os.path.join(folder, "self-check"), arguments.seed, report)
    except Unexpected as error:
        report("itself", False, error)
    wrong, seconds = outcomes.count(False), time.monotonic() - start
    print(f"self-check: {len(outcomes)} stores, {wrong} not as they should be; {seconds:.0f} s", flush=True)
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--self-check", action="store_true", help="damage a store on purpose, too, and see it told")
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
                kills[kind if hit else f"{kind} missed"] += 1
                if kind == "checkpoint" and not hit:
                    faults.append(f"no checkpoint in {load.acknowledged} acknowledged writes")
                for fault in faults[:10]:
                    print(f"round {number} ({kind}): {fault}", flush=True)
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
        seconds = time.monotonic() - start
        if arguments.self_check:
            outcomes = judge(arguments, folder)
            passed, failed = passed + sum(outcomes), failed + outcomes.count(False)
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
        + f"; {seconds:.0f} s"
    )
    finish("crash", passed, failed)


main()
