package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// extismTarget is the most that a call of an Extism plug-in may take here, as a
// share of what it takes in Extism's own SDK.
const extismTarget = 0.25

// TestPeersExtism calls one plug-in, the vowel counter of Extism's own tests, in
// Extism's Go SDK and in this project's host, in turns.
func TestPeersExtism(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(string(out[:len(out)-1]), "wasm", "count_vowels.wasm")
	ours, theirs := ownCounter(t, path), extismCounter(t, path)
	var a, b []float64
	for range rounds {
		a = append(a, perCall(t, ours))
		b = append(b, perCall(t, theirs))
	}
	slices.Sort(a)
	slices.Sort(b)
	ratio := a[rounds/2] / b[rounds/2]
	fmt.Printf("\nAn Extism plug-in (count_vowels), µs per call: here %.1f (p10 %.1f), in Extism's Go SDK %.1f (p10 %.1f).\n",
		a[rounds/2], a[rounds/10], b[rounds/2], b[rounds/10])
	fmt.Printf("Ours over theirs: %.2f, target ≤ %.2f.\n\n", ratio, extismTarget)
	if ratio > extismTarget {
		t.Errorf("a call takes %.2f of Extism's time: the target is at most %.2f", ratio, extismTarget)
	}
}

// perCall is the mean time of a turn's calls, in microseconds.
func perCall(t *testing.T, call func() error) float64 {
	t.Helper()
	const calls = 200
	runtime.GC()
	begin := time.Now()
	for range calls {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	return float64(time.Since(begin).Nanoseconds()) / 1e3 / calls
}

const vowels = "The quick brown fox jumps over the lazy dog"

func ownCounter(t *testing.T, path string) func() error {
	t.Helper()
	d, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	p := plugin.Installed{Name: "vowels", Path: path, Limits: plugin.Limits{StartTimeout: time.Minute}}
	i, err := d.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	c := plugin.Config{JSON: json.RawMessage(`{"function":"count_vowels"}`), Digest: "c"}
	reqs := []*sdk.CorrectRequest{{Output: json.RawMessage(`"` + vowels + `"`)}}
	return func() error {
		results, err := i.Correct(context.Background(), c, reqs)
		if err != nil {
			return err
		}
		return results[0].Err
	}
}

func extismCounter(t *testing.T, path string) func() error {
	t.Helper()
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmFile{Path: path}}}
	p, err := extism.NewPlugin(t.Context(), manifest, extism.PluginConfig{EnableWasi: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return func() error {
		_, _, err := p.Call("count_vowels", []byte(vowels))
		return err
	}
}
