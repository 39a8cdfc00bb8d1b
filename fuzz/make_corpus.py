#!/usr/bin/env python3
"""Makes the test root of the fuzzers and the seeds that need signatures; run it again where a form changes.

    python3 fuzz/make_corpus.py        (needs the package cryptography)

Writes fuzz/Sources/FuzzSupport/TestRoot.swift and the files signed-* of three corpora. The keys are for fuzzing alone:
nothing but a fuzzer trusts them.
"""
import base64
import datetime
import json
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID, ObjectIdentifier

here = pathlib.Path(__file__).resolve().parent
SECOND = 1_780_000_000


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, issuer, key, issuer_key, authority, marker=None):
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1))
        .not_valid_after(datetime.datetime(2040, 1, 1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(not authority, False, False, False, False, authority, authority, False, False),
            critical=True,
        )
    )
    if marker:
        null = x509.UnrecognizedExtension(ObjectIdentifier(marker), b"\x05\x00")
        builder = builder.add_extension(null, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def der(certificate):
    return certificate.public_bytes(serialization.Encoding.DER)


def pkcs8(key):
    return key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def jws(header, payload, key):
    text = f"{url64(header.encode())}.{url64(payload.encode())}"
    r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{url64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def thumbprint(key):
    numbers = key.public_key().public_numbers()
    members = {
        "crv": "P-256",
        "kty": "EC",
        "x": url64(numbers.x.to_bytes(32, "big")),
        "y": url64(numbers.y.to_bytes(32, "big")),
    }
    digest = hashes.Hash(hashes.SHA256())
    digest.update(compact(members).encode())
    return url64(digest.finalize())


def seed(fuzzer, file, data):
    folder = here / "corpus" / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(data if isinstance(data, bytes) else data.encode())


def swift(constant, comment, text):
    lines = [text[at : at + 100] for at in range(0, len(text), 100)]
    body = " \\\n".join(lines).replace(" \\\n", "\\\n        ")
    return f'    /// {comment}\n    public static let {constant} = """\n        {body}\n        """\n'


root_key, intermediate_key, leaf_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
root = certificate("Fuzz Root", "Fuzz Root", root_key, root_key, True)
intermediate = certificate(
    "Fuzz Intermediate", "Fuzz Root", intermediate_key, root_key, True, "1.2.840.113635.100.6.2.1"
)
leaf = certificate("Fuzz Leaf", "Fuzz Intermediate", leaf_key, intermediate_key, False, "1.2.840.113635.100.6.11.1")

# What the App Store signs.
chain = [base64.b64encode(der(one)).decode() for one in (leaf, intermediate, root)]
store_header = compact({"alg": "ES256", "x5c": chain})
transaction = {
    "transactionId": "2000000001",
    "originalTransactionId": "2000000001",
    "webOrderLineItemId": "3000000001",
    "bundleId": "com.example.editor",
    "productId": "monthly",
    "purchaseDate": SECOND * 1000 - 864_000_000,
    "originalPurchaseDate": SECOND * 1000 - 864_000_000,
    "expiresDate": SECOND * 1000 + 864_000_000,
    "quantity": 1,
    "type": "Auto-Renewable Subscription",
    "inAppOwnershipType": "PURCHASED",
    "signedDate": SECOND * 1000 - 3_600_000,
    "environment": "Production",
    "price": 19990,
    "currency": "USD",
}
renewal = {
    "originalTransactionId": "2000000001",
    "autoRenewProductId": "monthly",
    "productId": "monthly",
    "autoRenewStatus": 1,
    "signedDate": SECOND * 1000 - 3_600_000,
    "environment": "Production",
}
app_transaction = {
    "bundleId": "com.example.editor",
    "receiptType": "Production",
    "receiptCreationDate": SECOND * 1000 - 3_600_000,
    "originalPurchaseDate": SECOND * 1000 - 864_000_000,
    "originalApplicationVersion": "1.0",
    "appTransactionId": "704000000000000001",
}


def notification(transaction_text, renewal_text):
    return compact(
        {
            "notificationType": "DID_RENEW",
            "subtype": "BILLING_RECOVERY",
            "notificationUUID": "00000000-0000-4000-8000-000000000001",
            "version": "2.0",
            "signedDate": SECOND * 1000 - 3_600_000,
            "data": {
                "appAppleId": 1234567890,
                "bundleId": "com.example.editor",
                "bundleVersion": "1",
                "environment": "Production",
                "status": 1,
                "signedTransactionInfo": transaction_text,
                "signedRenewalInfo": renewal_text,
            },
        }
    )


store_token = jws(store_header, compact(transaction), leaf_key)
notification_token = jws(
    store_header, notification(store_token, jws(store_header, compact(renewal), leaf_key)), leaf_key
)
seed("FuzzStore", "signed-transaction", store_token)
seed("FuzzStore", "signed-notification", notification_token)
seed("FuzzStore", "payload-transaction", compact(transaction))
seed("FuzzStore", "payload-app-transaction", compact(app_transaction))
seed("FuzzStore", "payload-once", compact({**transaction, "type": "Non-Consumable", "productId": "unlock"}))
seed(
    "FuzzStore",
    "payload-revoked",
    compact({**transaction, "revocationDate": SECOND * 1000, "revocationReason": 1, "isUpgraded": True}),
)
seed(
    "FuzzStore",
    "payload-notification",
    f"{notification('@1', '@2')}\n{compact(transaction)}\n{compact(renewal)}",
)
seed(
    "FuzzStore",
    "payload-summary",
    compact(
        {
            "notificationType": "RENEWAL_EXTENSION",
            "notificationUUID": "u",
            "signedDate": SECOND * 1000,
            "summary": {"bundleId": "com.example.editor", "environment": "Production", "appAppleId": 1234567890},
        }
    ),
)
seed("FuzzStore", "header-genuine", "[" + store_header)
seed("FuzzStore", "header-critical", "[" + compact({"alg": "ES256", "crit": ["b64"], "b64": False, "x5c": chain}))

# Chains: whole certificates, and parts to be signed by the fuzzer.


def sized(*parts):
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


seed("FuzzChain", "signed-chain", b"C" + sized(der(leaf), der(intermediate), der(root)))
seed("FuzzChain", "signed-swapped", b"C" + sized(der(intermediate), der(leaf), der(root)))
seed("FuzzChain", "signed-parts", b"T" + sized(leaf.tbs_certificate_bytes, intermediate.tbs_certificate_bytes))
unmarked = certificate("Fuzz Leaf", "Fuzz Intermediate", leaf_key, intermediate_key, False)
seed("FuzzChain", "signed-unmarked", b"T" + sized(unmarked.tbs_certificate_bytes, intermediate.tbs_certificate_bytes))
rsa_like = ec.generate_private_key(ec.SECP384R1())
other_curve = certificate(
    "Fuzz Leaf", "Fuzz Intermediate", rsa_like, intermediate_key, False, "1.2.840.113635.100.6.11.1"
)
seed("FuzzChain", "signed-p384", b"T" + sized(other_curve.tbs_certificate_bytes, intermediate.tbs_certificate_bytes))

# What the server signs.
settings = {
    "trial_seconds": 1209600,
    "free_tier": False,
    "minimum_version": "2.0",
    "offline_seconds": 604800,
    "extra": {"theme": "dark"},
}
bundle = {
    "iss": "countersign:acme",
    "aud": "editor",
    "sub": "subject",
    "iat": SECOND,
    "exp": SECOND + 604800,
    "ver": 1,
    "seq": 7,
    "mode": "live",
    "refresh_after": SECOND + 86400,
    "nonce": "n-1",
    "grants": [
        {
            "feature": "pro_unlock",
            "source": "license",
            "starts": SECOND - 60,
            "ends": SECOND + 9_000_000,
            "until": SECOND + 604800,
            "ref": "lic_01J9Z3K4M5N6P7Q8R9S0T1V2W3",
            "env": {"hosts": ["*.example.com"], "spki": ["abc"], "attributes": {"region": "eu"}},
        },
        {"feature": "export", "source": "trial", "starts": SECOND, "until": SECOND + 60, "ref": "trl_1"},
    ],
    "licenses": [
        {
            "id": "lic_01J9Z3K4M5N6P7Q8R9S0T1V2W3",
            "plan": "pro",
            "status": "active",
            "starts": SECOND - 60,
            "ends": SECOND + 9_000_000,
            "maintenance_until": SECOND,
            "activation": "act_01J9Z3K4M5N6P7Q8R9S0T1V2W3",
        }
    ],
    "trial": {"state": "active", "starts": SECOND, "ends": SECOND + 60},
    "meters": [{"meter": "exports", "used": 3, "limit": 10, "resets": SECOND + 60}, {"meter": "x", "used": 0}],
    "settings": settings,
}
configuration = {
    "iss": "countersign:acme",
    "aud": "editor",
    "iat": SECOND,
    "exp": SECOND + 60,
    "mode": "live",
    "settings": settings,
    "offers": [
        {
            "id": "spring",
            "plan": "pro",
            "kind": "one_time",
            "price_milliunits": 19990,
            "currency": "EUR",
            "store_product_id": "com.acme.pro",
            "trial_duration": "P14D",
            "url": "https://acme.example/buy",
            "from": SECOND,
            "until": SECOND + 60,
        },
        {"id": "plain", "kind": "subscription"},
    ],
}
kid = thumbprint(leaf_key)


def document(kind, payload):
    return jws(compact({"alg": "ES256", "kid": kid, "typ": f"countersign-{kind}+jwt"}), compact(payload), leaf_key)


bundle_token, configuration_token = document("bundle", bundle), document("config", configuration)
seed("FuzzBundle", "signed-bundle", bundle_token)
seed("FuzzBundle", "signed-configuration", configuration_token)
seed("FuzzBundle", "payload-bundle", compact(bundle))
seed("FuzzBundle", "payload-configuration", compact(configuration))
seed(
    "FuzzBundle",
    "payload-least",
    compact({**bundle, "nonce": None, "grants": [], "licenses": [], "trial": None, "meters": []}),
)
seed("FuzzBundle", "header-bundle", "[" + compact({"alg": "ES256", "kid": kid, "typ": "countersign-bundle+jwt"}))
seed(
    "FuzzBundle",
    "header-critical",
    "[" + compact({"alg": "ES256", "crit": ["x"], "kid": kid, "typ": "countersign-bundle+jwt"}),
)

parts = [
    ("root", "The root's certificate, DER in base 64.", base64.b64encode(der(root)).decode()),
    ("intermediate", "The intermediate's certificate.", base64.b64encode(der(intermediate)).decode()),
    ("leaf", "The leaf's certificate.", base64.b64encode(der(leaf)).decode()),
    ("rootKey", "The root's key, PKCS#8 in base 64.", base64.b64encode(pkcs8(root_key)).decode()),
    ("intermediateKey", "The intermediate's key.", base64.b64encode(pkcs8(intermediate_key)).decode()),
    ("leafKey", "The leaf's key, which signs all documents.", base64.b64encode(pkcs8(leaf_key)).decode()),
    ("transaction", "A signed transaction.", store_token),
    ("notification", "A signed notification.", notification_token),
    ("bundle", "A signed bundle.", bundle_token),
    ("configuration", "A signed configuration.", configuration_token),
]
text = "// Made by make_corpus.py.\n\n/// A root for fuzzing and what it signed. Nothing else trusts it.\npublic enum TestRoot {\n"
text += f"    /// The moment at which all of it is valid, since 1970.\n    public static let second: Int64 = {SECOND:_}\n\n"
text += "\n".join(swift(*part) for part in parts) + "}\n"
(here / "Sources" / "FuzzSupport" / "TestRoot.swift").write_text(text)
