package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin/wasm"
)

// moduleRows are the facts about a module, for people.
func moduleRows(out *output, m *host.Module) [][2]string {
	if m.Problem != nil {
		return [][2]string{{"file", m.File}, {"problem", m.Problem.Message}, {"hint", out.hint(m.Problem)}}
	}
	pure := "no: " + m.Impure
	if m.Pure {
		pure = "yes: equal calls get the same answer, which is cached"
	}
	return [][2]string{
		{"file", m.File}, {"kind", string(m.Kind)}, {"abi", m.ABI},
		{"exports", strings.Join(m.Exports, ", ")}, {"imports", moduleImports(m)},
		{"metered", meteredText(m.Info)}, {"state", moduleState(m)}, {"pure", pure},
	}
}

// meteredText describes whether fuel limits a module, and if not, why.
func meteredText(info *wasm.Info) string {
	if info.Metered {
		return "yes"
	}
	return "no, so it has a deadline and no fuel: " + info.Unmetered
}

// wasi is the prefix of functions that every host has, and that most guests import.
const wasi = "wasi_snapshot_preview1."

// moduleImports lists the functions of this host that a module imports, and counts the
// rest.
func moduleImports(m *host.Module) string {
	own := slices.DeleteFunc(slices.Clone(m.Imports), func(name string) bool { return strings.HasPrefix(name, wasi) })
	if n := len(m.Imports) - len(own); n > 0 {
		own = append(own, fmt.Sprintf("%d of WASI", n))
	}
	return orNothing(own)
}

// moduleState describes what a call finds from earlier calls.
func moduleState(m *host.Module) string {
	switch {
	case m.Stateful:
		return "kept from call to call (stateful: true)"
	case m.Isolated:
		return "a new instance for each call (isolation: call)"
	case m.Restorable:
		return "restored before each call"
	}
	return "a new instance for each call: " + m.Unrestorable
}
