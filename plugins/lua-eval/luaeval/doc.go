// Package luaeval is the plugin lua-eval: evaluators, generators and correctors
// written as Lua 5.4 scripts.
//
// The interpreter is PUC Lua through cgo. It is compiled in with the build tag
// lua54; without the tag or without cgo the plugin still describes itself, and
// says what is missing when a script is prepared.
//
//	request (JSON) ─► globals ─► script ─► return value ─► verdict or output (JSON)
//
// A script is hostile until proven otherwise. Three rules keep it in:
//
//   - It sees an allow-list of functions (README.md has the table). Every one
//     that could run for long is the sandbox's own and counts its steps.
//   - Memory, steps and time are bounded, and no script can catch the error that
//     ends it.
//   - Each evaluation begins with the same bytes. A state lives in one block of
//     memory, which is put back to its image, byte for byte, after each use.
package luaeval
