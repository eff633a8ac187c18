// Command schema-eval serves the schema evaluator as a Reflectory plugin. The host
// starts it; it has no use on its own.
package main

import (
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() { process.Main(schemaeval.Plugin()) }
