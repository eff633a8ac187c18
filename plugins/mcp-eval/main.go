// Command mcp-eval serves the tools of an MCP server as a Reflectory plugin. It is the program of every
// package that plugin add --mcp makes, whose description it reads from the file that its argument names.
// The host starts it; it has no use on its own.
package main

import (
	"fmt"
	"os"

	"github.com/reflectory/reflectory/plugins/mcp-eval/mcpeval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() {
	file := ""
	if len(os.Args) > 1 && os.Args[1] != "--describe" {
		file = os.Args[1]
	}
	p, err := mcpeval.Plugin(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	process.Main(p)
}
