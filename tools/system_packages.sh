#!/usr/bin/env bash
# Python 3.11 or newer with venv, and git; with the argument `test` also a Docker Engine and a registry, a static busybox, debootstrap, systemd, iptables,
# Chromium and its driver.
# Installs them as root on Debian or Ubuntu, otherwise prints the line.
set -euo pipefail
missing=()
found=""
for python in python3.11 python3.12 python3.13 python3; do
    if command -v "$python" >/dev/null && "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        found=$python
        break
    fi
done
[ -n "$found" ] || missing+=(python3 python3-venv)
command -v git >/dev/null || missing+=(git)
if [ "${1:-}" = test ]; then
    command -v dockerd >/dev/null || missing+=(docker.io)
    command -v busybox >/dev/null || missing+=(busybox-static)
    command -v systemctl >/dev/null || missing+=(systemd)
    command -v iptables >/dev/null || missing+=(iptables)
    command -v ip >/dev/null || missing+=(iproute2)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    command -v docker-registry >/dev/null || missing+=(docker-registry)
    command -v chromium >/dev/null || missing+=(chromium)
    command -v chromedriver >/dev/null || missing+=(chromium-driver)
fi
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "== installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
elif [ "${1:-}" = test ] && [ -n "$found" ] && command -v git >/dev/null; then
    echo "Tests in a Docker Engine and in a browser are left out; they need root and: sudo apt-get install ${missing[*]}" >&2
else
    echo "This needs packages that are not there. Install them, then run make again:" >&2
    echo "    sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
