package memory

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// maxDimensions bounds a vector; models in use have up to 4,096.
const maxDimensions = 1 << 14

// embedding is a vector with its model's name, or why there is none.
type embedding struct {
	model   string
	vector  []float32
	failure string
}

// embed makes the vectors of new memories. One that can't be made doesn't keep a
// memory from being written: words find it, and re-embedding makes up for it.
// The error is the context's.
func (m *Memories) embed(ctx context.Context, memories []*core.Memory) ([]embedding, error) {
	texts := make([]string, len(memories))
	for i, memory := range memories {
		texts[i] = EmbeddedText(memory)
	}
	return m.embedTexts(ctx, texts)
}

func (m *Memories) embedTexts(ctx context.Context, texts []string) ([]embedding, error) {
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

// vectors asks the embedder, and checks what it makes.
func (m *Memories) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.options.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	return vectors, checkVectors(vectors, len(texts))
}

// EmbeddedText is what the vector of a memory is made of: title and content, or
// the content alone where the title is its beginning.
func EmbeddedText(m *core.Memory) string {
	if strings.HasPrefix(m.Content, m.Title) {
		return m.Content
	}
	return m.Title + "\n" + m.Content
}

func checkVectors(vectors [][]float32, want int) error {
	if len(vectors) != want {
		return embeddingInvalid("%d vectors of %d texts", len(vectors), want)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) > maxDimensions || len(v) != len(vectors[0]) {
			return embeddingInvalid("a vector of %d dimensions: all must have the same number, from 1 to %d", len(v), maxDimensions)
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

// encodeVector is a vector's record: the length of the model's name in 2 bytes,
// the name, and the numbers in 4 bytes each, little-endian as in memory.
func encodeVector(model string, vector []float32) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(model)+4*len(vector)), uint16(len(model)))
	b = append(b, model...)
	for _, x := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// decodeVector reads what [encodeVector] made.
func decodeVector(id string, value []byte) (model string, vector []float32, err error) {
	return appendVector(make([]float32, 0, len(value)/4), id, value)
}

// appendVector does what decodeVector does, and appends the vector to what is
// there.
func appendVector(to []float32, id string, value []byte) (model string, vector []float32, err error) {
	if len(value) < 2 {
		return "", nil, corrupt(id, vectorPrefix+id, "it is too short")
	}
	n := int(binary.BigEndian.Uint16(value))
	numbers := value[min(len(value), 2+n):]
	if len(value) < 2+n || len(numbers)%4 != 0 || len(numbers) > 4*maxDimensions {
		return "", nil, corrupt(id, vectorPrefix+id, "its length doesn't fit")
	}
	vector = slices.Grow(to, len(numbers)/4)[:len(to)+len(numbers)/4]
	for i := len(to); len(numbers) >= 4; i, numbers = i+1, numbers[4:] {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers))
	}
	return string(value[2 : 2+n]), vector, nil
}

// readVector returns a memory's vector and its model; "" where it has none.
func readVector(r core.Reader, id string) (model string, vector []float32, err error) {
	value, found, err := r.Get(vectorKey(id))
	if err != nil || !found {
		return "", nil, err
	}
	return decodeVector(id, value)
}
