package host

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
)

// embedder makes the vectors of memories: the local one, or an endpoint's model.
func (h *Host) embedder() (core.Embedder, error) {
	if h.config.Settings.LocalEmbeddings() {
		return embed.Hashed{}, nil
	}
	o := h.config.Settings.EmbeddingsOptions(h.config.Getenv)
	network := h.config.Settings.Network()
	if err := network.Problem(); err != nil {
		h.warnedOfTrust.Do(func() { h.warn(err) })
	}
	o.Transport = network.Transport()
	return openai.New(o)
}
