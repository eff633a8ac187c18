package core

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// The caller of an operation is in its context, so no part of the program stores a name,
// and no parameter must be passed down to where an event is written. One host serves many
// callers at once: a name in a field would be wrong for all but one of them. The journal
// reads the caller when it begins a transaction, so every event names the authorised
// caller, even an event of a part that knows nothing about callers.
//
// Subject and Label are different. The subject is the authorised user or program; only
// code that checks credentials sets it. The label is a name that the caller chose, which
// events and memories have as agent_id. It gives no rights, and no decision may depend on
// the label alone.

// Scope is a right that a caller has, such as "memory:read".
type Scope string

// The scopes. The table of operations has the scope that each operation needs.
const (
	ScopeMemoryRead  Scope = "memory:read"
	ScopeMemoryWrite Scope = "memory:write"
	ScopeMemoryErase Scope = "memory:erase"
	ScopeRun         Scope = "run"
	ScopeEvaluate    Scope = "evaluate"
	ScopeApprove     Scope = "approve"
	ScopePolicy      Scope = "policy"
	ScopePlugin      Scope = "plugin"
	ScopeOperate     Scope = "operate"
	// ScopeMetrics only lets a monitoring system read the metrics.
	ScopeMetrics Scope = "metrics"
	// ScopeStoreExport and ScopeStoreImport are about the whole contents of the store, which
	// those who only run the host needn't see.
	ScopeStoreExport Scope = "store:export"
	ScopeStoreImport Scope = "store:import"
	// ScopeModel only lets a client ask models through the gateway, which costs the host's money.
	ScopeModel Scope = "model"
)

// Scopes lists all scopes.
func Scopes() []Scope {
	return []Scope{
		ScopeMemoryRead, ScopeMemoryWrite, ScopeMemoryErase, ScopeRun, ScopeEvaluate, ScopeApprove,
		ScopePolicy, ScopePlugin, ScopeOperate, ScopeMetrics, ScopeStoreExport, ScopeStoreImport, ScopeModel,
	}
}

// The subjects of callers that have no token of their own.
const (
	// OperatorSubject is the subject of the local operator, who can read and write the data
	// folder, and so may do everything.
	OperatorSubject = "operator"
	// LocalSubject is the subject of everybody whom a server lets in that needs no credentials.
	LocalSubject = "local"
)

// The limits of a [Caller].
const (
	// MaxCallerName is the longest subject or label, in bytes: as long as an agent_id.
	MaxCallerName = 128
	// MaxCallerNamespaces is how many patterns a caller may have. They are compared one
	// by one with each namespace of a request.
	MaxCallerNamespaces = 64
)

// Caller is the user or program that asks for an operation, with its rights. The zero value is
// nobody, without rights: a Go program that embeds parts and checks no rights needs no caller. A
// caller isn't changed once it is in a context.
type Caller struct {
	// Subject is the authorised user or program, up to [MaxCallerName] bytes: a token's
	// subject, or [OperatorSubject]. Events have it as their subject.
	Subject string
	Scopes  []Scope
	// Namespaces are patterns of the namespaces that the caller reaches, see
	// [NamespaceMatches], up to [MaxCallerNamespaces].
	Namespaces []string
	// Home is the namespace of requests that name none; "" means the configured one or, if the caller
	// doesn't reach that, the first pattern's root.
	Home string
	// Label is a name that the caller chose, up to [MaxCallerName] bytes, such as an
	// agent's. Events and new memories have it as agent_id.
	Label string
	// Grant is what the caller may ask of models if it has [ScopeModel], and Token the id of the token by
	// which its budget is counted; "" for a credential without a record.
	Grant ModelGrant
	Token string
	// Until is when the caller's credential ends; zero means never. What the caller hands on,
	// such as a token that it makes, ends no later.
	Until time.Time
}

// Operator is the local operator, who has every scope in every namespace.
func Operator(label string) Caller {
	return Caller{Subject: OperatorSubject, Scopes: Scopes(), Namespaces: []string{"**"}, Label: label}
}

// Anybody is a caller of a server that needs no credentials. It may work with memories and
// workflows in every namespace, and nothing that only the operator should do.
func Anybody() Caller {
	scopes := []Scope{ScopeMemoryRead, ScopeMemoryWrite, ScopeRun, ScopeEvaluate}
	return Caller{Subject: LocalSubject, Scopes: scopes, Namespaces: []string{"**"}, Label: LocalSubject}
}

// Has reports whether the caller has a scope.
func (c Caller) Has(s Scope) bool { return slices.Contains(c.Scopes, s) }

// Reaches reports whether one of the caller's patterns matches a namespace, or
// [EveryNamespace], which only ** matches.
func (c Caller) Reaches(namespace string) bool {
	return slices.ContainsFunc(c.Namespaces, func(pattern string) bool { return NamespaceMatches(namespace, pattern) })
}

// Default is the namespace of a request that names none, where configured is the host's.
func (c Caller) Default(configured string) string {
	if c.Home != "" || len(c.Namespaces) == 0 || c.Reaches(configured) {
		return cmp.Or(c.Home, configured)
	}
	return PatternRoot(c.Namespaces[0])
}

// Validate reports everything that is wrong with a caller, in one error: sdk.Invalid of
// the reasons "subject_invalid", "agent_id_invalid" for the label, "scopes_invalid" and
// "namespaces_invalid".
func (c Caller) Validate() error {
	var problems []error
	add := func(field, format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, field+"_invalid", format, args...).WithDetail("field", field))
	}
	checkName := func(field, what, name string) {
		if len(name) > MaxCallerName {
			add(field, "the caller's %s has %d bytes (limit %d)", what, len(name), MaxCallerName)
		}
		if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			add(field, "the caller's %s %s has a control character or isn't UTF-8", what, shown(name))
		}
	}
	checkName("subject", "subject", c.Subject)
	checkName("agent_id", "label", c.Label)
	for _, s := range c.Scopes {
		if !slices.Contains(Scopes(), s) {
			add("scopes", "the caller has the scope %s, which doesn't exist", shown(string(s)))
		}
	}
	if len(c.Namespaces) > MaxCallerNamespaces {
		add("namespaces", "the caller has %d patterns of namespaces (limit %d)", len(c.Namespaces), MaxCallerNamespaces)
	}
	for _, pattern := range c.Namespaces[:min(len(c.Namespaces), MaxCallerNamespaces)] {
		if err := CheckNamespacePattern(pattern); err != nil {
			add("namespaces", "the caller's namespaces: %w", err)
		}
	}
	return JoinErrors(problems...)
}

type callerKey struct{}

// callerContext is a context with a caller. Every request makes one: a context of [context.WithValue] would be
// two allocations.
type callerContext struct {
	context.Context
	caller Caller
}

// Value implements [context.Context].
func (c *callerContext) Value(key any) any {
	if key == (callerKey{}) {
		return &c.caller
	}
	return c.Context.Value(key)
}

// WithCaller returns a context with the caller.
func WithCaller(ctx context.Context, c Caller) context.Context { return &callerContext{ctx, c} }

// WithLabel returns a context with the same caller and another label; "" keeps the
// caller's own label.
func WithLabel(ctx context.Context, label string) context.Context {
	c := CallerOf(ctx)
	if label == "" || label == c.Label {
		return ctx
	}
	c.Label = label
	return WithCaller(ctx, c)
}

// CallerOf returns the caller in a context; the zero Caller if there is none.
func CallerOf(ctx context.Context) Caller {
	if c, is := ctx.Value(callerKey{}).(*Caller); is {
		return *c
	}
	return Caller{}
}
