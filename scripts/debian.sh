#!/usr/bin/env bash
# Installs the Debian packages that bring the commands given as arguments.
set -euo pipefail

packages=()
for command in "$@"; do
	case "$command" in
	flock) packages+=(util-linux) ;;
	*) packages+=("$command") ;;
	esac
done
[ "${#packages[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "debian.sh: no apt-get here: install by hand: ${packages[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}"
