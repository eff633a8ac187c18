package record

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
)

// anyMemory draws memories of every shape, also such as no request may make.
func anyMemory() *rapid.Generator[*core.Memory] {
	return rapid.Custom(func(t *rapid.T) *core.Memory {
		at := func(label string) time.Time {
			zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, label+" offset"))
			return time.Unix(0, rapid.Int64Range(0, 1<<61).Draw(t, label)).In(zone)
		}
		unit := rapid.Float64Range(-1e22, 1e22)
		m := &core.Memory{
			ID: "id", Namespace: rapid.String().Draw(t, "namespace"), AgentID: rapid.String().Draw(t, "agent"),
			Kind: core.KindObservation, Title: rapid.String().Draw(t, "title"),
			Content: string(rapid.SliceOf(rapid.Byte()).Draw(t, "content")),
			Tags:    rapid.SliceOf(rapid.String()).Draw(t, "tags"), Priority: rapid.Int().Draw(t, "priority"),
			Importance: unit.Draw(t, "importance"), Confidence: rapid.Float64Range(-1e-5, 1e-5).Draw(t, "confidence"),
			AccessCount: rapid.Int64().Draw(t, "access"), State: core.StateOpen,
			EmbeddingModel: rapid.String().Draw(t, "model"), CreatedAt: at("created"), UpdatedAt: at("updated"),
			MergedInto: rapid.String().Draw(t, "merged"), Version: rapid.Int64().Draw(t, "version"),
		}
		if rapid.Bool().Draw(t, "rest") {
			accessed, score := at("accessed"), unit.Draw(t, "revalidation")
			occurred := at("occurred")
			m.OccurredAt, m.OccurredTurn = &occurred, rapid.Int64().Draw(t, "occurred turn")
			m.LastAccessedAt, m.PromotedTo, m.Metadata = &accessed, "k", []byte(`{"a":[1]}`)
			m.Signals = core.Signals{
				HitCount: 1, Utility: score, Revalidation: &score, Gated: true, GatedAt: 4, LastOutcomeError: true,
				Recent: []core.TurnRef{{Session: "s\n", Turn: 1}, {Session: "ß", Turn: 2}},
			}
		}
		return m
	})
}

// mustEncode encodes what can be.
func mustEncode(t interface {
	Helper()
	Fatal(...any)
}, m *core.Memory) []byte {
	t.Helper()
	record, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestAnInfiniteNumberIsNoRecord(t *testing.T) {
	if record, err := encode(&core.Memory{ID: "id", Importance: math.Inf(1)}); err == nil {
		t.Errorf("encoded as %s", record)
	}
}

func TestRecordsSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMemory().Draw(t, "memory")
		m.Salt = rapid.StringMatching(`[a-z]*`).Draw(t, "salt")
		m.Content = strings.ToValidUTF8(m.Content, "")
		first := mustEncode(t, m)
		decoded, err := decode(first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(mustEncode(t, decoded))); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}

// TestRecordsAreDecodedAsTheStandardDecoderDoes compares the decoder with the standard
// library's, which takes several times as long.
func TestRecordsAreDecodedAsTheStandardDecoderDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMemory().Draw(t, "memory")
		m.Salt = rapid.StringMatching(`[a-z]*`).Draw(t, "salt")
		value := mustEncode(t, m)
		own, err := decode(value)
		if err != nil {
			t.Fatalf("not taken: %v: %s", err, value)
		}
		var standard core.Memory
		if err := json.Unmarshal(value, &standard); err != nil {
			t.Fatal(err)
		}
		standard.Salt = m.Salt
		if diff := cmp.Diff(&standard, own); diff != "" {
			t.Fatalf("(-standard +ours):\n%s", diff)
		}
	})
}

// FuzzDecodeMemory: what is taken, however it was written, is the same memory once it is encoded.
func FuzzDecodeMemory(f *testing.F) {
	f.Add([]byte(`{"id":"id"}`))
	f.Add(mustEncode(f, &core.Memory{ID: "id", Tags: []string{"a"}, Metadata: []byte(`{"a":["\\"]}`)}))
	f.Fuzz(func(t *testing.T, value []byte) {
		m, err := decode(value)
		if err != nil {
			return
		}
		first, err := encode(m)
		if err != nil {
			return // such as an offset of a time that has no text
		}
		again, err := decode(first)
		if err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		if second := mustEncode(t, again); string(first) != string(second) {
			t.Fatalf("%s became %s", first, second)
		}
	})
}

func BenchmarkRecords(b *testing.B) {
	m := &core.Memory{ID: "0193f2a0-0000-7000-8000-000000000001", Namespace: "team/project", Title: "a title", Content: strings.Repeat("the build fails without cgo. ", 12), State: core.StateOpen, Metadata: []byte(`{"agent_id":"a"}`), Kind: core.KindObservation}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustEncode(b, m)
		}
	})
	value := mustEncode(b, m)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decode(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
