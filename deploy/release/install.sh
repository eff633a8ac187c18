#!/bin/sh
# Installs Reflectory @VERSION@ for Linux into ~/.local, without root:
#   REFLECTORY_PREFIX  another folder than ~/.local
#   REFLECTORY_URL     where the archive is, if it isn't at @URL@
# Nothing is unpacked unless its checksum is the one in this script.
set -eu

url=${REFLECTORY_URL:-@URL@}
prefix=${REFLECTORY_PREFIX:-${HOME:?is not set: name a folder with REFLECTORY_PREFIX}/.local}

fail() { echo "install.sh: $*" >&2; exit 1; }

case "$(uname -s) $(uname -m)" in
"Linux x86_64") arch=amd64 want=@AMD64@ ;;
"Linux aarch64") arch=arm64 want=@ARM64@ ;;
*) want= ;;
esac
[ -n "$want" ] || fail "this release isn't for $(uname -s) on $(uname -m)"
archive=reflectory-@VERSION@-linux-$arch.tar.gz

mkdir -p "$prefix/lib" "$prefix/bin" || fail "can't write to $prefix: name another folder with REFLECTORY_PREFIX"
new=$(mktemp -d "$prefix/lib/.reflectory.XXXXXX")
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM

if command -v curl >/dev/null; then
	curl -fsSL -o "$new/$archive" "$url/$archive" || fail "can't download $url/$archive"
elif command -v wget >/dev/null; then
	wget -q -O "$new/$archive" "$url/$archive" || fail "can't download $url/$archive"
else
	fail "curl or wget is needed"
fi
got=$(sha256sum "$new/$archive" | cut -d ' ' -f 1)
[ "$got" = "$want" ] || fail "$url/$archive isn't the released file: its SHA-256 is $got, not $want. Nothing was installed."

tar -xzf "$new/$archive" -C "$new" || fail "can't unpack $archive"
home=$prefix/lib/reflectory
[ ! -e "$home" ] || mv "$home" "$new/old"
mv "$new/${archive%.tar.gz}" "$home" || { [ ! -e "$new/old" ] || mv "$new/old" "$home"; fail "can't write $home"; }
ln -sf ../lib/reflectory/reflectory "$prefix/bin/reflectory"
"$prefix/bin/reflectory" --version
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "$prefix/bin isn't in PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
