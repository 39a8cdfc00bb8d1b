# Shared by the scripts in this folder: sourced, not run. Sets `root` and moves there.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

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

build_packages=(libsqlite3-dev libssl-dev pkg-config)

# build_release: the executable as it is shipped; prints its path.
build_release() {
    local options=(-c release --product countersign --static-swift-stdlib -Xswiftc -cross-module-optimization)
    swift build "${options[@]}" >&2 || die "the release build failed; see above"
    printf '%s/countersign\n' "$(swift build "${options[@]}" --show-bin-path)"
}
