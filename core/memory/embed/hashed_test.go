package embed_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/memory/embed"
)

func vectors(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	v, err := embed.Hashed{}.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestVectorsAreTheSameEverywhere fails when the vectors change, which needs a new
// name of the model: vectors in stores are compared by it.
func TestVectorsAreTheSameEverywhere(t *testing.T) {
	h := sha256.New()
	for _, v := range vectors(t, "The quick brown fox", "Straße, naïve, ΑΘΗΝΑ", "記憶は短い", strings.Repeat("wort ", 50)) {
		for _, c := range v {
			// Rounded, since processors differ in the last bits of a logarithm.
			binary.Write(h, binary.BigEndian, int32(math.Round(float64(c)*1e5)))
		}
	}
	const want = "3db902473057029e1670c85f996b81bab27e08fc4780af6fad4ab885e3e7cf6f"
	if got := hex.EncodeToString(h.Sum(nil)); got != want || embed.Model != "hashed-ngrams-1" {
		t.Errorf("model %s makes %s, want %s", embed.Model, got, want)
	}
}

func TestVectorsHaveUnitLength(t *testing.T) {
	for _, text := range []string{"a", "the of and", "x y z", "один два", "漢", strings.Repeat("long ", 20_000)} {
		v := vectors(t, text)[0]
		if length := dot(v, v); len(v) != embed.Dims || math.Abs(length-1) > 1e-5 {
			t.Errorf("%.20q: %d dimensions, length %g", text, len(v), length)
		}
	}
	for _, text := range []string{"", " \n", "?!… —", "\xff\xfe"} {
		if v := vectors(t, text)[0]; len(v) != embed.Dims || dot(v, v) != 0 {
			t.Errorf("%q has no words, but a vector", text)
		}
	}
}

// Each text is nearer to the first other than to the second.
func TestLikeTextsAreNear(t *testing.T) {
	cases := []struct{ name, text, near, far string }{
		{"the same text", "retry the upload", "retry the upload", "retry the upload twice"},
		{"inflection", "painted a sunrise", "painting sunrises at home", "cooking dinners at home"},
		{"misspelling", "configuration of the scheduler", "the shceduler configuraton", "the gateway of the tenant"}, //nolint:misspell // it is meant to be
		{"case", "TIMEOUT IN GATEWAY", "gateway timeout", "gate opened in time"},
		{"German", "die Zwischenablage leeren", "leere Zwischenablagen", "die Leitung legen"},
		{"Russian", "ошибка соединения с сервером", "ошибки соединений", "чашка чая"},
		{"Japanese", "東京の天気予報", "今日の東京の天気", "大阪の料理"},
		{"what matters over what doesn't", "what is the capital of France", "the capital of France", "what is the point of it"},
		{"composed and not", "caf\u00e9 au lait", "cafe\u0301 noir", "th\u00e9 noir"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := vectors(t, c.text, c.near, c.far)
			if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near <= far {
				t.Errorf("%q: %.3f to %q, %.3f to %q", c.text, near, c.near, far, c.far)
			}
		})
	}
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (embed.Hashed{}).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	text := strings.Repeat("The deployment failed since the gateway had no certificate for the new host. ", 4)
	for b.Loop() {
		embed.Hashed{}.Embed(b.Context(), []string{text})
	}
}
