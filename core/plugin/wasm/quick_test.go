package wasm_test

import (
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
)

func TestQuick(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for _, mode := range []string{"c-shared", "exe"} {
		b := time.Now()
		i := start(t, d, plugin.Installed{Path: goGuest(t, mode)})
		t.Log(mode, "start", time.Since(b))
		for _, what := range []string{"count", "count", "world", "call", "nan", "fail", "panic", "work", "sleep", "log", ""} {
			b := time.Now()
			r, err := evaluate(i, do(what), `{"a":1}`)
			t.Log(what, r, err, time.Since(b))
		}
	}
}
