// Package llmeval asks language models, in one of four protocols: as a judge of outputs (an
// evaluator), and as a generator or corrector (the workflow action llm.call).
//
// A call goes through four layers, one file each:
//
//	judge.go, call.go   the question, and what the reply means
//	client.go           one question: models in turn, dialects of endpoints, retries, usage
//	retry.go            which faults are tried again, and when
//	exchange.go         one HTTP exchange: sizes, statuses, truncation, secrets
//	                    (stream.go: a reply in pieces)
//
// What differs between the protocols is in protocol.go, with a file for each: wire.go (chat
// completions), responses.go, messages.go and ollama.go.
//
// Configs arrive rendered: the host renders templates.
//
// It is internal to Reflectory: its API may change in any release.
package llmeval
