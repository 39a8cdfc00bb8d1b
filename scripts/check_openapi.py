"""Holds a running server against its own description, with other people's code.

    check_openapi.py BINARY PORT FOLDER EXAMPLES      (COUNTERSIGN_DATA names the server's folder)

openapi-spec-validator says whether the description is an OpenAPI 3.1 document; schemathesis makes requests from it,
good and bad ones, and compares the answers with it. Its seed is fixed; ids, keys and times are those of the run.
"""

import http.client
import json
import subprocess
import sys
from pathlib import Path

from openapi_spec_validator import validate

SEED = 20261130
# How often a value that means something to the server stands where schemathesis would make one up: without it hardly
# any request would get beyond the first look at its license key.
KNOWN = 0.8
INSTALLS = ["6f1d9a52-7c1e-4a4b-9d0e-2f6b8c3a1e57", "an-install-of-the-check-1", "an-install-of-the-check-2"]


def plan(code, **more):
    return {"code": code, "features": ["pro"], "seat_limit": "unlimited", **more}


SOLD = {
    "vendors": [
        {
            "slug": "check",
            "name": "Check",
            "credentials": [{"name": "admin", "kind": "sk", "mode": "live"}],
            "products": [
                {
                    "slug": "app",
                    "name": "App",
                    "key_prefix": "ACME",
                    "settings": {"trial_duration": "P14D", "trial_start": "explicit", "trial_plan": "open"},
                    "features": [{"code": "pro", "name": "Pro"}],
                    "meters": [
                        {"name": "flow_run", "limit": 3, "period": "month", "scope": "install"},
                        {"name": "free", "limit": "unlimited"},
                    ],
                    "plans": [
                        plan("open", self_release=True, duration="P1Y"),
                        plan("full", seat_limit=0, self_release=True),
                        plan("floating", lease_seconds=600),
                        plan("closed", self_release=False, transfer_limit=1, transfer_period="P1Y"),
                    ],
                    "credentials": [{"name": "app", "kind": "pk", "mode": "live"}],
                    "store_connections": [
                        {
                            "store": "apple",
                            "environment": "Sandbox",
                            "bundle_id": "com.example.check",
                            "products": [{"id": "com.example.check.pro", "features": ["pro"]}],
                        }
                    ],
                    "licenses": [
                        {"order_id": "open-1", "plan": "open", "customer": {"email": "ada@example.com"}},
                        {"order_id": "full-1", "plan": "full"},
                        {"order_id": "floating-1", "plan": "floating"},
                        {"order_id": "closed-1", "plan": "closed"},
                        {"order_id": "over-1", "plan": "open", "starts_at": "2020-01-01", "expires_at": "2021-01-01"},
                        {"order_id": "later-1", "plan": "open", "starts_at": "2090-01-01", "expires_at": "2091-01-01"},
                        # For administration alone: what is revoked or reissued there is still asked for by apps.
                        *({"order_id": f"admin-{number}", "plan": "open"} for number in range(24)),
                    ],
                }
            ],
        }
    ]
}


def command(binary, *words):
    done = subprocess.run([binary, *words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"countersign {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def fetch(port, method="GET", path="/v1/openapi.json", body=None, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"} if token else {}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    assert response.status == 200, (method, path, response.status, response.read())
    return response.read()


def configuration(tokens, known):
    """The settings of schemathesis: TOML takes JSON's texts, numbers and lists as they are."""
    lines = [
        # The sk_ and pk_ of one run, each for the routes that ask for it.
        "[auth.openapi]",
        f"appKey = {{ bearer = {json.dumps(tokens['pk'])} }}",
        f"secretKey = {{ bearer = {json.dumps(tokens['sk'])} }}",
        "[checks]",
        # A request that keeps to its schema may be refused: a license key that nobody has, a plan that is not there.
        "positive_data_acceptance = { enabled = false }",
        # Beside the usual refusals: what is too long is refused by HTTP's own statuses.
        "negative_data_rejection = { expected-statuses = [400, 401, 403, 404, 405, 409, 413, 414, 415, 429, 431] }",
        "[phases.coverage]",
        # TRACE is no method that this server knows anywhere, so it is told 501 (RFC 9110 section 9.1), not 405.
        'unexpected-methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH"]',
        "[generation]",
        'database = "none"',
    ]
    for name, values in known.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(values)}"]
    lines += ["[parameters]"]
    for parameter, name in {
        "body.license_key": "license_key",
        "body.install_id": "install_id",
        "body.fingerprint": "fingerprint",
        "body.replace": "activation",
        "body.activation": "activation",
        "body.meter": "meter",
        "body.product": "product",
        "query.product": "product",
        "body.plan": "plan",
        "query.plan": "plan",
        "path.license": "license",
        "path.slug": "slug",
        "path.connection": "connection",
    }.items():
        lines.append(f'"{parameter}" = {{ dictionary = "{name}", probability = {KNOWN} }}')
    return "\n".join(lines) + "\n"


def main(binary, port, folder, examples):
    description = json.loads(fetch(port))
    validate(description)
    operations = sum(len(methods) for methods in description["paths"].values())

    seed = folder / "seed.json"
    seed.write_text(json.dumps(SOLD))
    made = command(binary, "seed", str(seed))
    tokens = {secret["token"][:2]: secret["token"] for secret in made["secrets"]}
    administered = [license for license in made["licenses"] if license["order_id"].startswith("admin-")]
    keys = [license["key"] for license in made["licenses"] if license not in administered]
    seats = [
        json.loads(fetch(port, "POST", "/v1/activate", {"license_key": key, "install_id": INSTALLS[0]}, tokens["pk"]))
        for key in (keys[0], keys[2], keys[3])
    ]
    known = {
        "license_key": keys + ["ACME-1234-5678-9ABC-DEFG", "NOBODYS-KEY"],
        "install_id": INSTALLS,
        "fingerprint": ["a-machine-of-the-check-1", "a-machine-of-the-check-2"],
        "activation": [seat["activation"]["id"] for seat in seats],
        "meter": ["flow_run", "free", "nothing"],
        "product": ["check/app"],
        "plan": ["open", "full", "nothing"],
        "license": [license["id"] for license in administered] + ["admin-0", "nothing"],
        "slug": ["check", "nobody"],
        "connection": [connection["id"] for connection in made["connections"]],
    }

    settings, report, document = (folder / name for name in ("schemathesis.toml", "report.json", "openapi.json"))
    settings.write_text(configuration(tokens, known))
    # From a file: the route of a description that is fetched is left out of the run.
    document.write_text(json.dumps(description))
    per_operation = -(-examples // operations)
    run = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"), "--config-file", settings, "run", document,
            "--url", f"http://127.0.0.1:{port}", "--seed", str(SEED), "--max-examples", str(per_operation),
            "--continue-on-failure", "--no-color", "--report", "json", "--report-json-path", report,
        ],
        cwd=folder, stdout=sys.stderr, check=False,
    )
    generated = json.loads(report.read_text())["test_cases"]["generated"] if report.exists() else 0
    print(f"schemathesis ran {generated} examples against {operations} operations", file=sys.stderr)
    if run.returncode != 0:
        sys.exit(f"schemathesis ended with {run.returncode}")
    if generated < examples:
        sys.exit(f"{generated} examples are fewer than {examples}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
