package policypoint

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// ReflectPolicy decides whether a reflection may be written.
type ReflectPolicy interface {
	Reflect(ctx context.Context, r core.Reader, in *ReflectInput) Permission
}

// Permission is an outcome of reflect, admission and access. A policy that fails
// denies.
type Permission struct {
	Allow bool
	// Code is a snake_case name of a refusal, and Reason a line that explains it.
	Code, Reason string
	Decision     Decision
}

// ReflectInput is what the reflect policy sees of a reflection to be written.
type ReflectInput struct {
	Namespace, AgentID, Kind, Title string
	Tags                            []string
	// Depth is the depth of the new reflection; Cap is the namespace's limit, which
	// applies whatever the policy says.
	Depth, Cap       int64
	Priority         int64
	Confidence       float64
	SourceIDs        []string
	SourceNamespaces []string
	SourceKinds      []string
}

// AdmissionInput is what the admission policy sees of a plugin that is to run.
type AdmissionInput struct {
	Namespace string
	// Plugin is publisher/name.
	Plugin, Version, Digest string
	Kinds                   []string
	// Runtime is process or wasm.
	Runtime string
	// Capabilities are the granted capabilities, as operators write them:
	// "network:example.org:443".
	Capabilities []string
	// Shipped is whether it came with the host; Locked whether a lock pins it.
	Shipped, Locked bool
}

// AccessInput is what the access policy sees of a request.
type AccessInput struct {
	// Subject is the authorised user or program: a token's subject, or [core.OperatorSubject].
	Subject string
	// Local is whether the request came from the command line of this machine.
	Local bool
	// Operation is the operation, such as "memory_reflect", and Scope the scope that a
	// token needs for it, such as "memory:write".
	Operation, Scope string
	// Namespace is the namespace in which it is to be done.
	Namespace string
	// Scopes and Namespaces are the token's scopes and namespaces.
	Scopes, Namespaces []string
}

// Word is allow or deny.
func (p Permission) Word() string {
	if p.Allow {
		return "allow"
	}
	return "deny"
}
