package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
)

// moduleFacts are what a plugin's module is.
type moduleFacts struct {
	File string `json:"file"`
	*wasm.Info
	// ABI is how it is spoken to.
	ABI string `json:"abi,omitempty"`
	// Pure is whether equal calls get the same answer, which is kept; if not,
	// Impure says why.
	Pure   bool   `json:"pure"`
	Impure string `json:"impure,omitempty"`
	// Problem is why it can't be called.
	Problem *core.ErrorInfo `json:"problem,omitempty"`

	installed plugin.Installed
}

func inspectModule(ctx context.Context, p plugin.Installed) *moduleFacts {
	m := &moduleFacts{File: p.Path, installed: p}
	info, err := wasm.Inspect(ctx, p)
	if err != nil {
		m.Problem = core.NewErrorInfo(err)
		return m
	}
	m.Info, m.ABI = &info, info.Kind.ABI()
	m.Impure = wasm.Impure(p)
	m.Pure = m.Impure == ""
	return m
}

// rows are the facts for people.
func (m *moduleFacts) rows() [][2]string {
	if m.Problem != nil {
		return [][2]string{{"file", m.File}, {"problem", m.Problem.Message}, {"hint", m.Problem.Hint}}
	}
	pure := "no: " + m.Impure
	if m.Pure {
		pure = "yes: equal calls get the same answer, which is kept"
	}
	return [][2]string{
		{"file", m.File}, {"kind", string(m.Kind)}, {"abi", m.ABI},
		{"exports", strings.Join(m.Exports, ", ")}, {"imports", m.imports()},
		{"metered", meteredText(m.Info)}, {"state", m.state()}, {"pure", pure},
	}
}

// meteredText says whether fuel bounds a module, and if not why.
func meteredText(info *wasm.Info) string {
	if info.Metered {
		return "yes"
	}
	return "no, so it has a deadline and no fuel: " + info.Unmetered
}

// wasi begins the names of functions that every host has, and most guests import.
const wasi = "wasi_snapshot_preview1."

// imports lists what it wants of this host, and counts the rest.
func (m *moduleFacts) imports() string {
	own := slices.DeleteFunc(slices.Clone(m.Imports), func(name string) bool { return strings.HasPrefix(name, wasi) })
	if n := len(m.Imports) - len(own); n > 0 {
		own = append(own, fmt.Sprintf("%d of WASI", n))
	}
	return orNothing(own)
}

// state says what a call finds of those before it.
func (m *moduleFacts) state() string {
	switch {
	case m.installed.Stateful:
		return "kept from call to call (stateful: true)"
	case m.installed.Isolated:
		return "a new instance for each call (isolation: call)"
	case m.Restorable:
		return "put back before each call"
	}
	return "a new instance for each call: " + m.Unrestorable
}
