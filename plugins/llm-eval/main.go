// Command llm-eval serves package llmeval as a Reflectory plugin.
package main

import (
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/sdk/process"
)

func main() { process.Main(llmeval.Plugin(llmeval.Options{})) }
