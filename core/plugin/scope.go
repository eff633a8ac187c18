package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
)

// Scope belongs to the calls of one run, or of one other operation: it has their namespace and run,
// and what they may reach. One [Supervisor] serves any number of scopes at a time, and no call sees
// anything of another's scope.
//
// The context carries it ([WithScope]), so it is known wherever a call goes: at admission, in
// the pool, when the plugin asks the host for something, and in the plugins that are called
// for that. A plugin sees nothing of it except its own Env.
//
// The fields are set before the first call, and not changed later; Recall may be set
// while no call is under way. Env holds secrets: a scope is never logged or stored,
// and prints as its namespace and run. It must not be copied.
type Scope struct {
	// Namespace is the namespace of the calls. Admission decides by it.
	Namespace string
	// RunID is the run that makes the calls; "" is none. The plugins' questions to the host
	// are answered for this run, whatever run they name.
	RunID string
	// Folder is the folder of the run's workflow on this machine, which programs may work on a copy of;
	// "" is none.
	Folder string
	// LLM is the generator behind llm.complete. Its config has the operator's settings of the
	// endpoint, such as {"llm": {…}}, to which a plugin's request is added. If it names no
	// plugin, llm.complete is refused.
	LLM core.Target
	// Recall answers memory.recall. Nil means that there is no memory.
	Recall core.Recaller
	// Env holds, by plugin, NAME=value pairs on top of what each call of the plugin is granted
	// ([Installed.Env]), such as the key that a workflow names as api_key_env. Of two pairs with the
	// same name the later counts, and a pair of the scope overrides the plugin's own pair. Calls with
	// different pairs never share an instance.
	Env map[string][]string `json:"-"`

	mu       sync.Mutex
	envs     map[string]environment // of Env, by plugin
	admitted map[string]admission   // the last one, by plugin
	digest   *[sha256.Size]byte     // nil until it is asked for
}

type scopeKey struct{}

// WithScope returns a context whose calls of plugins are made under a scope.
func WithScope(ctx context.Context, s *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns the scope of a context. If the context has none, it returns an empty scope: no
// namespace, model, memory or environment.
func ScopeOf(ctx context.Context) *Scope {
	if s := scopeIn(ctx); s != nil {
		return s
	}
	return new(Scope)
}

// scopeIn returns the scope of a context, nil if it has none.
func scopeIn(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// Format prints a scope without its secrets, whatever the verb.
func (s *Scope) Format(f fmt.State, _ rune) {
	if s == nil {
		_, _ = io.WriteString(f, "no scope")
		return
	}
	_, _ = fmt.Fprintf(f, "scope of namespace %q, run %q", s.Namespace, s.RunID)
}

// Digest identifies everything on which answers to plugins may depend: namespace, model and
// environment. Scopes that differ only in their run have the same digest. It is derived from
// secrets, so it may be compared but never shown.
func (s *Scope) Digest() [sha256.Size]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.digest != nil {
		return *s.digest
	}
	texts := []string{s.Namespace, s.LLM.Plugin, string(s.LLM.Config)}
	for _, plugin := range slices.Sorted(maps.Keys(s.Env)) {
		if pairs := normalized(s.Env[plugin]); len(pairs) > 0 {
			texts = append(append(texts, "", plugin), pairs...) // no pair is ""
		}
	}
	digest := digestOf(texts)
	s.digest = &digest
	return digest
}

// environment is the variables that a scope has for one plugin.
type environment struct {
	pairs []string // sorted, one for each name
	// key is derived from the values too: it finds pools, and is never shown.
	key [sha256.Size]byte
}

// environment returns the variables that a scope has for a plugin; the zero value if it has none,
// or if the scope is nil.
func (s *Scope) environment(plugin string) environment {
	if s == nil || len(s.Env[plugin]) == 0 {
		return environment{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, known := s.envs[plugin]
	if !known {
		if e.pairs = normalized(s.Env[plugin]); len(e.pairs) > 0 {
			e.key = digestOf(e.pairs)
		}
		if s.envs == nil {
			s.envs = map[string]environment{}
		}
		s.envs[plugin] = e
	}
	return e
}

// names lists the names of the pairs.
func (e environment) names() string {
	names := make([]string, len(e.pairs))
	for i, pair := range e.pairs {
		names[i], _, _ = strings.Cut(pair, "=")
	}
	return strings.Join(names, ",")
}

// normalized sorts pairs. Of two pairs with the same name the later counts; a pair without a name
// or without = is dropped.
func normalized(pairs []string) []string {
	values := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			values[name] = value
		}
	}
	sorted := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		sorted = append(sorted, name+"="+values[name])
	}
	return sorted
}

// digestOf is the SHA-256 of texts, each after its length.
func digestOf(texts []string) [sha256.Size]byte {
	h := sha256.New()
	var size [8]byte
	for _, text := range texts {
		h.Write(binary.LittleEndian.AppendUint64(size[:0], uint64(len(text))))
		io.WriteString(h, text) //nolint:errcheck // a hash takes everything
	}
	return [sha256.Size]byte(h.Sum(nil))
}
