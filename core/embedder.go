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
