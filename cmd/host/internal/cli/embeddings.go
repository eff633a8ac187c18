package cli

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
)

// embedder makes the vectors of memories.
func (a *App) embedder() (core.Embedder, error) {
	if a.config.LocalEmbeddings() {
		return embed.Hashed{}, nil
	}
	return openai.New(a.config.EmbeddingsOptions(a.Getenv))
}
