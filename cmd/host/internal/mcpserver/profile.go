package mcpserver

import (
	"net/http"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Each listed tool uses part of an agent's context, in every turn. So a client chooses how
// many it gets.

// Profile determines which tools are listed. Each profile includes the tools of the
// previous one.
type Profile string

const (
	// Agent is for an agent that remembers: the default.
	Agent Profile = "agent"
	// Loop is for an agent that also lets its outputs be judged and corrected.
	Loop Profile = "loop"
	// All is every tool.
	All Profile = "all"
)

// Profiles are all profiles, the smallest first.
func Profiles() []Profile { return []Profile{Agent, Loop, All} }

// ParseProfile is the profile of a name; "" is [Agent].
func ParseProfile(name string) (Profile, error) {
	if name == "" {
		return Agent, nil
	}
	if p := Profile(name); slices.Contains(Profiles(), p) {
		return p, nil
	}
	names := []string{string(Agent), string(Loop), string(All)}
	return Agent, sdk.Errorf(sdk.Invalid, "profile_unknown", "profile %q is not one of %s", core.Cut(name), strings.Join(names, ", ")).
		WithHint("%s", sdk.DidYouMean(name, names, "")).WithDetail("field", "profile")
}

// has reports whether the tools of another profile are in this one.
func (p Profile) has(other Profile) bool {
	return slices.Index(Profiles(), other) <= slices.Index(Profiles(), p)
}

// profileOf is the profile that a request over HTTP chooses.
func profileOf(r *http.Request) (Profile, error) { return ParseProfile(r.URL.Query().Get("profile")) }
