# Shared by the scripts in this folder: sourced, not run. Sets `root` and moves there.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $*"
    exit 1
}

# Finds `swift`, also where it is installed and only the PATH does not know it.
need_swift() {
    local folder
    if ! command -v swift >/dev/null 2>&1; then
        for folder in /opt/swift/usr/bin /usr/share/swift/usr/bin "$HOME/.local/share/swiftly/bin" "$HOME/.swiftly/bin"; do
            if [ -x "$folder/swift" ]; then
                PATH=$folder:$PATH
                export PATH
                break
            fi
        done
    fi
    command -v swift >/dev/null 2>&1 ||
        die "no 'swift' found. Install Swift 6.2 or newer (https://www.swift.org/install/linux/debian/12/) and try again."
    # A toolchain's crash reporter waits at a terminal, and for good in a pipe.
    export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=no}"
}

# need_packages PACKAGE...: installs those that are missing, by apt.
need_packages() {
    local missing=() package as_root=()
    if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
        say "note: this is no Debian; make sure that these packages, or what they are called here, are installed: $*"
        return 0
    fi
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0

    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
            as_root=(sudo)
        else
            die "missing system packages. As root:  apt-get install ${missing[*]}"
        fi
    fi
    say "installing ${missing[*]}"
    apt_get() {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >&2
    }
    # Mirrors fail now and then: each step is tried twice.
    apt_get update || { sleep 5 && apt_get update; } || say "note: apt-get update failed; going on with what is known"
    apt_get install -y --no-install-recommends "${missing[@]}" ||
        { sleep 5 && apt_get install -y --no-install-recommends "${missing[@]}"; } ||
        die "could not install ${missing[*]}; see above"
}

# need_check_python: sets CHECK_PYTHON, a Python with the packages that the checks from outside verify and sign with.
need_check_python() {
    local venv=$root/.build/venv
    # Pinned: what others change in theirs is nothing that a push to this repository did.
    local packages=(PyJWT==2.15.1 cryptography==50.0.2)
    if [ -z "${CHECK_PYTHON:-}" ]; then
        need_packages python3 python3-venv
        if [ "$(cat "$venv/ready" 2>/dev/null)" != "${packages[*]}" ]; then
            say "== Python packages for the outside checks"
            rm -rf "$venv"
            python3 -m venv "$venv"
            "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" ||
                { sleep 5 && "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"; } ||
                die "could not install ${packages[*]} from PyPI"
            printf '%s\n' "${packages[*]}" >"$venv/ready"
        fi
        CHECK_PYTHON=$venv/bin/python3
    fi
    # Tests and checks that use it find it here.
    export CHECK_PYTHON
}

# What a build needs beside Swift.
# shellcheck disable=SC2034
build_packages=(libsqlite3-dev libssl-dev pkg-config)

# build_release: the executable as it is shipped; prints its path.
build_release() {
    local options=(-c release --product countersign --static-swift-stdlib -Xswiftc -cross-module-optimization)
    # All symbols bound at the start and their table read-only from then on (full RELRO); libraries from the system alone,
    # never from beside the executable.
    options+=(-Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now --disable-local-rpath)
    swift build "${options[@]}" >&2 || die "the release build failed; see above"
    printf '%s/countersign\n' "$(swift build "${options[@]}" --show-bin-path)"
}

# start_server BINARY [OPTION]...: serves a new folder on a free port; sets `work` (removed at exit), `server` and
# `port`, and COUNTERSIGN_DATA for the command line.
start_server() {
    local binary=$1
    shift
    work=$(mktemp -d)
    server=
    trap stop_server EXIT
    export COUNTERSIGN_DATA=$work/data
    "$binary" serve --listen 127.0.0.1:0 "$@" >"$work/out" 2>"$work/err" &
    server=$!
    for _ in $(seq 600); do
        grep -q '^listening on ' "$work/out" && break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    # Read by who calls.
    # shellcheck disable=SC2034
    port=$(sed -n 's/^listening on http:.*:\([0-9]*\)$/\1/p' "$work/out" | head -n 1)
    if [ -z "$port" ]; then
        cat "$work/err" >&2
        die "the server did not start"
    fi
}

# stop_server: ends it as an operator would; fails where it does not end with 0.
stop_server() {
    local status=0
    trap - EXIT
    if [ -n "$server" ]; then
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" || status=$?
        server=
        if [ "$status" -ne 0 ]; then
            tail -n 5 "$work/err" >&2
            say "the server ended with $status after SIGTERM"
        fi
    fi
    rm -rf "$work"
    return "$status"
}
