#!/usr/bin/env python3
"""Compares what the JSON reader takes and refuses with Python's, on files.

    fuzz/compare_json.py FUZZJSON FOLDER...

FUZZJSON is the fuzzer's executable. Where Python is more lenient than the reader, its rules are added here: UTF-8
without byte order mark, no half surrogate pairs, no member twice, no NaN, at most 64 arrays and objects in each other.
"""
import json
import os
import pathlib
import subprocess
import sys

DEEPEST = 64


class Refused(Exception):
    pass


def pairs(members):
    if len({name for name, _ in members}) != len(members):
        raise Refused
    return dict(members)


def refuse(_):
    raise Refused


def check(value, depth=0):
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, (list, dict)):
        if depth == DEEPEST:
            raise Refused
        for one in value.values() if isinstance(value, dict) else value:
            check(one, depth + 1)
        if isinstance(value, dict):
            for name in value:
                name.encode("utf-8")


def is_taken(data):
    if data.startswith(b"\xef\xbb\xbf"):
        return False
    try:
        text = data.decode("utf-8")
        # Digits stay text: Python bounds the length of integers.
        check(json.loads(text, object_pairs_hook=pairs, parse_constant=refuse, parse_int=len, parse_float=len))
    except (Refused, ValueError, RecursionError):
        return False
    return True


def name_of(data):
    """FNV-1a in 64 bits, as the fuzzer prints it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return str(value)


def main():
    fuzzer, folders = sys.argv[1], sys.argv[2:]
    files = sorted(file for folder in folders for file in pathlib.Path(folder).iterdir() if file.is_file())
    verdicts = {}
    for start in range(0, len(files), 500):
        run = subprocess.run(
            [fuzzer, *map(str, files[start : start + 500])],
            env={**os.environ, "FUZZ_VERDICTS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=300,
        )
        verdicts.update(line.split() for line in run.stdout.decode().splitlines())
    taken = 0
    different = []
    for file in files:
        data = file.read_bytes()
        expected, verdict = is_taken(data), verdicts[name_of(data)]
        taken += expected
        if expected != (verdict == "taken"):
            different.append(f"{file}: {verdict}, and Python {'takes' if expected else 'refuses'} it")
    print("\n".join(different + [f"{len(files)} texts, {taken} of them JSON, {len(different)} judged differently"]))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
