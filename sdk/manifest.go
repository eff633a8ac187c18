package sdk

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// ContractVersion is the version of the contract that this package describes. It grows
// when a message gains a meaning that an older side would miss. New optional fields
// don't change it, because unknown fields are ignored.
const ContractVersion = 1

// Kind is something a plugin can do.
type Kind string

// The kinds of plugins. One plugin may have several.
const (
	KindEvaluator Kind = "evaluator"
	KindGenerator Kind = "generator"
	KindCorrector Kind = "corrector"
)

// Manifest is a plugin's description of itself.
type Manifest struct {
	// Name is the plugin's name within its publisher: [a-z][a-z0-9-]*, at most
	// 64 bytes.
	Name string `json:"name"`
	// Version is a semantic version without "v", such as "1.4.0".
	Version string `json:"version"`
	// Contract is the contract version that the plugin was built with.
	Contract int `json:"contract"`
	// Kinds are what the plugin can do, sorted.
	Kinds []Kind `json:"kinds"`
	// Description is one line for listings.
	Description string `json:"description,omitempty"`
	// ConfigSchema is a JSON Schema of the plugin's config. Empty means any object.
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	// Capabilities are what the plugin asks to be granted, such as "network".
	Capabilities []string `json:"capabilities,omitempty"`
	// Parallel is how many calls one instance takes at a time. Default 1.
	Parallel int `json:"parallel,omitempty"`
}

var pluginName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`) })

// Validate reports everything wrong with the manifest, as one [Invalid] error
// of reason "manifest_invalid", or nil.
func (m *Manifest) Validate() error {
	var problems []string
	if !pluginName().MatchString(m.Name) {
		problems = append(problems, fmt.Sprintf("name %q is not [a-z][a-z0-9-]* of at most 64 bytes", m.Name))
	}
	if m.Version == "" || len(m.Version) > 64 {
		problems = append(problems, fmt.Sprintf("version %q is not 1 to 64 bytes", m.Version))
	}
	if m.Contract < 1 {
		problems = append(problems, fmt.Sprintf("contract %d is not a contract version", m.Contract))
	}
	if len(m.Kinds) == 0 {
		problems = append(problems, "kinds is empty: a plugin evaluates, generates or corrects")
	}
	for _, k := range m.Kinds {
		if !slices.Contains([]Kind{KindEvaluator, KindGenerator, KindCorrector}, k) {
			problems = append(problems, fmt.Sprintf("kind %q is not evaluator, generator or corrector", k))
		}
	}
	if len(m.ConfigSchema) > 0 && !json.Valid(m.ConfigSchema) {
		problems = append(problems, "config_schema is not JSON")
	}
	if m.Parallel < 0 {
		problems = append(problems, fmt.Sprintf("parallel %d is negative", m.Parallel))
	}
	if len(problems) == 0 {
		return nil
	}
	return Errorf(Invalid, "manifest_invalid", "plugin manifest: %s", joinProblems(problems)).
		WithDetail("problems", problems)
}

// Has reports whether the plugin has a kind.
func (m *Manifest) Has(k Kind) bool { return slices.Contains(m.Kinds, k) }

func joinProblems(problems []string) string {
	text := problems[0]
	for _, p := range problems[1:] {
		text += "; " + p
	}
	return text
}
