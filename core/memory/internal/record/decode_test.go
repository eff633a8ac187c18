package record

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
)

func TestVectorsSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.StringN(0, 50, 100).Draw(t, "model")
		vector := rapid.SliceOfN(rapid.Float32(), 0, 400).Draw(t, "vector")
		gotModel, got, err := DecodeVector("id", encodeVector(model, vector))
		if err != nil || gotModel != model || !slices.Equal(got, vector) {
			t.Fatalf("%q %v, error %v", gotModel, got, err)
		}
	})
}

// FuzzDecodeRecords: a record of other bytes is refused, or is whole and of its id.
func FuzzDecodeRecords(f *testing.F) {
	f.Add([]byte(`{"id":"id"}`))
	f.Add(encodeVector("m", []float32{1, 2}))
	record, err := encode(&core.Memory{ID: "id", Tags: []string{"a"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	f.Fuzz(func(t *testing.T, value []byte) {
		if m, err := Decode("id", value); err == nil && m.ID != "id" {
			t.Errorf("memory %q", m.ID)
		}
		if model, vector, err := DecodeVector("id", value); err == nil && 2+len(model)+4*len(vector) != len(value) {
			t.Errorf("%d numbers of %d bytes", len(vector), len(value))
		}
	})
}
