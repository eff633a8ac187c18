// Package llmtest is a scripted language model for tests: a server on the loopback that
// speaks the protocols of OpenAI-compatible endpoints, Anthropic and Ollama, checks the
// requests by their descriptions, and gives the replies that a test scripts.
//
//	server := llmtest.New(t, llmtest.Status(429).RetryAfter("0"), llmtest.Text(`{"name":"Ada"}`))
//	// base_url: server.URL+"/v1" (provider openai) or server.URL (provider ollama or anthropic)
//	…
//	requests := server.Requests()
//
// It streams if the request asks for it, and reports usage. It can refuse, delay a
// reply, cut it off, and send any body.
//
// It is internal to Reflectory: its API may change in any release.
package llmtest
