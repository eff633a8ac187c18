// Command reflectory runs reflection workflows: generate, evaluate, correct, with plugins
// that it doesn't have to trust.
package main

import (
	"os"

	"github.com/reflectory/reflectory/cmd/host/internal/cli"
)

func main() { os.Exit(cli.Main()) }
