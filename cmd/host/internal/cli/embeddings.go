package cli

import (
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
	"github.com/reflectory/reflectory/sdk"
)

// localEmbeddings is whether vectors are made here, without a network.
func (c Config) localEmbeddings() bool { return c.EmbeddingsModel.Value == embed.Hashed{}.Model() }

// embeddings are what asking the configured endpoint for vectors needs.
func (c Config) embeddings(getenv func(string) string) (openai.Options, error) {
	dims, err := strconv.Atoi(c.EmbeddingsDims.Value)
	if err != nil {
		return openai.Options{}, sdk.Errorf(sdk.Invalid, "config_invalid", "the dimensions %q of embeddings (%s) are no whole number",
			c.EmbeddingsDims.Value, c.EmbeddingsDims.Origin).WithHint("leave them out to have the model's own")
	}
	return openai.Options{
		URL: c.EmbeddingsURL.Value, Model: c.EmbeddingsModel.Value, Dims: dims,
		KeyEnv: c.EmbeddingsKeyEnv.Value, Getenv: getenv,
	}, nil
}

// checkEmbeddings refuses settings of embeddings that can't be meant. Whether the
// key is there is seen when there is something to embed.
func (c Config) checkEmbeddings() error {
	if c.localEmbeddings() {
		if c.EmbeddingsURL.Value != "" && c.EmbeddingsModel.Origin == originDefault {
			return sdk.Errorf(sdk.Invalid, "config_invalid", "embeddings have an endpoint (%s), but no model", c.EmbeddingsURL.Origin).
				WithHint("name one that the endpoint has: settings.embeddings.model, or REFLECTORY_EMBEDDINGS_MODEL")
		}
		return nil
	}
	options, err := c.embeddings(func(string) string { return "" })
	if err != nil {
		return err
	}
	if err := options.Check(); err != nil {
		return sdk.Errorf(sdk.Invalid, "config_invalid", "embeddings of %s (%s): %w", core.Cut(c.EmbeddingsModel.Value), c.EmbeddingsModel.Origin, err).
			WithHint("write settings: {embeddings: {model, base_url, api_key_env, dims}}, such as {model: nomic-embed-text, base_url: \"http://127.0.0.1:11434/v1\"}; %s is made here and needs no endpoint",
				embed.Hashed{}.Model())
	}
	return nil
}

// embedder makes the vectors of memories.
func (a *App) embedder() (core.Embedder, error) {
	if a.config.localEmbeddings() {
		return embed.Hashed{}, nil
	}
	options, err := a.config.embeddings(a.Getenv)
	if err != nil {
		return nil, err
	}
	return openai.New(options)
}
