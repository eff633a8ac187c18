package governance

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// defaultLevel is the level of a value that no level sets.
const defaultLevel = "default"

// Governor stores settings and resolves them. It is safe for concurrent use.
type Governor struct {
	writer *journal.Writer
	cache  *cache
}

var _ core.Governor = (*Governor)(nil)

// New returns the governor of a store.
func New(w *journal.Writer) *Governor { return &Governor{w, newCache()} }

// level is one level of a chain. record is nil if it sets nothing.
type level struct {
	name   string
	record *Record
}

// checkLevel refuses a name that is neither a namespace nor "*".
func checkLevel(name string) error {
	if name == core.EveryNamespace {
		return nil
	}
	return core.CheckNamespace(name)
}

// reading is a function that reads a level's record, like the function read.
type reading func(r core.Reader, level string) (record *Record, unreadable, err error)

// chain reads the levels of a namespace, the most general first. failure is the error of
// the first that can't be read; the levels end before it.
func chain(r core.Reader, namespace string, read reading) (levels []level, failure, err error) {
	if err := checkLevel(namespace); err != nil {
		return nil, nil, err
	}
	names := core.NamespaceChain(namespace)
	err = core.Prefetch(r, func() (reads core.Reads) {
		for _, name := range names {
			reads.Keys = append(reads.Keys, key(name))
		}
		return reads
	})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		record, unreadable, err := read(r, name)
		if err != nil || unreadable != nil {
			return levels, unreadable, err
		}
		levels = append(levels, level{name, record})
	}
	return levels, nil, nil
}

// Value is the value in force of one field, and why.
type Value struct {
	Field string `json:"field"`
	// Value is nil if there is none.
	Value *Scalar `json:"value"`
	// Level is where the value comes from: a namespace, "*" or "default".
	Level string `json:"level"`
	// LockedBy is the most general level that locks the field; "" if none does.
	LockedBy string `json:"locked_by,omitempty"`
	// Overridden are the values of other levels, the most general first.
	Overridden []Other `json:"overridden,omitempty"`
}

// Other is a value that isn't in force.
type Other struct {
	Level string `json:"level"`
	Value Scalar `json:"value"`
	// Locked is whether a level above locks the field, so that the value is ignored
	// everywhere.
	Locked bool `json:"locked,omitempty"`
}

// resolve finds the value in force of a field at the last of the levels.
func (f *Field) resolve(levels []level) Value {
	v := Value{Field: f.Name, Value: f.Default, Level: defaultLevel}
	for _, l := range levels {
		if l.record == nil {
			continue
		}
		if set := f.of(l.record); set != nil {
			v.meet(l.name, set)
		}
		if v.LockedBy == "" && l.record.locks(f.Name) {
			v.LockedBy = l.name
		}
	}
	return v
}

// meet takes the value of a more specific level, unless the field is locked.
func (v *Value) meet(name string, set *Scalar) {
	if v.LockedBy != "" {
		v.Overridden = append(v.Overridden, Other{name, *set, true})
		return
	}
	if v.Level != defaultLevel {
		v.Overridden = append(v.Overridden, Other{v.Level, *v.Value, false})
	}
	v.Value, v.Level = set, name
}

// Resolve implements [core.Governor].
func (g *Governor) Resolve(r core.Reader, namespace string) (*core.Governance, error) {
	levels, failure, err := chain(r, namespace, g.cache.read)
	if err != nil {
		return nil, sdk.Wrap("read the settings of "+namespace, err)
	}
	if failure != nil {
		return closed(namespace, failure), nil
	}
	return g.cache.resolve(namespace, levels), nil
}

// resolve returns the settings in force at the last of the levels.
func resolve(namespace string, levels []level) *core.Governance {
	result := &core.Governance{Namespace: namespace}
	for _, f := range Fields() {
		v := f.resolve(levels)
		if v.Value != nil {
			f.apply(result, *v.Value)
		}
		if f.Name == depthField {
			result.DecidedBy, result.DepthLocked = v.Level, v.LockedBy != ""
		}
		if v.Level != defaultLevel {
			if result.SetBy == nil {
				result.SetBy = map[string]string{}
			}
			result.SetBy[f.Name] = v.Level
		}
	}
	result.Quotas = quotas(namespace, levels)
	return result
}

// quotas are the limits of a tenant, by the value in force at its level, and of each level below
// it that sets one.
func quotas(namespace string, levels []level) (list []core.Quota) {
	if namespace == core.EveryNamespace {
		return nil
	}
	tenant := slices.IndexFunc(levels, func(l level) bool { return l.name == core.Tenant(namespace) })
	for _, f := range Fields() {
		limit, _ := strings.CutPrefix(f.Name, "limits.")
		if limit != core.QuotaMemories && limit != core.QuotaBytes {
			continue
		}
		for i := tenant; i < len(levels); i++ {
			name, v := levels[i].name, f.resolve(levels[:i+1])
			if v.Value.number > 0 && (i == tenant || v.Level == name) {
				list = append(list, core.Quota{Namespace: name, Limit: limit, Most: int64(v.Value.number), Level: v.Level})
			}
		}
	}
	return list
}

// depthField is the depth limit.
const depthField = "max_reflection_depth"

// closed are the settings in force if the stored settings can't be read.
func closed(namespace string, failure error) *core.Governance {
	return &core.Governance{
		Namespace: namespace, DecidedBy: failedLevel(failure), DepthLocked: true,
		Retention: core.DefaultRetentionWeights(), MinGateConfidence: 1, Failure: failure,
	}
}

func failedLevel(failure error) string {
	name, _ := sdk.AsError(failure).Details["level"].(string)
	return name
}

// Explanation has the settings in force in a namespace, and which level each comes from.
type Explanation struct {
	Namespace string `json:"namespace"`
	// Chain are the levels, the most general first.
	Chain  []string `json:"chain"`
	Fields []Value  `json:"fields"`
	// Failure is why the settings can't be read. The depth limit is then 0, no memory
	// changes its state, and no other field is listed.
	Failure *core.ErrorInfo `json:"failure,omitempty"`
}

// Explain returns the settings in force in a namespace, or at "*".
func (g *Governor) Explain(ctx context.Context, namespace string) (*Explanation, error) {
	e := &Explanation{Namespace: namespace, Chain: core.NamespaceChain(namespace)}
	err := g.writer.Store.View(ctx, func(r core.Reader) error {
		levels, failure, err := chain(r, namespace, read)
		if failure != nil {
			e.Failure = core.NewErrorInfo(failure)
			name := failedLevel(failure)
			e.Fields = []Value{{Field: depthField, Value: &Scalar{}, Level: name, LockedBy: name}}
		}
		if err != nil || failure != nil {
			return err
		}
		for _, f := range Fields() {
			e.Fields = append(e.Fields, f.resolve(levels))
		}
		return nil
	})
	if err != nil {
		return nil, sdk.Wrap("explain the settings of a namespace", err)
	}
	return e, nil
}

// Get returns what one level itself sets; nil if it sets nothing.
func (g *Governor) Get(ctx context.Context, namespace string) (record *Record, err error) {
	err = g.writer.Store.View(ctx, func(r core.Reader) error {
		if err := checkLevel(namespace); err != nil {
			return err
		}
		var unreadable error
		record, unreadable, err = read(r, namespace)
		return core.JoinErrors(err, unreadable)
	})
	return record, sdk.Wrap("read the settings of a namespace", err)
}
