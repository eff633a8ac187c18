package plugin_test

import (
	"context"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
)

// BenchmarkCall is what the supervisor adds to a call of an instance.
func BenchmarkCall(b *testing.B) { benchmarkCall(b, plugin.Options{}, nil) }

// BenchmarkCallInScope is the same under a scope with admission and an environment.
func BenchmarkCallInScope(b *testing.B) {
	admit := func(context.Context, plugin.Installed) error { return nil }
	benchmarkCall(b, plugin.Options{Admit: admit}, keyed("team", "KEY=1"))
}

func benchmarkCall(b *testing.B, o plugin.Options, scope *plugin.Scope) {
	o.Installed, o.Driver = []plugin.Installed{{Name: "p"}}, &driver{}
	s := plugin.NewSupervisor(o)
	defer s.Close()
	ctx := b.Context()
	if scope != nil {
		ctx = plugin.WithScope(ctx, scope)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := evaluate(ctx, s); err != nil {
			b.Fatal(err)
		}
	}
}
