package governance

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// defaultLevel is where a field comes from that no level sets.
const defaultLevel = "default"

// Governor keeps settings and resolves them. It is safe for concurrent use.
type Governor struct {
	writer *journal.Writer
	cache  *cache
}

var _ core.Governor = (*Governor)(nil)

// New returns the governor of a store.
func New(w *journal.Writer) *Governor { return &Governor{w, newCache()} }

// level is one of a chain. record is nil where it sets nothing.
type level struct {
	name   string
	record *Record
}

// checkLevel refuses what is neither a namespace nor "*".
func checkLevel(name string) error {
	if name == core.EveryNamespace {
		return nil
	}
	return core.CheckNamespace(name)
}

// reading is how a level's record is read: as the function read does it.
type reading func(r core.Reader, level string) (record *Record, unreadable, err error)

// chain reads the levels of a namespace, the most general first. failure is the
// first that can't be read; the levels end before it.
func chain(r core.Reader, namespace string, read reading) (levels []level, failure, err error) {
	if err := checkLevel(namespace); err != nil {
		return nil, nil, err
	}
	for _, name := range core.NamespaceChain(namespace) {
		record, unreadable, err := read(r, name)
		if err != nil || unreadable != nil {
			return levels, unreadable, err
		}
		levels = append(levels, level{name, record})
	}
	return levels, nil, nil
}

// Value is what holds for one field, and why.
type Value struct {
	Field string `json:"field"`
	// Value is nil where none holds.
	Value *Scalar `json:"value"`
	// Level is what gave it: a namespace, "*" or "default".
	Level string `json:"level"`
	// LockedBy is the most general level that locks the field; "" where none does.
	LockedBy string `json:"locked_by,omitempty"`
	// Overridden are the values of other levels, the most general first.
	Overridden []Other `json:"overridden,omitempty"`
}

// Other is a value that doesn't hold.
type Other struct {
	Level string `json:"level"`
	Value Scalar `json:"value"`
	// Locked is whether it stands below a lock, so that it counts nowhere.
	Locked bool `json:"locked,omitempty"`
}

// resolve finds what holds for a field at the last of the levels.
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

// meet takes the value of a more specific level, unless a lock forbids it.
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

// resolve is what holds at the last of the levels.
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
	return result
}

// depthField is the cap.
const depthField = "max_reflection_depth"

// closed is what holds where settings can't be read.
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

// Explanation says what holds in a namespace, and which level gave it.
type Explanation struct {
	Namespace string `json:"namespace"`
	// Chain are the levels, the most general first.
	Chain  []string `json:"chain"`
	Fields []Value  `json:"fields"`
	// Failure is why the settings can't be read. The cap is then 0, no memory
	// changes its state, and no other field is listed.
	Failure *core.ErrorInfo `json:"failure,omitempty"`
}

// Explain tells what holds in a namespace, or at "*".
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

// Get returns what one level itself sets; nil for nothing.
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
