#!/bin/sh
# Builds the modules here again, with clang 14, lld and wasi-libc. Compiling and linking
# are two steps, since clang hands what it links with -O to binaryen's wasm-opt where that
# is installed, which refuses newer WebAssembly.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bare="--target=wasm32 -nostdlib -Wall"
link="-Wl,--no-entry,-z,stack-size=8192,--strip-all"
clang $bare -O2 -c -o "$work/guest.o" guest.c
clang $bare $link -o guest.wasm "$work/guest.o"
clang $bare -O2 -mreference-types -c -o "$work/table.o" table.c
clang $bare -mreference-types -c -o "$work/touch.o" table.s
clang $bare $link -o table.wasm "$work/table.o" "$work/touch.o"
clang --target=wasm32-wasi -O2 -c -o "$work/command.o" command.c
clang --target=wasm32-wasi -Wl,--strip-all -o command.wasm "$work/command.o"
clang $bare -O2 -c -o "$work/start.o" start.c
clang $bare $link -o start.wasm "$work/start.o"
clang $bare -O2 -DCOMMAND -c -o "$work/start-command.o" start.c
clang $bare $link -o start-command.wasm "$work/start-command.o"
