package memory

import (
	"context"
	"math"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// embedding is a vector with its model's name, or the reason why there is none.
type embedding struct {
	model   string
	vector  []float32
	failure string
}

// embed makes the vectors of new memories. If this fails, a memory is still written: it
// is found by its words, and re-embedding adds the vector later. The error is the
// context's error.
func (m *base) embed(ctx context.Context, memories []*core.Memory) ([]embedding, error) {
	texts := make([]string, len(memories))
	for i, memory := range memories {
		texts[i] = record.EmbeddedText(memory)
	}
	return m.embedTexts(ctx, texts)
}

func (m *base) embedTexts(ctx context.Context, texts []string) ([]embedding, error) {
	list := make([]embedding, len(texts))
	if m.options.Embedder == nil {
		return list, nil
	}
	vectors, err := m.vectors(ctx, texts)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i := range list {
		if err != nil {
			list[i].failure = sdk.ReasonOf(err)
			continue
		}
		list[i].model, list[i].vector = m.options.Embedder.Model(), vectors[i]
	}
	return list, nil
}

// vectors asks the embedder, and checks its vectors.
func (m *base) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.options.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	return vectors, checkVectors(vectors, len(texts))
}

func checkVectors(vectors [][]float32, want int) error {
	if len(vectors) != want {
		return embeddingInvalid("%d vectors for %d texts", len(vectors), want)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) > record.MaxDimensions || len(v) != len(vectors[0]) {
			return embeddingInvalid("a vector of %d dimensions: all must have the same number, from 1 to %d", len(v), record.MaxDimensions)
		}
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.IsNaN(sum) || sum != 0 && math.Abs(sum-1) > 1e-2 {
			return embeddingInvalid("a vector of length %g: it must be 1, or 0 for nothing", math.Sqrt(sum))
		}
	}
	return nil
}

func embeddingInvalid(format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "embedding_invalid", "the embedder made "+format, args...).
		WithHint("this is a fault of the embedder, or of the model behind its endpoint")
}
