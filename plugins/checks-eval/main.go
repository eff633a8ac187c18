// Command checks-eval serves the checks as a Reflectory plugin. The host
// starts it; it has no use on its own.
package main

import (
	"github.com/reflectory/reflectory/plugins/checks-eval/checkseval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() { process.Main(checkseval.Plugin()) }
