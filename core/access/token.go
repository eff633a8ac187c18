package access

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// The limits of a token.
const (
	// DefaultLifetime is how long a token is valid by default, and MaxLifetime is the
	// longest time: a token that nobody renews should end.
	DefaultLifetime = 90 * 24 * time.Hour
	MaxLifetime     = 365 * 24 * time.Hour
	// MinLifetime is shorter than any use of a token.
	MinLifetime = time.Minute
	// MaxLabel is the longest label of a token, in bytes.
	MaxLabel = 128
	// MaxTokens is how many tokens a store may have, including those that ended within
	// [KeepEnded]: each new one reads all of them, in about 10 ms for that many.
	MaxTokens = 10_000
	// KeepEnded is how long a token that expired or was revoked is still listed.
	KeepEnded = 30 * 24 * time.Hour
)

// State is whether a token is valid.
type State string

// The states of a token.
const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
)

// Token is what is known about a token, without its secret.
type Token struct {
	ID string `json:"id"`
	// Subject is who uses it: the subject of its callers.
	Subject    string       `json:"subject"`
	Scopes     []core.Scope `json:"scopes"`
	Namespaces []string     `json:"namespaces"`
	// DefaultNamespace is the namespace of requests that name none.
	DefaultNamespace string `json:"default_namespace,omitempty"`
	// The models that it may ask with the scope model, and for how much.
	core.ModelGrant
	// Label describes what the token is for, for people.
	Label string `json:"label,omitempty"`
	// IssuedBy is the subject that made it. Revoking a token doesn't end tokens that were
	// made with it.
	IssuedBy  string    `json:"issued_by,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// LastUsedAt is when it was last used, to the hour; zero means never.
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
}

// State is the state of the token at a time.
func (t *Token) State(now time.Time) State {
	switch {
	case !t.RevokedAt.IsZero():
		return Revoked
	case !now.Before(t.ExpiresAt):
		return Expired
	}
	return Active
}

// ended is when the token ended, or will end.
func (t *Token) ended() time.Time {
	if !t.RevokedAt.IsZero() && t.RevokedAt.Before(t.ExpiresAt) {
		return t.RevokedAt
	}
	return t.ExpiresAt
}

// caller is the caller that uses the token. Over a network nobody can choose another
// name: the caller's label is the token's subject.
func (t *Token) caller() core.Caller {
	return core.Caller{Subject: t.Subject, Scopes: slices.Clip(t.Scopes), Namespaces: slices.Clip(t.Namespaces), Home: t.DefaultNamespace, Label: t.Subject, Grant: t.ModelGrant, Token: t.ID, Until: t.ExpiresAt}
}

// record is the stored form of a token. [Token.LastUsedAt] has its own key, so that a
// use doesn't conflict with a revocation.
type record struct {
	Token
	Digest digest `json:"digest"`
}

// reserved reports whether no token may be made for a subject: an issuer vouches for a person by
// [SubjectPrefix], and the host for the names of its own, in whatever case they are written.
func reserved(subject string) bool {
	return strings.HasPrefix(strings.ToLower(subject), SubjectPrefix) || slices.ContainsFunc([]string{core.OperatorSubject, core.LocalSubject, systemSubject}, func(name string) bool {
		return strings.EqualFold(subject, name)
	})
}

// systemSubject is the user of the jobs that nobody asked for.
const systemSubject = "system"

// Request asks for a token.
type Request struct {
	// Subject is who will use the token, 1 to [core.MaxCallerName] bytes. Several tokens
	// may have the same subject.
	Subject string
	// Scopes and Namespaces are what it may be used for; both are required.
	Scopes     []core.Scope
	Namespaces []string
	// DefaultNamespace is the namespace of requests that name none, which one of the patterns matches;
	// "" means the first pattern's root.
	DefaultNamespace string
	// ModelGrant is what it may ask of models; it needs [core.ScopeModel].
	core.ModelGrant
	// Label describes what the token is for, for people, in up to [MaxLabel] bytes.
	Label string
	// Lifetime is from [MinLifetime] to [MaxLifetime], and ends no later than the caller that
	// asks; 0 is [DefaultLifetime], or until the caller's end.
	Lifetime time.Duration

	ends bool // whether the lifetime was given
}

// Check reports everything that is wrong with a request, and converts it to the stored form.
func (q *Request) Check() error {
	var problems []error
	add := func(field, format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, field+"_invalid", format, args...).WithDetail("field", field))
	}
	text := func(field, value string, limit int, unwanted func(rune) bool) {
		if len(value) > limit {
			add(field, "%s has %d bytes (limit %d)", field, len(value), limit)
		} else if !utf8.ValidString(value) || strings.ContainsFunc(value, unwanted) || strings.TrimSpace(value) != value {
			add(field, "%s %q isn't a line of text without space around it, and without invisible characters", field, core.Cut(value))
		}
	}
	switch text("subject", q.Subject, core.MaxCallerName, invisible); {
	case q.Subject == "":
		add("subject", "subject is missing: it says who uses the token")
	case q.Subject == core.OperatorSubject:
		add("subject", "subject %s is reserved for the local operator, who has a token of its own", core.OperatorSubject)
	case reserved(q.Subject):
		add("subject", "subject %q is reserved: the names %s, %s and %s belong to the host, and names that begin with %s to the issuer", core.Cut(q.Subject), core.OperatorSubject, core.LocalSubject, systemSubject, SubjectPrefix)
	}
	text("label", q.Label, MaxLabel, unicode.IsControl)
	problems = append(problems, q.scopeProblems()...)
	switch n := len(q.Namespaces); {
	case n == 0:
		add("namespaces", "namespaces is empty: a token without namespaces is useless")
	case n > core.MaxCallerNamespaces:
		add("namespaces", "namespaces has %d patterns (limit %d)", n, core.MaxCallerNamespaces)
	}
	for i, pattern := range q.Namespaces[:min(len(q.Namespaces), core.MaxCallerNamespaces)] {
		if err := core.CheckNamespacePattern(pattern); err != nil {
			problems = append(problems, sdk.AsError(err).WithDetail("pointer", fmt.Sprintf("/namespaces/%d", i)))
		}
	}
	if q.DefaultNamespace != "" {
		if err := core.CheckNamespace(q.DefaultNamespace); err != nil {
			problems = append(problems, sdk.AsError(err).WithDetail("field", "default_namespace"))
		} else if !(core.Caller{Namespaces: q.Namespaces}).Reaches(q.DefaultNamespace) {
			add("default_namespace", "default_namespace %s isn't in the token's namespaces", core.Cut(q.DefaultNamespace))
		}
	}
	problems = append(problems, q.ModelGrant.Check())
	if q.Bounded() && !slices.Contains(q.Scopes, core.ScopeModel) {
		add("models", "models and budget are of the scope %s, which isn't among the scopes", core.ScopeModel)
	}
	q.ends = q.Lifetime != 0
	if !q.ends {
		q.Lifetime = DefaultLifetime
	}
	if q.Lifetime < MinLifetime || q.Lifetime > MaxLifetime {
		add("expires_in", "expires_in is less than %s or more than %d days", MinLifetime, int(MaxLifetime.Hours()/24))
	}
	if err := core.JoinErrors(problems...); err != nil {
		return err
	}
	if q.DefaultNamespace == "" {
		q.DefaultNamespace = core.PatternRoot(q.Namespaces[0])
	}
	q.Namespaces = slices.Compact(slices.Sorted(slices.Values(q.Namespaces)))
	q.Models = slices.Compact(slices.Sorted(slices.Values(q.Models)))
	q.Scopes = slices.DeleteFunc(core.Scopes(), func(s core.Scope) bool { return !slices.Contains(q.Scopes, s) })
	return nil
}

// invisible reports whether a character can't be seen, so that a name with it looks like
// another name.
func invisible(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r)
}

// within bounds the lifetime by the end of the caller that asks for the token: a token that
// outlived it would be a right that the caller doesn't have.
func (q *Request) within(c core.Caller, now time.Time) error {
	if c.Until.IsZero() || !now.Add(q.Lifetime).After(c.Until) {
		return nil
	}
	left := c.Until.Sub(now).Truncate(time.Second)
	if q.ends || left < MinLifetime {
		return sdk.Errorf(sdk.Denied, "expires_in_denied", "a token can't outlast the credential that makes it, which ends at %s", c.Until.UTC().Format(time.RFC3339)).
			WithHint("give an earlier end, or ask the operator").WithDetail("field", "expires_in")
	}
	q.Lifetime = left
	return nil
}

// withinGrant refuses models that the caller that asks for the token may not ask itself. A caller with a
// budget gives none: two tokens with its budget would be twice as much.
func (q *Request) withinGrant(c core.Caller) error {
	if !slices.Contains(q.Scopes, core.ScopeModel) || !c.Grant.Bounded() {
		return nil
	}
	if c.Grant.Budget == nil && len(q.Models) > 0 && !slices.ContainsFunc(q.Models, func(name string) bool { return !c.Grant.MayAsk(name) }) {
		return nil
	}
	return sdk.Errorf(sdk.Denied, "models_denied", "a token for models can't have more than the credential that makes it: its models, and no budget of its own").
		WithHint("name models that you may ask yourself, or ask the operator").WithDetail("field", "models")
}

func (q *Request) scopeProblems() (problems []error) {
	known := make([]string, len(core.Scopes()))
	for i, s := range core.Scopes() {
		known[i] = string(s)
	}
	all := strings.Join(known, ", ")
	if len(q.Scopes) == 0 {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "scopes_invalid", "scopes is empty: a token without scopes is useless").
			WithHint("give one or more of %s", all).WithDetail("field", "scopes"))
	}
	for _, s := range slices.Compact(slices.Sorted(slices.Values(q.Scopes))) {
		if len(problems) == len(known) {
			break // no more errors than there are scopes
		}
		if !slices.Contains(core.Scopes(), s) {
			problems = append(problems, sdk.Errorf(sdk.Invalid, "scopes_invalid", "scopes: there is no scope %q", core.Cut(string(s))).
				WithHint("%s", sdk.DidYouMean(string(s), known, "the scopes are "+all)).WithDetail("field", "scopes"))
		}
	}
	return problems
}
