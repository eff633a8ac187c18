// Command reflectory runs reflection workflows: generate, evaluate, correct, on
// plugins that run outside its trust.
package main

import (
	"os"

	"github.com/reflectory/reflectory/cmd/host/internal/cli"
)

func main() { os.Exit(cli.Main()) }
