package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// Decisions of policies are recorded with their input, which belongs to a namespace. A
// caller sees the decisions of the namespaces that it reaches. Decisions about the host
// itself are for callers that reach all namespaces.

// decided are the operations on recorded decisions of policies.
func decided() []Operation {
	return []Operation{
		define(Operation{
			Name: "decision_list", listed: true, Method: "GET", Path: "/v1/decisions", Scope: core.ScopePolicy, ReadOnly: true, Idempotent: true,
			Doc: "List recorded decisions of policies, the oldest first unless newest is set.",
		}, ofDecisions, decisionList),
		define(Operation{
			Name: "decision_get", Method: "GET", Path: "/v1/decisions/{id}", Scope: core.ScopePolicy, ReadOnly: true, Idempotent: true,
			Doc: "Show a recorded decision: the rule, the condition that held, the inputs and the outcome.",
		}, ofDecision, decisionGet),
	}
}

// DecisionList selects recorded decisions.
type DecisionList struct {
	// Point is a policy point; "" is any.
	Point policypoint.Point `json:"point,omitempty"`
	// Namespace is the namespace for which they were made; "" is every namespace that the caller
	// reaches. Subtree includes the namespaces below.
	Namespace string `json:"namespace,omitempty"`
	Subtree   bool   `json:"subtree,omitempty"`
	// Since leaves out earlier decisions; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	// Outcome is a field of the outcome and its value, such as allow=false or
	// verdict=promote; "" is any.
	Outcome string `json:"outcome,omitempty"`
	// Newest lists the newest first.
	Newest bool `json:"newest,omitempty"`
	Paging
}

// Decided is a recorded decision in a list.
type Decided struct {
	ID        string            `json:"id"`
	At        time.Time         `json:"at"`
	Point     policypoint.Point `json:"point"`
	Namespace string            `json:"namespace,omitempty"`
	File      string            `json:"file"`
	Rule      string            `json:"rule,omitempty"`
	Output    map[string]any    `json:"output"`
	// Failure is the reason why no policy could decide.
	Failure *core.ErrorInfo `json:"failure,omitempty"`
}

// ofDecisions is the place of a list: the namespace that it names, or the host, with a
// filter by what the caller reaches.
func ofDecisions(ctx context.Context, c *Call, in *DecisionList) (place, error) {
	if in.Namespace == "" {
		return place{}, nil
	}
	return inTree(func(in *DecisionList) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

// check reports everything that is wrong with a list request.
func (in *DecisionList) check() error {
	problems := []error{oneOf("point", in.Point, policypoint.Points()), checkNamespace(in.Namespace), in.Paging.check()}
	if name, _, ok := strings.Cut(in.Outcome, "="); in.Outcome != "" && (!ok || name == "") {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "outcome_invalid", "outcome %q isn't of the form field=value", core.Cut(in.Outcome)).
			WithHint("write it like allow=false").WithDetail("field", "outcome"))
	}
	return core.JoinErrors(problems...)
}

// takes reports whether a decision is in the list.
func (in *DecisionList) takes(r *policy.Record) bool {
	if in.Point != "" && r.Point != in.Point {
		return false
	}
	if in.Namespace != "" && r.Namespace != in.Namespace && !(in.Subtree && strings.HasPrefix(r.Namespace, in.Namespace+"/")) {
		return false
	}
	name, value, _ := strings.Cut(in.Outcome, "=")
	got, there := r.Output[name]
	return in.Outcome == "" || there && fmt.Sprint(got) == value
}

// seesDecision reports whether the caller may see the decisions of a namespace; "" is the
// host itself.
func (c *Call) seesDecision(namespace string) bool {
	return c.reaches("**") || namespace != "" && c.reaches(namespace)
}

func decisionList(ctx context.Context, c *Call, in *DecisionList) (*Page[Decided], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	all := decisions.List(ctx, c.Host.Store, after, in.Since)
	if in.Newest {
		all = decisions.ListBack(ctx, c.Host.Store, after, in.Since, c.Host.Config.Clock.Now())
	}
	var list []Decided
	next := ""
	for stored, err := range all {
		var record *policy.Record
		if err == nil {
			record, err = policy.DecodeRecord(stored.Value)
		}
		if err != nil {
			return nil, sdk.Wrap("read the recorded decisions", err)
		}
		if !c.seesDecision(record.Namespace) || !in.takes(record) || record.At.Before(in.Since) {
			continue
		}
		if len(list) == limit {
			next = list[limit-1].ID
			break
		}
		list = append(list, Decided{
			stored.ID, record.At, record.Point, record.Namespace, record.File, record.Rule, record.Output, record.Failure,
		})
	}
	return pageOf(ctx, c, list, next, filter)
}

// DecisionGet names a recorded decision, or one of the gate by the id that its events name.
type DecisionGet struct {
	ID string `json:"id"`
}

// Decision is a whole recorded decision.
type Decision struct {
	ID string `json:"id"`
	*policy.Record
	// Matches are the matches of the policy's file around the match that decided, each line with the
	// values that it saw; none if the file has changed since, or the caller may not see it.
	Matches []policy.RecordedMatch `json:"matches,omitempty"`
	// Gate explains a decision of the gate: its lanes, and the conditions that the gate added to its
	// policy's. It is missing for other points, and if a policy masks what it needs.
	Gate *gate.Explanation `json:"gate,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Decision) UnmarshalJSON(data []byte) error {
	var own struct {
		ID      string
		Matches []policy.RecordedMatch
		Gate    *gate.Explanation
	}
	values := json.NewDecoder(bytes.NewReader(data))
	values.UseNumber() // whole numbers stay exact
	if err := values.Decode(&own); err != nil {
		return err
	}
	d.ID, d.Matches, d.Gate, d.Record = own.ID, own.Matches, own.Gate, &policy.Record{}
	return json.Unmarshal(data, d.Record)
}

// ofDecision is the place of a decision. For a caller that doesn't reach everything, a
// decision that is named by the start of its id, or that concerns the host itself,
// doesn't exist.
func ofDecision(ctx context.Context, c *Call, in *DecisionGet) (place, error) {
	absent := absence(decisions.NotFound, in.ID)
	found, err := c.decision(ctx, in.ID)
	if !c.reaches("**") {
		switch code := sdk.CodeOf(err); {
		case err == nil && found.ID != in.ID, code == sdk.NotFound, code == sdk.Conflict:
			return place{}, absent()
		}
	}
	if err != nil {
		return place{}, err
	}
	in.ID = found.ID
	namespace := found.Namespace
	if namespace == "" {
		namespace = "**"
	}
	return place{namespaces: []string{namespace}, absent: absent}, nil
}

func decisionGet(ctx context.Context, c *Call, in *DecisionGet) (*Decision, error) {
	d, err := c.decision(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	// Every caller may see the defaults. An operator's file has the rules of all namespaces to which
	// it applies.
	if by, matches := c.Host.Policies.Set().Retrace(ctx, d.Record); by != nil && (by.BuiltIn() || c.reaches(by.Namespace())) {
		d.Matches = matches
	}
	return d, nil
}
