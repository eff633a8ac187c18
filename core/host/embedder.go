package host

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
)

// embedder makes the vectors of memories: the local one, or an endpoint's model. A problem of the
// network's trust is a notice.
func (c *Config) embedder() (core.Embedder, error) {
	if c.Settings.LocalEmbeddings() {
		return embed.Hashed{}, nil
	}
	o := c.Settings.EmbeddingsOptions(c.Getenv)
	network := c.Settings.Network()
	if err := network.Problem(); err != nil {
		c.warn(err)
	}
	o.Transport = network.Transport()
	return openai.New(o)
}
