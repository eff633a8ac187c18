package plugin_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
)

// BenchmarkCall is what the supervisor adds to a call of an instance.
func BenchmarkCall(b *testing.B) {
	s := plugin.NewSupervisor(plugin.Options{Installed: []plugin.Installed{{Name: "p"}}, Driver: &driver{}})
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := evaluate(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}
