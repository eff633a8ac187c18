#!/usr/bin/env bash
# Builds the templates in C and AssemblyScript as acme/words, and the plugins in asks with
# what the templates bring, for tests on machines without their compilers. It needs clang,
# lld and npm. sources.sha256 says what the modules were built from; a test compares it
# with the templates.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/reflectory" ../../..
for language in c assemblyscript; do
	"$work/reflectory" plugin new acme/words --lang "$language" --dir "$work/$language" >/dev/null
done

# What clang would run if the template's Makefile let it: it refuses what the modules use.
mkdir "$work/bin"
printf '#!/bin/sh\necho wasm-opt was run >&2\nexit 1\n' >"$work/bin/wasm-opt"
chmod +x "$work/bin/wasm-opt"
export PATH="$work/bin:$PATH"

build() {
	make -C "$work/c"
	(cd "$work/assemblyscript" && npm run build)
	for language in c assemblyscript; do
		cp "$work/$language/package/plugin.wasm" "$1$language.wasm"
	done
}
(cd "$work/assemblyscript" && npm install --no-audit --no-fund)
build ""
(cd "$work" && sha256sum c/*.c c/*.h assemblyscript/assembly/*.ts) >sources.sha256
sha256sum asks/*.c asks/*.ts >>sources.sha256
cp asks/plugin.c "$work/c/"
cp asks/index.ts "$work/assemblyscript/assembly/"
build asks/
chmod 644 ./*.wasm asks/*.wasm
