"""Pastes the blocks of README.md into a shell, as a newcomer would, and runs its recipe in Python.

    check_readme.py BINARY

A comment above a block of `sh` says where it is pasted: `<!-- check: demo -->` beside `countersign serve --demo`,
`<!-- check: own -->` beside a server for a product of one's own, both of them, or `<!-- check: no, WHY -->`.

What a command should print stands below it, as `# → one part … another part`: the parts in their order, with anything
before, between and behind; how many blanks there are does not matter. Every command must end with 0, and every call of `curl` with a status below 400, unless
what it should print has a `"status"` of its own.
"""
import base64
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from datetime import timedelta
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.serialization import load_der_public_key

README = Path(__file__).resolve().parent.parent / "README.md"
WAIT = 60


def fail(text):
    sys.exit(f"README.md: {text}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Block:
    """A fenced block: its language, the words of its mark, its lines and the number of the first."""

    def __init__(self, language, mark, lines, number):
        self.language, self.lines, self.number = language, lines, number
        self.where = set() if mark is None or mark.startswith("no,") else set(mark.split())
        if language == "sh" and mark is None:
            fail(f"line {number}: a block of sh without a mark that says where it is checked")
        if self.where - {"demo", "own", "python"}:
            fail(f"line {number}: the mark '{mark}' is not known")

    def steps(self):
        """Commands with what they should print: (number of the first line, text, parts or None)."""
        lines, first = [], None
        for number, line in enumerate(self.lines, self.number):
            if line.startswith("# → "):
                if not lines:
                    fail(f"line {number}: nothing stands above that could print this")
                yield first, "\n".join(lines), [" ".join(part.split()) for part in line[4:].split("…")]
                lines, first = [], None
            else:
                first = first or number
                lines.append(line)
        if lines:
            yield first, "\n".join(lines), None


def blocks():
    found, language, mark = [], None, None
    for number, line in enumerate(README.read_text(encoding="utf-8").splitlines(), 1):
        if language is None:
            if opening := re.fullmatch(r"```(\w+)", line):
                language, lines, start = opening[1], [], number + 1
            elif comment := re.fullmatch(r"<!-- check: (.+) -->", line):
                mark = comment[1]
            elif line:
                mark = None
        elif line == "```":
            found.append(Block(language, mark, lines, start))
            language = mark = None
        else:
            lines.append(line)
    return found


class Folder:
    """A place of work with its own program on the PATH, data, ports and running servers."""

    def __init__(self, root, name, binary):
        self.path = Path(root, name)
        (self.path / "bin").mkdir(parents=True)
        (self.path / "bin" / "countersign").symlink_to(binary)
        self.ports = {port: free_port() for port in (8080, 8081)}
        self.servers = []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
        self.environment["PATH"] = f"{self.path}/bin:{os.environ['PATH']}"

    def moved(self, text):
        """The text with ports that are free on this machine."""
        return re.sub(r"127\.0\.0\.1:(808[01])\b", lambda match: f"127.0.0.1:{self.ports[int(match[1])]}", text)

    def back(self, text):
        for port, moved in self.ports.items():
            text = text.replace(f"127.0.0.1:{moved}", f"127.0.0.1:{port}")
        return text

    def run(self, steps, variables):
        """Pastes the steps into one shell; what each printed is compared."""
        results = self.path / "results"
        results.mkdir(exist_ok=True)
        script = ["set -euo pipefail", "command_curl=$(command -v curl)",
                  'curl() { "$command_curl" --max-time 20 ${fails:+--fail-with-body} "$@"; }']
        script += [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        for index, (_, text, parts) in enumerate(steps):
            status = parts and any('"status":' in part for part in parts)
            script.append(f"fails={'' if status else 1}")
            script.append(f"echo {index} > {results}/step")
            text = self.moved(text)
            # A server that is started in the background is waited for, so that the next call finds it.
            text = re.sub(r"(?m)^(countersign serve .*) &$", rf"\1 > {results}/serve 2> {results}/serve.log & "
                          rf"echo $! > {results}/pid; for _ in $(seq 600); do grep -q ^listening {results}/serve && "
                          r"break; sleep 0.1; done", text)
            script.append(f"{{\n{text}\n}} > {results}/{index}.out 2> {results}/{index}.err")
        understood = subprocess.run(["bash", "-n", "-c", "\n".join(script)], capture_output=True, text=True, check=False)
        if understood.returncode != 0:
            fail(f"a shell does not understand the blocks of {self.path.name}: {understood.stderr}")
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=self.path, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=300, check=False)
        if (results / "pid").exists():
            self.servers.append(int((results / "pid").read_text()))
        reached = int((results / "step").read_text())
        for index, (number, text, parts) in enumerate(steps[:reached + 1]):
            out = self.back((results / f"{index}.out").read_text(encoding="utf-8"))
            error = (results / f"{index}.err").read_text(encoding="utf-8")
            if index == reached and done.returncode != 0:
                fail(f"line {number} ends with {done.returncode} in {self.path.name}:\n{text}\n{out}{error}{done.stderr}")
            at, words = 0, " ".join(out.split())
            for part in parts or []:
                found = words.find(part, at)
                if found < 0:
                    fail(f"line {number}: '{part}' is not printed in {self.path.name}:\n{text}\n{out}{error}")
                at = found + len(part)
        if done.returncode != 0:
            fail(f"{self.path.name}: {done.stderr}")

    def serve_demo(self):
        """Starts the demonstration; answers what it printed once it listens."""
        log = self.path / "demo"
        port = self.ports[8080]
        with log.open("w") as out, (self.path / "demo.log").open("w") as error:
            server = subprocess.Popen(["countersign", "serve", "--demo", "--listen", f"127.0.0.1:{port}"], cwd=self.path,
                                      env=self.environment, stdout=out, stderr=error)
        self.servers.append(server.pid)
        end = time.monotonic() + WAIT
        while not re.search(r"^KEY=.*\n", text := log.read_text(), re.MULTILINE):
            if server.poll() is not None or time.monotonic() > end:
                fail(f"the demonstration does not start: {(self.path / 'demo.log').read_text()}")
            time.sleep(0.05)
        if text.splitlines()[0] != f"listening on http://127.0.0.1:{port}":
            fail(f"the first line of the demonstration is {text.splitlines()[0]}")
        return server, text

    def stop(self):
        for server in self.servers:
            try:
                os.kill(server, 15)
            except ProcessLookupError:
                pass


def check_printed_calls(folder, printed):
    """The calls that the demonstration prints, with the real curl, twice."""
    calls = [line for line in printed.splitlines() if line.startswith("curl ")]
    if len(calls) < 3 or not all(any(route in call for call in calls) for route in ("/activate", "/trial", "/meters/")):
        fail(f"the demonstration prints {len(calls)} calls, which show too little:\n{printed}")
    for call in calls * 2:
        done = subprocess.run(["bash", "-c", call.replace("curl -s", "curl -sS --fail-with-body --max-time 20", 1)],
                              env=folder.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 or '"bundle":"' not in done.stdout and '"allowed":true' not in done.stdout:
            fail(f"a printed call fails:\n{call}\n{done.stdout}{done.stderr}")
    return len(calls)


def check_recipe(block, folder, port, variables):
    """The recipe in Python: every spelling of an install id is verified, and anything that was changed is refused."""
    recipe = {}
    exec(compile("\n".join(block.lines), "the recipe of README.md", "exec"), recipe)
    verify = recipe["verify"]
    setup = json.loads(subprocess.run(["countersign", "admin", "product", "setup", "acme/editor", "--json"], check=True,
                                      cwd=folder.path, env=folder.environment, capture_output=True, text=True).stdout)
    setup = setup["setup"]
    pins = {pin["kid"]: pin["spki"] for pin in setup["pins"]}

    def bundle(install, nonce):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/sync", json.dumps({"install_id": install, "nonce": nonce}).encode(),
            {"Authorization": "Bearer " + variables["PK"], "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["bundle"]

    name = str(uuid.uuid4())
    upper, braced = name.upper(), "{" + name.upper() + "}"
    spellings = [upper, braced, name, f"  {upper}\t", "plain-text-Install-0001", "ein Gerät, größer als 16",
                 "{" + name, name + "}", name.replace("-", "")]
    # One copy has three spellings: which of them asked does not matter.
    for asked, install in [*zip(spellings, spellings), (braced, upper), (name, braced), (upper, name)]:
        try:
            verify(bundle(asked, "n-1"), pins, setup["issuer"], "editor", "live", install, "n-1")
        except Exception as error:
            fail(f"the recipe refuses the bundle of {asked!r} as {install!r}: {error}")

    check_clocks(verify, bundle, pins, setup["issuer"])
    good = bundle(upper, "n-3")
    arguments = [good, pins, setup["issuer"], "editor", "live", upper, "n-3"]
    head, payload, signature = good.split(".")
    changed = {"the nonce": (6, "n-4"), "the install": (5, str(uuid.uuid4())), "the mode": (4, "test"),
               "the product": (3, "viewer"), "the issuer": (2, "countersign:other"),
               "a pin": (1, {"other": next(iter(pins.values()))})}
    for index in range(0, len(payload), 7):
        other = "A" if payload[index] != "A" else "B"
        changed[f"symbol {index} of the payload"] = (0, f"{head}.{payload[:index]}{other}{payload[index + 1:]}.{signature}")
    changed["the signature"] = (0, f"{head}.{payload}.{signature[:8]}{'A' if signature[8] != 'A' else 'B'}{signature[9:]}")
    for what, (place, value) in changed.items():
        try:
            verify(*[value if place == index else argument for index, argument in enumerate(arguments)])
        except Exception:  # whatever a library of other people raises
            continue
        fail(f"the recipe accepts a bundle although {what} is another")
    return len(spellings), len(changed)


def check_clocks(verify, bundle, pins, issuer):
    """A fresh bundle is taken whatever the device's clock says."""
    real = jwt.api_jwt.datetime
    for seconds in (-3, -8 * 86_400, 3, 400 * 86_400):
        class Wrong(real):
            @classmethod
            def now(cls, tz=None):
                return real.now(tz) + timedelta(seconds=seconds)

        fresh = bundle("clock-install-0001", "n-2")
        jwt.api_jwt.datetime = Wrong
        try:
            if abs(seconds) > 86_400:
                # Or the clock of this check is not that of the library.
                try:
                    key = load_der_public_key(base64.b64decode(pins[jwt.get_unverified_header(fresh)["kid"]]))
                    jwt.decode(fresh, key, algorithms=["ES256"], issuer=issuer, audience="editor")
                    fail("a clock that is days away is not noticed by what should notice it")
                except (jwt.ImmatureSignatureError, jwt.ExpiredSignatureError):
                    pass
            verify(fresh, pins, issuer, "editor", "live", "clock-install-0001", "n-2")
        except jwt.PyJWTError as error:
            fail(f"the recipe refuses a fresh bundle where the clock is {seconds} s off: {error}")
        finally:
            jwt.api_jwt.datetime = real


def main(binary):
    binary = Path(binary).resolve()
    found = blocks()
    recipes = [block for block in found if "python" in block.where]
    if len(recipes) != 1:
        fail("there is not one recipe in Python")
    with tempfile.TemporaryDirectory() as root:
        demo, own = Folder(root, "demo", binary), Folder(root, "own", binary)
        try:
            demo.environment["COUNTERSIGN_DATA"] = str(demo.path / "demo-data")
            server, printed = demo.serve_demo()
            printed_calls = check_printed_calls(demo, printed)
            given = dict(re.findall(r"^(PK|KEY)=(.+)$", printed, re.MULTILINE))
            steps = [step for block in found if "demo" in block.where for step in block.steps()]
            demo.run(steps, given)
            spellings, changes = check_recipe(recipes[0], demo, demo.ports[8080], given)
            # A second start of what was tried out.
            server.terminate()
            if server.wait(WAIT) != 0:
                fail(f"the demonstration ends with {server.returncode}")
            demo.ports[8080] = free_port()
            _, printed = demo.serve_demo()
            check_printed_calls(demo, printed)

            # The product of one's own comes first there.
            ordered = [block for block in found if block.where == {"own"}]
            ordered += [block for block in found if block.where >= {"own", "demo"}]
            own_steps = [step for block in ordered for step in block.steps()]
            own.environment["COUNTERSIGN_DATA"] = str(own.path / "data")
            own.run(own_steps, {})
        finally:
            demo.stop()
            own.stop()
    print(f"README.md: {len(steps)} steps beside the demonstration and {len(own_steps)} beside a product of one's own; "
          f"{printed_calls} printed calls; the recipe verified {spellings} spellings of install ids and refused "
          f"{changes} changes", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
