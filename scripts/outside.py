"""What the checks from outside share: a server as a process of its own, a client, and a store that signs purchases.

Everything stays on the loopback interface. `Store` needs the `cryptography` package.
"""

import base64
import collections
import datetime
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID

from standing_still import Wait

UNLIMITED = {
    "COUNTERSIGN_LIMITS_RATE_ADDRESS_PER_MINUTE": "0",
    "COUNTERSIGN_LIMITS_RATE_FIRST_CONTACTS_PER_MINUTE": "0",
    "COUNTERSIGN_LIMITS_RATE_TRIALS_PER_DAY": "0",
    "COUNTERSIGN_LIMITS_RATE_WRONG_KEYS_PER_MINUTE": "0",
    "COUNTERSIGN_LIMITS_RATE_ADMIN_PER_MINUTE": "0",
}


class Server:
    """The binary, a folder, and at most one server in it."""

    def __init__(self, binary, folder, environment=None):
        self.binary, self.folder = os.path.abspath(binary), folder
        self.log_path = folder.rstrip("/") + ".log"
        self.environment = dict(os.environ, COUNTERSIGN_DATA=folder, **UNLIMITED)
        self.extra = environment or {}
        self.process = None

    def run(self, *words, environment=None):
        """A command to its end: exit code, standard output and standard error."""
        done = subprocess.run(
            [self.binary, *words],
            env=dict(self.environment, **(environment or {})),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=600,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def command(self, *words):
        """A command that has to succeed: the object it prints."""
        code, output, error = self.run(*words, "--json")
        if code != 0:
            raise Unexpected(f"countersign {' '.join(words)}: exit {code}: {error.strip()}")
        return json.loads(output)

    def admin(self, *words):
        return self.command("admin", *words)

    def spawn(self):
        """Starts without waiting until it listens."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--listen", "127.0.0.1:0"],
                env=dict(self.environment, **self.extra),
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def start(self):
        self.spawn()
        line = self.process.stdout.readline().decode().strip()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)$", line)
        if not found:
            raise Unexpected(f"the server did not start: {line!r}; {self.last_log()}")
        self.port = int(found[1])

    def log(self):
        """All that it wrote, of all its starts."""
        with open(self.log_path, "rb") as log:
            return log.read().decode(errors="replace").strip()

    def last_log(self):
        """The end of it, for people."""
        return self.log()[-600:]

    def kill(self):
        """SIGKILL: nothing of it runs on."""
        self.process.send_signal(signal.SIGKILL)
        # A slow disk holds a process back until its write is done.
        self.wait(60)

    def stop(self):
        """SIGTERM, as an operator would; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(60)

    def wait(self, seconds):
        code = self.process.wait(timeout=seconds)
        self.process.stdout.close()
        self.process = None
        return code

    def end(self):
        """Whatever happened, nothing is left running."""
        if self.process is not None:
            self.kill()

    def examine(self):
        """What `doctor` and `audit verify` find wrong."""
        code, output, error = self.run("doctor", "--json")
        try:
            said = json.loads(output or error)
            # A disk of a few megabytes is told as an error, too: here only what follows counts.
            checks = {check["check"]: check for check in said.get("error", said)["checks"]}
        except (ValueError, KeyError, TypeError):
            return [f"doctor says nothing: exit {code}: {output} {error}"]
        faults = [
            f"doctor: {name}: {checks.get(name)}"
            for name in ("integrity", "keys", "audit", "migrations")
            if checks.get(name, {}).get("status") != "ok"
        ]
        code, output, error = self.run("admin", "audit", "verify", "--json")
        if code != 0 or not json.loads(output)["audit"]["head"]:
            faults.append(f"audit verify: exit {code}: {output} {error}")
        return faults


class Unexpected(Exception):
    """The check itself cannot go on."""


Answer = collections.namedtuple("Answer", "status headers body wait")


class Client:
    """One keep-alive connection. `None` for a call whose answer never came; the next one connects anew.

    `was_sent` says whether anything of the last call can have reached a server.
    """

    def __init__(self, port, token=None, timeout=30):
        self.port, self.timeout = port, timeout
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self.connection = None

    def call(self, path, body, headers=None):
        start = time.monotonic()
        self.was_sent = False
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
                self.connection.connect()
            self.was_sent = True
            self.connection.request("POST", path, json.dumps(body), dict(self.headers, **(headers or {})))
            answer = self.connection.getresponse()
            text = answer.read()
            if answer.will_close:
                self.close()
            return Answer(answer.status, answer.headers, json.loads(text), Wait(start, time.monotonic() - start))
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def claims(bundle):
    """What a bundle says; its signature is checked elsewhere."""
    payload = bundle.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Store:
    """A root, an intermediate and a leaf like those of the App Store, and what they sign."""

    BUNDLE_ID, APP_ID = "com.example.crash", 1234567890

    def __init__(self):
        root_key = ec.generate_private_key(ec.SECP256R1())
        middle_key = ec.generate_private_key(ec.SECP256R1())
        self.key = ec.generate_private_key(ec.SECP256R1())
        root = self.certificate("Root", root_key, "Root", root_key, None)
        middle = self.certificate("Intermediate", middle_key, "Root", root_key, "1.2.840.113635.100.6.2.1")
        leaf = self.certificate("Leaf", self.key, "Intermediate", middle_key, "1.2.840.113635.100.6.11.1")
        ders = [certificate.public_bytes(serialization.Encoding.DER) for certificate in (leaf, middle, root)]
        self.root_sha256 = root.fingerprint(hashes.SHA256()).hex()
        header = {"alg": "ES256", "x5c": [base64.b64encode(der).decode() for der in ders]}
        self.header = unpadded(json.dumps(header).encode())

    @staticmethod
    def certificate(name, key, issuer, issuer_key, marker):
        def named(text):
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Check " + text)])

        now = datetime.datetime.now(datetime.timezone.utc)
        is_leaf = name == "Leaf"
        usage = dict.fromkeys(
            (
                "content_commitment key_encipherment data_encipherment key_agreement encipher_only decipher_only "
                "digital_signature key_cert_sign crl_sign"
            ).split(),
            False,
        )
        usage.update({"digital_signature": True} if is_leaf else {"key_cert_sign": True, "crl_sign": True})
        builder = (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=30))
            .not_valid_after(now + datetime.timedelta(days=365))
            .add_extension(x509.BasicConstraints(ca=not is_leaf, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        )
        if marker:
            builder = builder.add_extension(
                x509.UnrecognizedExtension(x509.ObjectIdentifier(marker), b"\x05\x00"), critical=False
            )
        return builder.sign(issuer_key, hashes.SHA256())

    def sign(self, payload):
        signed = self.header + "." + unpadded(json.dumps(payload).encode())
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return signed + "." + unpadded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def transaction(self, number, signed_ms, **more):
        return self.sign(
            {
                "transactionId": number,
                "originalTransactionId": number,
                "bundleId": self.BUNDLE_ID,
                "productId": "unlock",
                "purchaseDate": signed_ms - 60_000,
                "originalPurchaseDate": signed_ms - 60_000,
                "quantity": 1,
                "type": "Non-Consumable",
                "inAppOwnershipType": "PURCHASED",
                "signedDate": signed_ms,
                "environment": "Production",
                **more,
            }
        )

    def notification(self, kind, uuid, signed_ms, transaction):
        return self.sign(
            {
                "notificationType": kind,
                "notificationUUID": uuid,
                "version": "2.0",
                "signedDate": signed_ms,
                "data": {
                    "bundleId": self.BUNDLE_ID,
                    "appAppleId": self.APP_ID,
                    "environment": "Production",
                    "signedTransactionInfo": transaction,
                },
            }
        )


def finish(name, passed, failed):
    """The closing line and the exit code of a check."""
    print(f"{name}: {passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not passed else 0)
