// Command command-eval serves the evaluator of programs as a Reflectory plugin. The host
// starts it; it has no use on its own.
package main

import (
	"github.com/reflectory/reflectory/plugins/command-eval/commandeval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() { process.Main(commandeval.Plugin()) }
