"""Clients that write all at once, what they were promised, and whether it was kept.

An answer of 200 is a promise. A call without an answer, or with 503, may have happened or not, but never twice. What an
entry of the books may be after that is written beside each of them; `Load.compare` asks the server and the command
line, and from then on the entry says what they answered.
"""

import collections
import copy
import itertools
import json
import random
import threading
import time
import traceback
import uuid

from outside import Client, Store, claims


def sources(bundle):
    """Where the grants of a bundle come from."""
    return {grant["source"] for grant in claims(bundle)["grants"]}


class World:
    """Two products, one for each way in which trials start, with meters, a license each round, and a store."""

    def __init__(self, server):
        self.store = Store()
        admin = server.admin
        admin("vendor", "create", "--slug", "crash", "--name", "Crash")
        self.tokens = {}
        for product in ("first", "explicit"):
            name = f"crash/{product}"
            admin("product", "create", "--vendor", "crash", "--slug", product, "--name", product)
            admin("feature", "create", "--product", name, "--code", "pro", "--name", "Pro")
            admin("plan", "create", "--product", name, "--code", "pro", "--features", "pro")
            start = "first_contact" if product == "first" else "explicit"
            admin("product", "set", name, "trial_duration=P14D", "trial_plan=pro", f"trial_start={start}")
            made = admin("credential", "create", "--product", name, "--kind", "pk")
            self.tokens[product] = made["credential"]["token"]
        self.token = self.tokens["first"]
        for meter in ("runs", "exports"):
            admin("meter", "create", "--product", "crash/first", "--name", meter)
        connected = admin(
            "store", "connect", "--product", "crash/first", "--store", "apple", "--environment", "Production",
            "--bundle-id", Store.BUNDLE_ID, "--app-apple-id", str(Store.APP_ID),
            "--root-sha256", self.store.root_sha256, "--map", "unlock=pro",
        )  # fmt: skip
        self.notifications = connected["connection"]["notification_path"]

    def license(self, server):
        """A new license: its key and its id."""
        issued = server.admin("license", "issue", "--product", "crash/first", "--plan", "pro")["licenses"][0]
        return issued["key"], issued["id"]


class Load:
    """Writers that go on until they are told to stop, also while the server is gone, and a reader beside them."""

    def __init__(self, world, server, seed, workers=6, pause=0.0, reader=False, kinds=None):
        self.world, self.server, self.pause = world, server, pause
        self.kinds = kinds or ("seat", "seat", "meter", "meter", "trial", "purchase")
        self.key, self.license_id = world.license(server)
        self.seats, self.meters, self.trials, self.purchases = {}, {}, {}, {}
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.answers, self.faults = collections.Counter(), []
        self.waits, self.reads = [], []
        self.failed_reads = 0
        # Where a stranger keeps readers out, too, who asks is refused like who writes.
        self.may_refuse_reads, self.refused_reads = False, 0
        self.refused = []  # of those, the waits of all that were told 503
        self.workers, self.has_reader = workers, reader
        self.threads = [
            threading.Thread(target=self.guard, args=(self.write, random.Random(f"{seed}/{number}"), number), daemon=True)
            for number in range(workers)
        ]
        if reader:
            self.threads.append(threading.Thread(target=self.guard, args=(self.read,), daemon=True))

    def start(self):
        if self.has_reader:
            # The reader's install holds its seat before any trouble begins.
            self.read_install = "reader-" + uuid.uuid4().hex
            got = Client(self.server.port, self.world.token).call(
                "/v1/activate", {"license_key": self.key, "install_id": self.read_install}
            )
            self.seats[self.read_install] = {"state": "held", "activation": got.body["activation"]["id"]}
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)
            if thread.is_alive():
                self.fault("a client still waits for its answer")
        return self

    def guard(self, body, *arguments):
        """A client that stumbles over an answer is a fault, not one client less."""
        try:
            body(*arguments)
        except Exception:
            self.fault(f"an answer that cannot be understood: {traceback.format_exc()}")

    BOOKS = ("seats", "meters", "trials", "purchases")

    def books(self):
        """All entries as they are now; given to `reopen`, they are that again."""
        return copy.deepcopy({name: getattr(self, name) for name in self.BOOKS})

    def reopen(self, books, server):
        """The books of before, to be compared with what another server holds."""
        for name, entries in copy.deepcopy(books).items():
            setattr(self, name, entries)
        self.server, self.faults = server, []

    @property
    def acknowledged(self):
        return self.answers[200]

    def fault(self, text):
        with self.lock:
            if len(self.faults) < 20:
                self.faults.append(text)

    # MARK: Writing

    def call(self, client, path, body, expected=(200,), headers=None):
        """One write: the answer where it is a decision, `None` where nothing is known."""
        if client.port != self.server.port:
            client.close()
            client.port = self.server.port
        got = client.call(path, body, headers)
        with self.lock:
            self.answers["none" if got is None else got.status] += 1
            if got is not None:
                self.waits.append(got.wait)
        if got is None:
            self.stopping.wait(0.02)
            return None
        if got.status == 503:
            self.refuse(path, got)
            return None
        if got.status not in expected:
            self.fault(f"{path} answered {got.status} {got.body}")
            return None
        # Nothing that is asked here may be refused, nor may an answer leave it open.
        if got.body.get("verdict", "granted") != "granted":
            self.fault(f"{path} answered {got.status} with verdict {got.body['verdict']}: {got.body.get('code')}")
        return got.body

    def refuse(self, path, got):
        with self.lock:
            self.refused.append(got.wait)
        wait = got.headers.get("Retry-After", "")
        if not wait.isdigit() or int(wait) < 1:
            self.fault(f"{path} answered 503 with Retry-After {wait!r}")
        if got.body.get("verdict") != "unknown":
            self.fault(f"{path} answered 503 with verdict {got.body.get('verdict')}")
        self.stopping.wait(0.01)

    def write(self, chance, number):
        client = Client(self.server.port, self.world.token)
        other = Client(self.server.port, self.world.tokens["explicit"])
        mine = f"meter-{number}-{uuid.uuid4().hex}"
        # Each meter's count is known exactly: of `unsure` calls any may have been counted.
        self.meters[mine] = {"sure": collections.Counter(), "unsure": [], "keyed": {}}
        while not self.stopping.is_set():
            kind = chance.choice(self.kinds)
            if kind == "seat":
                self.write_seat(client, chance)
            elif kind == "meter":
                self.write_meter(client, chance, mine)
            elif kind == "trial":
                self.write_trial(client, other, chance)
            else:
                self.write_purchase(client, chance)
            if self.pause:
                self.stopping.wait(self.pause)
        client.close()
        other.close()

    def write_seat(self, client, chance):
        install = "seat-" + uuid.uuid4().hex
        entry = self.seats[install] = {"state": "activating"}
        body = {"license_key": self.key, "install_id": install}
        got = self.call(client, "/v1/activate", body)
        if got is None:
            return
        entry.update(state="held", activation=got["activation"]["id"])
        if chance.random() < 0.4:
            entry["state"] = "releasing"
            got = self.call(client, "/v1/deactivate", body)
            if got is not None:
                if not got["released"]:
                    self.fault(f"deactivate of a held seat answered {got}")
                entry["state"] = "released"

    def write_meter(self, client, chance, install):
        book = self.meters[install]
        amounts = collections.Counter({"runs": chance.randint(1, 5)})
        body = {"install_id": install, "meter": "runs", "amount": amounts["runs"]}
        if chance.random() < 0.3:
            amounts["exports"] = chance.randint(1, 5)
            body = {"install_id": install, "meters": [{"meter": m, "amount": a} for m, a in amounts.items()]}
        if chance.random() < 0.5:
            known = [key for key, entry in book["keyed"].items() if entry["facts"]]
            if known and chance.random() < 0.2:
                key = chance.choice(known)
            else:
                key = uuid.uuid4().hex
                book["keyed"][key] = {"body": body, "amounts": amounts, "facts": None}
            self.consume_keyed(client, key, book)
            return
        book["unsure"].append(amounts)
        got = self.call(client, "/v1/meters/consume", body)
        if got is not None or not client.was_sent:
            book["unsure"].pop()
        if got is not None:
            book["sure"] += amounts
            if got["allowed"] is not True:
                self.fault(f"a count without a limit was not allowed: {got}")

    def consume_keyed(self, client, key, book):
        entry = book["keyed"][key]
        got = self.call(client, "/v1/meters/consume", entry["body"], headers={"Idempotency-Key": key})
        if got is None:
            return False
        facts = {name: value for name, value in got.items() if name != "server_time"}
        if facts["allowed"] is not True:
            self.fault(f"a count without a limit was not allowed: {facts}")
        if entry["facts"] not in (None, facts):
            self.fault(f"a repeat with one key told {facts}, before {entry['facts']}")
        entry["facts"] = facts
        return True

    def write_trial(self, client, other, chance):
        product = chance.choice(("first", "explicit"))
        install = "trial-" + uuid.uuid4().hex
        entry = self.trials[product, install] = {"facts": None}
        got = self.call(client if product == "first" else other, "/v1/trial", {"install_id": install, "start": True})
        if got is not None:
            entry["facts"] = (got["started_at"], got["ends_at"], got.get("trial_token"))

    def write_purchase(self, client, chance):
        store, install = self.world.store, "purchase-" + uuid.uuid4().hex
        now = int(time.time() * 1000)
        number = str(chance.getrandbits(56) + 10**17)
        entry = self.purchases[number] = {
            "install": install,
            "jws": store.transaction(number, now - 2000),
            "state": "presenting",
        }
        got = self.verify(client, entry)
        if got is None:
            return
        entry.update(state="owned", purchase=got["purchase"]["id"])
        if chance.random() < 0.5:
            refund = store.transaction(number, now - 1000, revocationDate=now - 1000, revocationReason=0)
            entry["refund"] = store.notification("REFUND", str(uuid.UUID(int=chance.getrandbits(128))), now, refund)
            entry["state"] = "refunding"
            if self.call(client, self.world.notifications, {"signedPayload": entry["refund"]}) is not None:
                entry["state"] = "refunded"

    def verify(self, client, entry, expected=(200,)):
        body = {"install_id": entry["install"], "store": "apple", "signed_transaction": entry["jws"]}
        return self.call(client, "/v1/store/verify", body, expected)

    # MARK: Reading

    def read(self):
        """Asks what needs no write, all the time: it is answered, and never wrongly."""
        client = Client(self.server.port, self.world.token)
        questions = itertools.cycle(
            (
                ("/v1/validate", {"license_key": self.key}),
                ("/v1/sync", {}),
                ("/v1/meters/peek", {"meter": "runs"}),
            )
        )
        for path, body in questions:
            if self.stopping.wait(0.02):
                break
            got = client.call(path, {"install_id": self.read_install, **body})
            if got is None:
                client.port = self.server.port
                self.failed_reads += 1
                continue
            self.reads.append(got.wait)
            if got.status == 503 and self.may_refuse_reads:
                self.refused_reads += 1
                self.refuse(path, got)
            elif got.status != 200 or got.body.get("verdict", "granted") != "granted":
                self.fault(f"{path} answered {got.status} {got.body.get('code')} {got.body.get('verdict')}")
            elif got.body.get("valid", True) is not True or got.body.get("allowed", True) is not True:
                self.fault(f"{path} answered {got.body}")
            elif "bundle" in got.body and "license" not in sources(got.body["bundle"]):
                self.fault(f"{path} answered a bundle that takes the license away: {claims(got.body['bundle'])}")
        client.close()

    # MARK: What came of it

    def compare(self):
        """Every promise is kept, nothing happened twice, and nothing is there that nobody asked for."""
        client = Client(self.server.port, self.world.token)
        other = Client(self.server.port, self.world.tokens["explicit"])
        self.stopping.clear()
        self.compare_seats(client)
        for install, book in self.meters.items():
            self.compare_meters(client, install, book)
        for (product, install), entry in self.trials.items():
            self.compare_trial(client if product == "first" else other, product, install, entry)
        for number, entry in self.purchases.items():
            self.compare_purchase(client, number, entry)
        self.compare_command_line()
        faults, self.faults = self.faults, []
        return faults

    def compare_seats(self, client):
        held = 0
        for install, entry in self.seats.items():
            got = client.call("/v1/validate", {"license_key": self.key, "install_id": install})
            if got is None or got.status != 200:
                self.fault(f"validate of {install}: {got}")
                continue
            seat = got.body.get("activation")
            held += seat is not None
            wanted = {"held": (True,), "released": (False,)}.get(entry["state"], (True, False))
            if (seat is not None) not in wanted:
                self.fault(f"{install}: {entry}, but {got.body['code']}")
            if seat and seat["id"] != entry.setdefault("activation", seat["id"]):
                self.fault(f"{install}: {entry}, but holds {seat['id']}")
            entry["state"] = "held" if seat else "released"
        used = self.server.admin("license", "show", self.license_id)["license"]["seats"]["used"]
        if used != held:
            self.fault(f"{used} seats are used, {held} are known")

    def compare_meters(self, client, install, book):
        for key, entry in book["keyed"].items():
            # Acknowledged or not: after one repeat it is counted, and counted once.
            if not self.consume_keyed(client, key, book):
                self.fault(f"the repeat of a consumption of {install} was not answered")
        keyed = sum((entry["amounts"] for entry in book["keyed"].values()), collections.Counter())
        got = client.call("/v1/meters/peek", {"install_id": install, "meters": ["runs", "exports"]})
        used = {report["meter"]: report["used"] for report in got.body["meters"]}
        possible = [
            book["sure"] + keyed + sum(chosen, collections.Counter())
            for count in range(min(len(book["unsure"]), 12) + 1)
            for chosen in itertools.combinations(book["unsure"][-12:], count)
        ]
        if len(book["unsure"]) > 12:
            most = sum(book["unsure"], book["sure"] + keyed)
            fits = all((book["sure"] + keyed)[m] <= used[m] <= most[m] for m in used)
        else:
            fits = any(all(total[m] == used[m] for m in used) for total in possible)
        if not fits:
            self.fault(f"{install}: used {used}, but {dict(book['sure'] + keyed)} and perhaps {book['unsure']}")
        book["sure"], book["unsure"] = collections.Counter(used) - keyed, []
        for key, entry in itertools.islice(book["keyed"].items(), 1):
            body = {"install_id": install, "meter": "runs", "amount": 999_999}
            got = client.call("/v1/meters/consume", body, {"Idempotency-Key": key})
            if got is None or got.status != 409 or got.body["code"] != "IDEMPOTENCY_CONFLICT":
                self.fault(f"one key with another body: {got}")

    def compare_trial(self, client, product, install, entry):
        known = entry["facts"]
        got = client.call("/v1/trial", {"install_id": install, "start": False})
        if got is None or got.status != 200:
            self.fault(f"trial of {install}: {got}")
            return
        facts = (got.body["started_at"], got.body["ends_at"], got.body.get("trial_token"))
        if known is not None and facts != known:
            self.fault(f"trial of {install} of {product}: {facts}, before {known}")
        if facts[0] is not None:
            entry["facts"] = facts

    def compare_purchase(self, client, number, entry):
        # Who presents a purchase again would make a lost one anew: its install is asked first.
        got = client.call("/v1/sync", {"install_id": entry["install"]})
        if got is None or got.status != 200:
            self.fault(f"sync of {entry['install']}: {got}")
            return
        granted = {grant["ref"] for grant in claims(got.body["bundle"])["grants"] if grant["source"] == "store"}
        wanted = {"owned": (True,), "refunded": (False,)}.get(entry["state"], (True, False))
        if bool(granted) not in wanted:
            self.fault(f"purchase {number} is {entry['state']}, but its install has {granted}")
        # The copy from before the refund, shown again: it gives nothing back.
        got = client.call(
            "/v1/store/verify",
            {"install_id": entry["install"], "store": "apple", "signed_transaction": entry["jws"]},
        )
        state = {200: "owned", 402: "refunded"}.get(got.status if got else None)
        wanted = {"owned": ("owned",), "presenting": ("owned",), "refunded": ("refunded",)}.get(
            entry["state"], ("owned", "refunded")
        )
        if state not in wanted:
            self.fault(f"purchase {number} is {state}, wanted {wanted}: {got}")
            return
        if state == "refunded" and got.body["code"] != "PURCHASE_REVOKED":
            self.fault(f"purchase {number}: {got.body['code']}")
        name = got.body["purchase"]["id"]
        if name != entry.setdefault("purchase", name) or not granted <= {name}:
            self.fault(f"purchase {number} is {name}, before {entry['purchase']} and {granted}")
        if ("store" in sources(got.body["bundle"])) != (state == "owned"):
            self.fault(f"purchase {number} is {state}, but the bundle says {claims(got.body['bundle'])}")
        if state == "refunded" and "refund" in entry:
            again = client.call(self.world.notifications, {"signedPayload": entry["refund"]})
            if again is None or again.status != 200:
                self.fault(f"a notification that came again: {again}")
        entry["state"] = state

    def compare_command_line(self):
        """A few of each by the command line, and the purchases as a whole."""
        admin = self.server.admin
        for install, book in itertools.islice(self.meters.items(), 2):
            if not book["sure"] and not book["keyed"]:
                continue
            shown = admin("meter", "show", "--product", "crash/first", "--meter", "runs", "--install-id", install)
            used = (shown["meter"].get("usage") or shown.get("usage") or {}).get("used")
            total = book["sure"]["runs"] + sum(entry["amounts"]["runs"] for entry in book["keyed"].values())
            if used != total:
                self.fault(f"meter show says {json.dumps(shown)}, wanted {total}")
        for (product, install), entry in itertools.islice(self.trials.items(), 3):
            if entry["facts"] is None:
                continue
            shown = admin("trial", "show", "--product", f"crash/{product}", "--install-id", install)["trial"]
            if shown["started_at"] != entry["facts"][0]:
                self.fault(f"trial show says {shown}, wanted {entry['facts']}")
        states = collections.defaultdict(list)
        for purchase in self.listed("purchases", "store", "purchases", "--product", "crash/first"):
            states[purchase["original_transaction_id"]].append(purchase)
        refunds = collections.Counter(
            entry["target"]
            for entry in self.listed("entries", "audit", "list", "--vendor", "crash")
            if entry["action"] == "store.notification"
        )
        for number, entry in self.purchases.items():
            rows = states.get(number, [])
            is_refunded = [row.get("revoked_at") is not None for row in rows]
            if is_refunded != [entry["state"] == "refunded"]:
                self.fault(f"purchase {number} is {entry['state']}, but the list says {rows}")
            elif refunds[rows[0]["id"]] != is_refunded[0]:
                self.fault(f"the audit log tells {refunds[rows[0]['id']]} refunds of purchase {number}: {rows}")

    def listed(self, member, *words):
        """All of a list of the command line, where there is anything to compare it with."""
        cursor = None
        while self.purchases:
            more = ["--cursor", cursor] if cursor else []
            page = self.server.admin(*words, "--limit", "1000", *more)
            yield from page[member]
            cursor = page["next"]
            if cursor is None:
                break
