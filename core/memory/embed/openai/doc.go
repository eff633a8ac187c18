// Package openai is the embedder that asks an OpenAI-compatible endpoint, such as
// OpenAI's own or Ollama's, with POST {url}/embeddings.
//
// It sends titles and contents, so the endpoint must be allowed to read them. They and
// the key are only sent over https or to this machine. The key is read from the variable
// that the options name, and is never shown: errors don't quote the endpoint's replies,
// because endpoints echo keys. Replies are checked, bounded and scaled to unit length.
//
// It is internal to Reflectory: its API may change in any release.
package openai
