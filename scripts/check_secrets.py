"""Plants secrets in a server, uses and misuses them in every way an app, an administrator or an attacker would, and
then searches all that the run wrote: answers, log, metrics, process list, core files, database, WAL, backup, and what the
command line prints of it. It also looks at file modes, and at starts with a master key that is not as it should be.

Standard library only; everything stays on the loopback interface.
"""

import base64
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile

failures = []
checks = 0


def check(holds, words):
    global checks
    checks += 1
    if not holds:
        failures.append(words)
        print(f"FAILED: {words}", file=sys.stderr)


def forms(secret):
    """How a secret may be written: as it is, without separators, in other case, in base 64 and hexadecimal."""
    texts = {secret, secret.lower(), secret.upper()}
    texts |= {re.sub(r"[^0-9A-Za-z]", "", text) for text in set(texts)}
    # A key without its prefix is as good as the key.
    if re.fullmatch(r"[A-Z0-9]{2,8}(-TEST)?(-[0-9A-Z]{4}){4}", secret):
        random_part = secret[-19:]
        texts |= {random_part, random_part.replace("-", ""), random_part.lower(), random_part.replace("-", "").lower()}
    found = {text.encode() for text in texts}
    raw = secret.encode()
    # Base 64 of a longer text holds one of these three, whatever stands before the secret.
    for lead in range(3):
        code = base64.b64encode(b"\0" * lead + raw)
        found.add(code[4 if lead else 0 : len(code) // 4 * 4 - 4])
    found.add(raw.hex().encode())
    return {text for text in found if len(text) >= 12}


def secrets_in(content, secrets):
    """The names of the secrets that something holds, in whatever case: a text that was changed on its way is no less one."""
    lower = content.lower()
    return {name for name, secret in secrets.items() if any(form.lower() in lower for form in forms(secret))}


def check_sight(secrets):
    """A search that finds nothing must be able to find something, and not everything everywhere."""
    ways = {
        "in other case": lambda raw: raw.swapcase(),
        "without its separators": lambda raw: bytes(byte for byte in raw if chr(byte).isalnum()),
        "in hexadecimal": lambda raw: raw.hex().encode(),
        # At each of the three places where base 64 begins anew.
        "in base 64": lambda raw: base64.b64encode(b"{{{" + raw + b"}"),
        "in base 64, a byte on": lambda raw: base64.b64encode(b"{{{{" + raw + b"}"),
        "in base 64, two bytes on": lambda raw: base64.b64encode(b"{{{{{" + raw + b"}"),
    }
    for name, secret in secrets.items():
        for way, written in ways.items():
            content = b"\0" * 5 + written(secret.encode()) + b"\0" * 5
            check(name in secrets_in(content, secrets), f"the search does not see {name} {way}")
    check(not secrets_in(base64.b64encode(bytes(range(256))) * 3, secrets), "the search sees secrets where none are")


def allow_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)


def core_files(folder, pid):
    """Core files of a process that had `folder` as its own: there, or where the system puts all of them."""
    places = [folder]
    with contextlib.suppress(OSError):
        places.append(os.path.dirname(open("/proc/sys/kernel/core_pattern").read().strip()))
    found = [
        os.path.join(place, name) for place in places if os.path.isabs(place) and os.path.isdir(place)
        for name in os.listdir(place) if name.startswith("core") or str(pid) in name
    ]  # fmt: skip
    return [path for path in found if os.path.isfile(path)]


def core_files_are_seen(folder):
    """Whether a program that forbids nothing leaves one that would be found: else to find none says nothing."""
    os.makedirs(folder)
    victim = subprocess.Popen(
        ["/bin/sh", "-c", "kill -ABRT $$"], cwd=folder, preexec_fn=allow_core_files, stderr=subprocess.DEVNULL
    )
    victim.wait()
    found = core_files(folder, victim.pid)
    for path in found:
        os.unlink(path)
    return bool(found)


class Server:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.data = os.path.join(folder, "data")
        self.log_path = os.path.join(folder, "server.log")
        self.environment = dict(
            os.environ, COUNTERSIGN_DATA=self.data, COUNTERSIGN_LOG_LEVEL="debug"
        )

    def command(self, *words, code=0, text=None):
        done = subprocess.run(
            [self.binary, *words], env=self.environment, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if code is not None and done.returncode != code:
            sys.exit(f"countersign {' '.join(words[:4])}: {done.returncode}: {done.stderr}")
        self.said += done.stderr
        return done.stdout

    said = ""

    def admin(self, *words):
        return json.loads(self.command("admin", *words, "--json"))

    def start(self, log_format="json"):
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", "127.0.0.1:0"],
            env=dict(
                self.environment, COUNTERSIGN_METRICS_LISTEN="127.0.0.1:0", COUNTERSIGN_LOG_FORMAT=log_format
            ),
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=self.folder,
            preexec_fn=allow_core_files,
        )
        line = self.process.stdout.readline().decode()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)$", line.strip())
        if not found:
            sys.exit(f"the server did not start: {line!r}")
        self.port = int(found[1])
        line = self.process.stdout.readline().decode()
        found = re.match(r"metrics on http://127\.0\.0\.1:(\d+)/metrics$", line.strip())
        if not found:
            sys.exit(f"the server does not say where its metrics are: {line!r}")
        self.metrics_port = int(found[1])

    def call(self, method, path, body=None, headers=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        if isinstance(body, dict):
            body = json.dumps(body)
            headers = {"Content-Type": "application/json", **(headers or {})}
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, str(answer.headers)


def use(server, secrets):
    """Every way in which a secret comes by; the bodies of refusals are kept to be searched."""
    refusals = []
    app, test = {"Authorization": f"Bearer {secrets['pk']}"}, {"X-API-Key": secrets["pk_test"]}
    owner = {"Authorization": f"Bearer {secrets['sk']}"}
    unknown_key, wrong_token = secrets["unknown key"], secrets["wrong token"]

    def post(path, body, headers=app, wanted=None):
        status, text, _ = server.call("POST", path, body, headers)
        if wanted and status != wanted:
            sys.exit(f"{path} answered {status}: {text}")
        if status >= 400:
            refusals.append((path, text))
        return json.loads(text)

    installs = [secrets["install id"], secrets["install uuid"]]
    for install in installs:
        base = {"install_id": install, "fingerprint": secrets["fingerprint"], "nonce": "n"}
        trial = post("/v1/trial", base, wanted=200)
        # Told to the install that started it alone.
        secrets.setdefault("trial token", trial.get("trial_token"))
        for key in (secrets["license key"], secrets["license key not kept"]):
            post("/v1/activate", {**base, "license_key": key}, wanted=200)
            post("/v1/validate", {**base, "license_key": key.replace("-", " ").lower()}, wanted=200)
            post("/v1/heartbeat", {**base, "license_key": key})
            post("/v1/seats", {**base, "license_key": key})
        post(
            "/v1/meters/consume",
            {**base, "meter": "run", "idempotency_key": secrets["idempotency key"], "license_key": secrets["license key"]},
            wanted=200,
        )
        post("/v1/sync", base, wanted=200)
        post("/v1/validate", {**base, "license_key": unknown_key})
        # A mistyped key of this product: told as malformed.
        post("/v1/activate", {**base, "license_key": secrets["license key"][:-1] + "U"})
        post("/v1/activate", {**base, "license_key": secrets["license key"], "replace": secrets["install id"]})
        post("/v1/store/verify", {**base, "store": "apple", "signed_transaction": secrets["license key"]})
        post("/v1/activate", {**base, "license_key": [secrets["license key"]]})
        post("/v1/activate", {secrets["license key"]: secrets["install id"]})
        post("/v1/deactivate", {**base, "license_key": unknown_key})
    post("/v1/activate", {"license_key": secrets["test key"], "install_id": installs[0]}, test, wanted=200)
    post("/v1/admin/licenses", {"product": "vault/app", "plan": secrets["license key"]}, owner)
    post(f"/v1/admin/licenses/{secrets['license key']}/suspend", {"reason": ""}, owner)
    # Secrets where they do not belong: broken JSON, paths, queries, headers, credentials of another kind.
    broken = '{"license_key":"%s","install_id":"%s"' % (secrets["license key"], secrets["install id"])
    wrong = {"Content-Type": "application/json", **app}
    for method, path, body, headers in [
        ("POST", "/v1/activate", broken, wrong),
        ("POST", "/v1/activate", broken + ',"a":"\\ud800"}', wrong),
        ("POST", "/v1/activate", broken + "}", {"Content-Type": "text/" + secrets["license key"], **app}),
        ("GET", f"/v1/licenses/{secrets['license key']}", None, app),
        ("GET", f"/v1/config?install_id={secrets['install id']}&key={secrets['license key']}", None, app),
        ("GET", f"/v1/keys?token={secrets['sk']}", None, None),
        ("DELETE", f"/v1/activate?{secrets['install uuid']}", None, app),
        ("GET", f"/v1/config", None, {"Authorization": f"Bearer {wrong_token}"}),
        ("GET", f"/v1/config", None, {"Authorization": f"Basic {secrets['pk']}"}),
        ("GET", f"/v1/config", None, {"Authorization": f"Bearer {secrets['sk']}"}),
        ("GET", f"/v1/config", None, {"Authorization": f"Bearer {secrets['pk']}", "X-API-Key": secrets["pk_test"]}),
        ("GET", f"/v1/config", None, {**app, "Cookie": secrets["license key"], "Referer": secrets["install id"]}),
        ("GET", f"/v1/config", None, {**app, "X-Request-Id": "a b " + secrets["license key"]}),
        ("GET", f"/v1/admin/licenses?customer_email=x&cursor={secrets['license key']}", None, owner),
        ("GET", f"/v1/admin/licenses/{secrets['license key not kept']}", None, {"Authorization": f"Bearer {secrets['pk']}"}),
    ]:
        status, text, headers = server.call(method, path, body, headers)
        if status >= 400:
            refusals.append((path.split("?")[0], text + headers))
    return refusals


def modes_of(*paths):
    """The mode of each path and of all below it."""
    modes = {}
    for path in paths:
        modes[path] = os.lstat(path).st_mode
        for root, folders, files in os.walk(path):
            for name in files + folders:
                modes[os.path.join(root, name)] = os.lstat(os.path.join(root, name)).st_mode
    return modes


def check_modes(modes, folder):
    for path, mode in modes.items():
        if not stat.S_ISSOCK(mode):
            check(stat.S_IMODE(mode) & 0o077 == 0, f"{os.path.relpath(path, folder)} has mode {stat.S_IMODE(mode):o}")


def check_master_keys(server, master_key):
    """A start with a master key that others may read, with another one, or with none is refused, and tells no key."""
    path = os.path.join(server.data, "master.key")

    def refused(words):
        done = subprocess.run(
            ["timeout", "60", server.binary, "serve", "--listen", "127.0.0.1:0"],
            env=server.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        check(done.returncode == 1, f"a start with {words} ends with {done.returncode}")
        check(b"master.key" in done.stderr, f"a start with {words} does not say why: {done.stderr}")
        server.said += done.stderr.decode() + done.stdout.decode()

    os.chmod(path, 0o640)
    refused("a master key that others may read")
    os.unlink(path)
    refused("no master key")
    check(not os.path.exists(path), "a start without the master key made another")
    # As long as the right one, and a good one: only its first symbols are others.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(master_key[5:10] + master_key[:5] + master_key[10:])
    refused("another master key")
    with open(path, "wb") as file:
        file.write(master_key)


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, folder)
        os.umask(0o022)
        server.admin("vendor", "create", "--slug", "vault", "--name", "Vault")
        server.admin("product", "create", "--vendor", "vault", "--slug", "app", "--name", "App", "--key-prefix", "VLT")
        server.admin("feature", "create", "--product", "vault/app", "--code", "pro", "--name", "Pro")
        server.admin("plan", "create", "--product", "vault/app", "--code", "pro", "--features", "pro")
        server.admin("meter", "create", "--product", "vault/app", "--name", "run", "--limit", "100", "--period", "day", "--scope", "install")
        server.admin("product", "set", "vault/app", "trial_duration=P14D", "trial_plan=pro", "trial_start=explicit")

        def token(kind, mode, *place):
            return server.admin("credential", "create", *place, "--kind", kind, *mode)["credential"]["token"]

        def issue(*more):
            return server.admin("license", "issue", "--product", "vault/app", "--plan", "pro", *more)["licenses"][0]

        kept = issue("--customer-email", "planted.person@example.com", "--customer-name", "Planted Person")
        server.admin("product", "set", "vault/app", "keep_license_keys=false")
        not_kept, replaced = issue(), issue()
        product = ("--product", "vault/app")
        master = os.path.join(server.data, "master.key")
        master_key = open(master, "rb").read()
        secrets = {
            "pk": token("pk", (), *product),
            "pk_test": token("pk", ("--mode", "test"), *product),
            "sk": token("sk", (), *product),
            "ul": token("ul", (), "--vendor", "vault"),
            "license key": kept["key"],
            "license key not kept": not_kept["key"],
            "license key replaced": replaced["key"],
            "license key new": server.admin("license", "reissue", replaced["id"], "--reason", "planted")["license"]["key"],
            "test key": issue("--mode", "test")["key"],
            "unknown key": "VLT-0000-1111-2222-3333",
            "wrong token": "pk_live_" + "q" * 43,
            "install id": "planted-install-id-4711-abcdef",
            "install uuid": "6f1e0c52-8f0a-4d0b-9a53-1b0c2a7d4e99",
            "fingerprint": "planted-fingerprint-0815-xyz",
            "idempotency key": "planted-idempotency-1234567890",
        }
        server.start()
        refusals = use(server, secrets)
        command_line = open(f"/proc/{server.process.pid}/cmdline", "rb").read() if os.path.isdir("/proc/self") else b""
        metrics = server.call("GET", "/metrics", port=server.metrics_port)[1]
        check("countersign_" in metrics, "there are no metrics to search")
        backup, exported = os.path.join(folder, "backup.db"), os.path.join(folder, "exported.key")
        server.command("backup", backup)
        server.command("admin", "master-key", "export", exported)
        server.command("admin", "license", "show", secrets["unknown key"], code=1)
        server.command("admin", "license", "suspend", secrets["license key"], code=2)
        server.command("bundle", "verify", secrets["license key"], "--spki", "x", "--issuer", "i", "--audience", "a", code=None)
        printed = {
            "audit log": server.command("admin", "audit", "list", "--vendor", "vault", "--limit", "1000", "--json"),
            "export of licenses": server.command("admin", "license", "export", "--product", "vault/app"),
            "installs": server.command("admin", "install", "list", "--product", "vault/app", "--json"),
            "credentials": server.command("admin", "credential", "list", "--vendor", "vault", "--json"),
            "doctor": server.command("doctor", "--json", code=None),
            "configuration": server.command("serve", "--print-config"),
        }
        modes = modes_of(server.data, backup, exported)
        limits = open(f"/proc/{server.process.pid}/limits").read() if command_line else ""
        # What a crash leaves, with all that the run wrote still in the WAL.
        server.process.send_signal(signal.SIGABRT)
        server.process.wait()
        server.process.stdout.close()
        server.log.close()
        cores = core_files(folder, server.process.pid) + core_files(server.data, server.process.pid)

        check(not cores, f"a core file was written: {cores}")
        if not core_files_are_seen(os.path.join(folder, "victim")):
            print("!! NOT CHECKED: core files, since no program leaves any where this check would find it", file=sys.stderr)
        if command_line:
            check(re.search(r"Max core file size +0 +0 ", limits), "the server may write core files by its limits")
            check(b"serve" in command_line, "the process list does not show the server")
        check_modes(modes, folder)
        places = {"log": open(server.log_path, "rb").read(), "process list": command_line, "metrics": metrics.encode()}
        check(len(refusals) > 20, f"only {len(refusals)} refusals were searched")
        for path, text in refusals:
            places[f"refusal of {path}"] = text.encode()
        files = {}
        for path in modes:
            if os.path.isfile(path) and path not in (exported, master):
                files[f"file {os.path.relpath(path, folder)}"] = open(path, "rb").read()
        check(any(name.endswith("-wal") and content for name, content in files.items()), "there was no WAL to search")
        check(b"vault" in files["file backup.db"], "the backup has nothing of the store in it")
        # After the crash: starts that are to fail, the backup in place of the store, a log as text, and an orderly end.
        check_master_keys(server, master_key)
        server.command("restore", backup)
        server.log_path = os.path.join(folder, "text.log")
        server.start(log_format="text")
        for path, text in use(server, secrets):
            places[f"refusal of {path} after the restore"] = text.encode()
        server.process.send_signal(signal.SIGTERM)
        check(server.process.wait(30) == 0, "SIGTERM did not end it with 0")
        server.process.stdout.close()
        server.log.close()
        check_modes(modes_of(server.data), folder)
        places["log as text"] = open(server.log_path, "rb").read()
        check(len(places["log as text"].splitlines()) > 20, "the log as text is too short to say anything")
        places["messages of the command line"] = server.said.encode()
        # What the command line prints may name customers, and nothing else.
        files |= {name: text.encode() for name, text in printed.items()}
        check(len(places["log"].splitlines()) > 20, "the log is too short to say anything")
        for place, content in {**places, **files}.items():
            found = secrets_in(content, secrets)
            for name in secrets:
                check(name not in found, f"{name} in {place}")
            for form in (master_key.strip(), master_key.strip().hex().encode(), base64.b64encode(master_key.strip())):
                check(form not in content, f"the master key in {place}")
        for place, content in places.items():
            for person in (b"planted.person@example.com", b"Planted Person"):
                check(person.lower() not in content.lower(), f"a customer's {person.decode()} in {place}")
        check_sight(secrets)
        lines = places["log"].decode().splitlines()
        check(all(json.loads(line) for line in lines), "the log has a line that is no JSON object")
    print(f"secrets: {checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
