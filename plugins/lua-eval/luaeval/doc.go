// Package luaeval is the plugin lua-eval: evaluators, generators and correctors
// written as Lua 5.4 scripts.
//
// The interpreter is PUC Lua, used through cgo. It is compiled in with the build tag
// lua54. Without the tag or without cgo, the plugin still describes itself, and says
// what is missing when a script is prepared.
//
//	request (JSON) ─► globals ─► script ─► return value ─► verdict or output (JSON)
//
// Every script is treated as hostile. Three rules contain it:
//
//   - It sees only the functions of an allow-list (README.md has the table). Every
//     function that could run for long is the sandbox's own and counts its steps.
//   - Memory, steps and time are limited, and no script can catch the error that
//     ends it.
//   - Each evaluation begins with the same bytes. A state lives in one block of
//     memory, which is restored from its image, byte for byte, after each use.
//
// It is internal to Reflectory: its API may change in any release.
package luaeval
