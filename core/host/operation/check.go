package operation

import (
	"cmp"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// checked is a request that reports everything that is wrong with it by itself. A missing namespace
// isn't wrong, since its operation chooses one.
type checked interface{ check() error }

// Problems reports everything that is wrong with a request by itself, without looking at what is
// stored. Do returns the same error before anything else is looked at, except for the caller's scopes.
// A surface that could decode only some fields of a request calls it for those, so that its caller
// learns everything at once. now is the time after which nothing can have occurred yet.
func (o *Operation) Problems(in any, now time.Time) error {
	switch in := in.(type) {
	case checked:
		return in.check()
	case *core.ObserveRequest:
		return memory.CheckObserve(inDefault(in), now)
	case *core.ReflectRequest:
		return memory.CheckReflect(in, now)
	case *MemoryObserveAll:
		list := make([]*core.ObserveRequest, len(in.Items))
		for i, r := range in.Items {
			list[i] = inDefault(r)
		}
		return memory.CheckObserveAll(list, now)
	case *core.RecallRequest:
		own := *in
		own.Namespace = cmp.Or(own.Namespace, config.DefaultNamespace)
		return memory.CheckRecall(&own)
	case *memory.KnowledgeQuery:
		own := *in
		own.Namespace = cmp.Or(own.Namespace, config.DefaultNamespace)
		return own.Check()
	case *core.FeedbackRequest:
		return memory.CheckFeedback(in)
	case *memory.LinkRequest:
		return in.Check()
	case *inject.BuildRequest:
		own := *in
		own.Namespace = cmp.Or(own.Namespace, config.DefaultNamespace)
		return own.Check()
	}
	return nil
}

// loads is a request with a workflow's text. Its check reads the text, and the operation uses what was
// read.
type loads interface{ loadFor(c *Call) error }

// loaded is what a request's load returns. It is called once for each call.
func loaded[T any](c *Call, in interface{ load() (T, error) }) (T, error) {
	if read, is := c.loaded.(T); is {
		return read, nil
	}
	read, err := in.load()
	if err == nil {
		c.loaded = read
	}
	return read, err
}

// problems is [Operation.Problems], and keeps what it reads for the operation.
func (c *Call) problems(o *Operation, in any) error {
	if in, is := in.(loads); is {
		return in.loadFor(c)
	}
	return o.Problems(in, c.Host.Config.Clock.Now())
}

// inDefault is a request with the default namespace if it names none; nil if it is nil.
func inDefault(r *core.ObserveRequest) *core.ObserveRequest {
	if r == nil || r.Namespace != "" {
		return r
	}
	own := *r
	own.Namespace = config.DefaultNamespace
	return &own
}

// checkNamespace refuses a namespace whose name isn't valid; "" is the default.
func checkNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	return core.CheckNamespace(namespace)
}

// inField makes a field of the request the place of an error that names none.
func inField(field string, err error) error {
	if err == nil || PointerOf(sdk.AsError(err).Details) != "" {
		return err
	}
	return sdk.AsError(err).WithDetail("field", field)
}

// PointerOf is the JSON pointer of the place that an error's details name: a pointer, or a field
// such as items[3].content. "" is the whole request.
func PointerOf(details map[string]any) string {
	if pointer, ok := details["pointer"].(string); ok {
		return pointer
	}
	field, _ := details["field"].(string)
	pointer := ""
	for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		pointer += "/" + jsontext.EscapePointer(part)
	}
	return pointer
}

func (in *AuditEntries) check() error { return core.JoinErrors(in.checkTypes(), in.Paging.check()) }

func (in *DreamPlan) check() error {
	err := in.DreamPass.check()
	if in.Plan != nil {
		err = core.JoinErrors(err, memory.CheckPlan(in.Plan))
	}
	return err
}

func (in *DreamList) check() error {
	return core.JoinErrors(checkNamespace(in.Namespace), in.Paging.check())
}

func (in *DreamConflicts) check() error {
	return core.JoinErrors((&DreamPass{Namespace: in.Namespace, Agent: in.Agent}).check(), in.Paging.check())
}

func (in *EvidenceTool) check() error { return gate.CheckTools(in.Outcomes) }

func (in *EvidenceDAG) check() error { return gate.CheckDAG(&in.WorkflowDAG) }

func (in *EvidenceOmega) check() error { return gate.CheckOmega(&in.OmegaEvidence) }

func (in *GateRun) check() error { return gate.CheckFactors(in.OmegaFactors, in.Notes) }

func (in *GateExplain) check() error { return gate.CheckFactors(in.OmegaFactors, in.Notes) }
