// Command llm-eval serves package llmeval to a Reflectory host.
package main

import (
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() { process.Main(llmeval.Plugin(llmeval.Options{})) }
