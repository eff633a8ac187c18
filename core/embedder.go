package core

import "context"

// Embedder makes vectors of texts, so that likeness of meaning becomes closeness.
type Embedder interface {
	// Model names what makes the vectors. Vectors of different models are never
	// compared.
	Model() string
	// Embed returns a vector of unit length for each text, all of one dimension. A
	// text without anything to embed gets the zero vector.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbedderWithWeight is an embedder that knows what the likeness of its vectors is
// worth in a recall next to the words, in (0,1). Those of others count half.
type EmbedderWithWeight interface {
	Embedder
	Weight() float64
}
