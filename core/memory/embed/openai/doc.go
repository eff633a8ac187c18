// Package openai is the embedder that asks an OpenAI-compatible endpoint, such as
// OpenAI's own or Ollama's, with POST {url}/embeddings.
//
// What it sends are titles and contents, so the endpoint must be one that may read
// them. They and a key are sent over https or to this machine only. The key is read
// from the variable that the options name, and never shows: replies of the endpoint
// aren't quoted in errors, since endpoints echo keys. What comes back is checked,
// bounded and scaled to unit length.
package openai
