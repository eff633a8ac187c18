package openai_test

import (
	"math"
	"net/http"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// FuzzReplies: whatever an endpoint sends, there are two vectors of unit length and
// one dimension, or an error with a name.
func FuzzReplies(f *testing.F) {
	f.Add(`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[3e20,-4]}]}`)
	f.Add(`{"data":[{"index":0,"embedding":[1e-40]},{"embedding":[]}]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		e := &endpoint{answer: func(int, []string) (*http.Response, error) { return body(text) }}
		vectors, err := embedder(t, e, nil).Embed(t.Context(), []string{"a", "b"})
		if err != nil {
			if sdk.ReasonOf(err) != "embedding_invalid" {
				t.Errorf("%v", err)
			}
			return
		}
		for _, v := range vectors {
			sum := 0.0
			for _, c := range v {
				sum += float64(c) * float64(c)
			}
			if len(v) == 0 || len(v) != len(vectors[0]) || math.Abs(sum-1) > 1e-3 {
				t.Errorf("%v of length² %v", v, sum)
			}
		}
	})
}
