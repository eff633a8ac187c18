#!/bin/sh
# Builds the modules here anew, with clang 14, lld and wasi-libc.
set -eu
cd "$(dirname "$0")"
flags="--target=wasm32 -O2 -nostdlib -Wall -Wl,--no-entry,-z,stack-size=8192,--strip-all"
clang $flags -o guest.wasm guest.c
clang $flags -mreference-types -o table.wasm table.c table.s
clang --target=wasm32-wasi -O2 -Wl,--strip-all -o command.wasm command.c
clang $flags -o start.wasm start.c
clang $flags -DCOMMAND -o start-command.wasm start.c
