"""Verifies bundles offline with PyJWT, with the `cryptography` package and with OpenSSL's command line.

    check_bundles.py BINARY PORT      (COUNTERSIGN_DATA names the server's folder)

What is checked is what the documentation promises a verifier: ES256 with 64 bytes of signature, the key named by
its RFC 7638 thumbprint, and the claims about issuer, product, install and nonce. One changed bit must be refused.
"""
import base64
import hashlib
import http.client
import json
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jwt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

BUNDLES = 3000
BY_COMMAND_LINE = 20


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def admin(binary, *arguments):
    done = subprocess.run([binary, "admin", *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"admin {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def thumbprint(jwk):
    members = {name: jwk[name] for name in ("crv", "kty", "x", "y")}
    return encoded(hashlib.sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest())


def main(binary, port):
    admin(binary, "vendor", "create", "--slug", "check", "--name", "Check")
    admin(binary, "product", "create", "--vendor", "check", "--slug", "app", "--name", "App")
    admin(binary, "feature", "create", "--product", "check/app", "--code", "pro", "--name", "Pro")
    admin(binary, "plan", "create", "--product", "check/app", "--code", "pro", "--features", "pro", "--seats", "1")
    key = admin(binary, "license", "issue", "--product", "check/app", "--plan", "pro")["licenses"][0]["key"]
    token = admin(binary, "credential", "create", "--product", "check/app", "--kind", "pk")["credential"]["token"]
    keys = {k["kid"]: k for k in admin(binary, "keys", "list", "--vendor", "check")["keys"] if k["mode"] == "live"}
    for kid, entry in keys.items():
        assert thumbprint(entry["jwk"]) == kid, f"{kid} is not the thumbprint of its key"

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    install = secrets.token_hex(16)

    def post(path, body):
        connection.request("POST", path, json.dumps(body),
                           {"Content-Type": "application/json", "Authorization": "Bearer " + token})
        response = connection.getresponse()
        text = response.read()
        assert response.status == 200, (path, response.status, text)
        return json.loads(text)

    post("/v1/activate", {"license_key": key, "install_id": install})
    tokens = []
    for number in range(BUNDLES):
        nonce = f"n{number:06d}" + secrets.token_hex(8)
        answer = post("/v1/validate", {"license_key": key, "install_id": install, "nonce": nonce})
        tokens.append((answer["bundle"], nonce))

    short = 0
    for bundle, nonce in tokens:
        head, payload, signature = bundle.split(".")
        header, raw = json.loads(unpadded(head)), unpadded(signature)
        assert header == {"alg": "ES256", "kid": header["kid"], "typ": "countersign-bundle+jwt"}, header
        assert "=" not in bundle and len(raw) == 64, bundle
        short += raw[0] == 0 or raw[32] == 0
        pinned = keys[header["kid"]]
        assert pinned["state"] == "active", pinned
        public = serialization.load_der_public_key(base64.b64decode(pinned["spki"]))

        # 1. PyJWT, with its own checks of audience, issuer and times.
        claims = jwt.decode(bundle, public, algorithms=["ES256"], audience="app", issuer="countersign:check")
        assert claims["nonce"] == nonce and claims["mode"] == "live" and claims["ver"] == 1, claims
        assert [grant["feature"] for grant in claims["grants"]] == ["pro"], claims
        assert claims["grants"][0]["starts"] <= time.time() < claims["grants"][0]["until"], claims

        # 2. The bytes as they were sent, with the signature put into DER.
        signed = f"{head}.{payload}".encode()
        der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        public.verify(der, signed, ec.ECDSA(hashes.SHA256()))
        try:
            public.verify(der, bytes([signed[0] ^ 1]) + signed[1:], ec.ECDSA(hashes.SHA256()))
            sys.exit("a changed bundle verifies")
        except InvalidSignature:
            pass
    assert short > 0, f"none of {BUNDLES} signatures has a leading zero: they are not of fixed length"

    # 3. OpenSSL's command line and our own.
    with tempfile.TemporaryDirectory() as folder:
        for bundle, _ in tokens[:BY_COMMAND_LINE]:
            head, payload, signature = bundle.split(".")
            raw, spki = unpadded(signature), keys[json.loads(unpadded(head))["kid"]]["spki"]
            der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            for name, data in (("key", base64.b64decode(spki)), ("signature", der), ("signed", f"{head}.{payload}".encode())):
                Path(folder, name).write_bytes(data)
            subprocess.run(["openssl", "dgst", "-sha256", "-keyform", "DER", "-verify", "key", "-signature", "signature",
                            "signed"], cwd=folder, check=True, capture_output=True)
            good = [binary, "bundle", "verify", bundle, "--spki", spki, "--issuer", "countersign:check",
                    "--audience", "app", "--mode", "live", "--install-id", install]
            subprocess.run(good, check=True, capture_output=True)
            bad = subprocess.run([*good[:-1], secrets.token_hex(16)], capture_output=True, check=False)
            assert bad.returncode == 1, f"another install's bundle: exit {bad.returncode}"
    print(f"{BUNDLES} bundles verified by PyJWT and cryptography ({short} with leading zeros), "
          f"{BY_COMMAND_LINE} by openssl and countersign", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
