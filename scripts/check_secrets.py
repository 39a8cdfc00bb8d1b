"""Plants secrets in a server, uses and misuses them in every way an app, an administrator or an attacker would, and
then searches all that the run wrote: answers, log, metrics, process list, core files, database, WAL and backup.

Standard library only; everything stays on the loopback interface.
"""

import base64
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


class Server:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.data = os.path.join(folder, "data")
        self.log_path = os.path.join(folder, "server.log")
        self.environment = dict(
            os.environ, COUNTERSIGN_DATA=self.data, COUNTERSIGN_LOG_LEVEL="debug", COUNTERSIGN_LOG_FORMAT="json"
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

    def start(self):
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", "127.0.0.1:0"],
            env=dict(self.environment, COUNTERSIGN_METRICS_LISTEN="127.0.0.1:0"),
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=self.folder,
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2
            ),
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
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=20)
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
        modes = {}
        for root, folders, files in os.walk(server.data):
            for name in files + folders:
                modes[os.path.join(root, name)] = os.lstat(os.path.join(root, name)).st_mode
        modes[server.data] = os.lstat(server.data).st_mode
        modes[backup], modes[exported] = os.lstat(backup).st_mode, os.lstat(exported).st_mode
        # What a crash leaves, with all that the run wrote still in the WAL.
        server.process.send_signal(signal.SIGABRT)
        server.process.wait()
        server.process.stdout.close()
        server.log.close()
        cores = [name for name in os.listdir(folder) + os.listdir(server.data) if name.startswith("core")]

        check(not cores, f"a core file was written: {cores}")
        for path, mode in modes.items():
            if stat.S_ISSOCK(mode):
                continue
            check(stat.S_IMODE(mode) & 0o077 == 0, f"{os.path.relpath(path, folder)} has mode {stat.S_IMODE(mode):o}")
        places = {"log": open(server.log_path, "rb").read(), "process list": command_line, "metrics": metrics.encode()}
        places["messages of the command line"] = server.said.encode()
        for path, text in refusals:
            places[f"refusal of {path}"] = text.encode()
        files = {}
        for path in modes:
            if os.path.isfile(path) and path not in (exported, master):
                files[f"file {os.path.relpath(path, folder)}"] = open(path, "rb").read()
        check(any(name.endswith("-wal") and content for name, content in files.items()), "there was no WAL to search")
        check(len(places["log"].splitlines()) > 20, "the log is too short to say anything")
        for place, content in {**places, **files}.items():
            for name, secret in secrets.items():
                hit = [form for form in forms(secret) if form in content]
                check(not hit, f"{name} in {place}")
            for form in (master_key.strip(), master_key.strip().hex().encode(), base64.b64encode(master_key.strip())):
                check(form not in content, f"the master key in {place}")
        for place, content in places.items():
            for person in (b"planted.person@example.com", b"Planted Person"):
                check(person.lower() not in content.lower(), f"a customer's {person.decode()} in {place}")
        # A search that finds nothing must be able to find something.
        planted = b"...".join(secret.encode() for secret in secrets.values())
        check(all(any(form in planted for form in forms(secret)) for secret in secrets.values()), "the search is blind")
        lines = places["log"].decode().splitlines()
        check(all(json.loads(line) for line in lines), "the log has a line that is no JSON object")
    print(f"secrets: {checks - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
