// Package llmeval asks language models over OpenAI-compatible endpoints, including
// Ollama's: as a judge of outputs (an evaluator), and as a generator or corrector (the
// workflow action llm.call).
//
// A call goes through four layers, one file each:
//
//	judge.go, call.go   the question, and what the reply means
//	client.go           one question: dialects of endpoints, retries, usage
//	retry.go            which faults are tried again, and when
//	exchange.go         one HTTP exchange: sizes, statuses, truncation, secrets
//	                    (wire.go: the protocol's JSON; stream.go: a reply in pieces)
//
// Configs arrive rendered: the host renders templates.
package llmeval
