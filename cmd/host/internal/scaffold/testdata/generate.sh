#!/usr/bin/env bash
# Builds the templates in C and AssemblyScript as acme/words, for tests on machines
# without their compilers. It needs clang, lld and npm. sources.sha256 says what
# the modules were built from; a test compares it with the templates.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/reflectory" ../../..
for language in c assemblyscript; do
	"$work/reflectory" plugin new acme/words --lang "$language" --dir "$work/$language" >/dev/null
done
make -C "$work/c"
(cd "$work/assemblyscript" && npm install --no-audit --no-fund && npm run build)
for language in c assemblyscript; do
	cp "$work/$language/package/plugin.wasm" "$language.wasm"
done
(cd "$work" && sha256sum c/*.c c/*.h assemblyscript/assembly/*.ts) >sources.sha256
chmod 644 ./*.wasm
