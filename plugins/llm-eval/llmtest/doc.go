// Package llmtest is a scripted language model for tests: a server on the
// loopback that speaks the protocol of OpenAI-compatible endpoints, with which
// Ollama answers too, and gives the replies that a test tells it to.
//
//	server := llmtest.New(t, llmtest.Status(429).RetryAfter("0"), llmtest.Text(`{"name":"Ada"}`))
//	// base_url: server.URL+"/v1" (provider openai) or server.URL (provider ollama)
//	…
//	requests := server.Requests()
//
// It streams when the request asks for it, and reports usage. It can refuse,
// hold a reply back, cut it off, and send anything as a body.
package llmtest
