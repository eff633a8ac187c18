// Package llmtest is a scripted language model for tests: a server on the loopback that
// speaks the protocol of OpenAI-compatible endpoints, including Ollama's, and gives the
// replies that a test scripts.
//
//	server := llmtest.New(t, llmtest.Status(429).RetryAfter("0"), llmtest.Text(`{"name":"Ada"}`))
//	// base_url: server.URL+"/v1" (provider openai) or server.URL (provider ollama)
//	…
//	requests := server.Requests()
//
// It streams if the request asks for it, and reports usage. It can refuse, delay a
// reply, cut it off, and send any body.
package llmtest
