package core

import (
	"context"
	"time"
)

// Point is a place where an expression or a policy decides. Each has its own
// variables.
type Point string

// The points at which the host's policies decide. Each has its typed
// input and outcome below.
const (
	PointRetention Point = "retention" // which state a memory is in
	PointGate      Point = "gate"      // whether a memory is kept, purged or promoted
	PointReflect   Point = "reflect"   // whether a reflection may be written
	PointLoop      Point = "loop"      // whether an attempt passes, and a loop gives up
	PointInjection Point = "injection" // what a turn's prompt context holds
	PointRouting   Point = "routing"   // how sure a recommendation is
	PointAdmission Point = "admission" // whether a plugin may run
	PointAccess    Point = "access"    // whether somebody may do something
)

// PolicyPoints lists the points, in the order in which they are documented.
func PolicyPoints() []Point {
	return []Point{
		PointRetention, PointGate, PointReflect, PointLoop, PointInjection, PointRouting, PointAdmission, PointAccess,
	}
}

// Decision says how a policy point was decided. Every outcome has one.
type Decision struct {
	Point     Point  `json:"point"`
	Namespace string `json:"namespace,omitempty"`
	// File is the policy's, such as "gate/strict.yaml" or "default/gate.yaml", and
	// Digest that of its text.
	File   string `json:"file"`
	Digest string `json:"digest"`
	// Rule is the id of the rule that decided, Path the place of its match in the
	// file, Condition the match's source, "" where it always holds.
	Rule        string `json:"rule,omitempty"`
	Path        string `json:"path,omitempty"`
	Condition   string `json:"condition,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	// Cost is in cel-go's units: what was counted, or else the static upper bound.
	Cost    uint64        `json:"cost"`
	Latency time.Duration `json:"latency_ns"`
	// Failure is why no policy could decide; the outcome is then the point's safe
	// one. nil where a policy decided.
	Failure *ErrorInfo `json:"failure,omitempty"`
}

// RetentionPolicy decides which state a memory is in.
type RetentionPolicy interface {
	Retention(ctx context.Context, in *RetentionInput) RetentionOutcome
}

// GatePolicy decides whether a memory is kept, purged or promoted.
type GatePolicy interface {
	Gate(ctx context.Context, in *GateInput) GateOutcome
}

// ReflectPolicy decides whether a reflection may be written.
type ReflectPolicy interface {
	Reflect(ctx context.Context, in *ReflectInput) Permission
}

// LoopPolicy decides whether an attempt passes, and whether a loop gives up.
type LoopPolicy interface {
	Loop(ctx context.Context, in *LoopInput) LoopOutcome
}

// InjectionPolicy decides what a turn's prompt context holds.
type InjectionPolicy interface {
	Injection(ctx context.Context, in *InjectionInput) InjectionOutcome
}

// RoutingPolicy decides how sure a recommendation is.
type RoutingPolicy interface {
	Routing(ctx context.Context, in *RoutingInput) RoutingOutcome
}

// AdmissionPolicy decides whether a plugin may run.
type AdmissionPolicy interface {
	Admission(ctx context.Context, in *AdmissionInput) Permission
}

// AccessPolicy decides whether somebody may do something.
type AccessPolicy interface {
	Access(ctx context.Context, in *AccessInput) Permission
}

// Permission is an outcome of reflect, admission and access. A policy that fails
// denies.
type Permission struct {
	Allow bool
	// Code is a snake_case name of a refusal, and Reason a line that says why.
	Code, Reason string
	Decision     Decision
}
