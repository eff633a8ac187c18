// Command lua-eval is a plugin that evaluates, generates and corrects with sandboxed
// Lua 5.4 scripts. Its logic is in the package luaeval.
package main

import (
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() { process.Main(luaeval.Plugin()) }
