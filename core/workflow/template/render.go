package template

import (
	"maps"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"

	"github.com/reflectory/reflectory/sdk"
)

// gonja's own evaluator isn't used, because it calls methods of Go values, reads files
// and has no limit: a template of 40 bytes can multiply a text until memory is exhausted.
// This one counts a step for each node that it evaluates, and for each element and piece
// of text that a filter processes, and stops at a limit (maxWork). A time limit wouldn't
// do: the same template would pass on one machine and fail on another, but a resumed run
// has to render the same text as the first one.

// render is one rendering: the names in scope, the output, and the work done so far.
type render struct {
	given  map[string]any // the template's variables
	vars   map[string]any // given, and the names that tags bound
	macros map[string]*macroTag
	out    strings.Builder
	spent  int
	// filters is the full set of filters, in which map looks up a name.
	filters map[string]filter
}

// undefined is the value of a name that doesn't exist. Using it is an error. The message
// is only composed then, since templates often test names that may be missing.
type undefined struct {
	name  func() string
	key   string
	among map[string]any // the names that do exist there
}

func (u undefined) err() error {
	name := u.name()
	fallback := "give it a value, or a default: {{ " + name + ` | default("") }}`
	return sdk.Errorf(sdk.Invalid, "template_undefined", "%s is not defined", name).WithDetail("name", name).
		WithHint("%s", sdk.DidYouMean(u.key, sortedKeys(u.among), fallback))
}

// spend counts work, and stops a template that does too much.
func (r *render) spend(work int) error {
	r.spent += work
	if r.spent > maxWork {
		return sdk.Errorf(sdk.Exhausted, "template_too_large", "the template takes more than %d steps", maxWork).
			WithHint("loop over fewer elements")
	}
	return nil
}

// text counts the bytes of a text that a template makes.
func (r *render) text(s string) (string, error) {
	if len(s) > MaxOutput {
		return "", tooLong()
	}
	return s, r.spend(1 + len(s)/64)
}

// read counts a text that a template searches.
func (r *render) read(v any) error {
	text, _ := v.(string)
	return r.spend(len(text) / 64)
}

func tooLong() error {
	return sdk.Errorf(sdk.Exhausted, "template_too_large", "the template makes more than %d bytes of text", MaxOutput).
		WithHint("put less of the state into the template")
}

func (r *render) write(s string) error {
	if r.out.Len()+len(s) > MaxOutput {
		return tooLong()
	}
	r.out.WriteString(s)
	return r.spend(len(s) / 64)
}

func (r *render) nodes(list []nodes.Node) error {
	for _, n := range list {
		if err := r.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *render) node(n nodes.Node) error {
	if err := r.spend(1); err != nil {
		return err
	}
	switch n := n.(type) {
	case *nodes.Data:
		return r.write(trimmed(n))
	case *nodes.Output:
		if n.Condition != nil && n.Alternative == nil {
			if yes, err := r.truth(n.Condition); err != nil || !yes {
				return err
			}
		}
		value, err := r.output(n)
		if err != nil {
			return err
		}
		text, err := r.show(value)
		if err != nil {
			return err
		}
		return r.write(text)
	case *nodes.ControlStructureBlock:
		return r.tag(n.ControlStructure)
	}
	return nil // a comment
}

func trimmed(n *nodes.Data) string {
	text := n.Data.Val
	if n.Trim.Left || n.Data.Trim {
		text = strings.TrimLeft(text, " \r\n\t")
	}
	if n.Trim.Right {
		text = strings.TrimRight(text, " \r\n\t")
	}
	return text
}

// output is the value of {{ a if b else c }}: null if b is false and there is no c.
func (r *render) output(n *nodes.Output) (any, error) {
	chosen := n.Expression
	if n.Condition != nil {
		yes, err := r.truth(n.Condition)
		if err != nil {
			return nil, err
		}
		if !yes {
			if chosen = n.Alternative; chosen == nil {
				return nil, nil
			}
		}
	}
	return r.value(chosen)
}

func (r *render) tag(n nodes.Node) error {
	switch n := n.(type) {
	case *rawTag:
		return r.write(n.text)
	case *setTag:
		value, err := r.value(n.value)
		if err != nil {
			return err
		}
		return r.bind(map[string]any{n.name: value})
	case *ifTag:
		for i, condition := range n.conditions {
			yes, err := r.truth(condition)
			if err != nil {
				return err
			}
			if yes {
				return r.nodes(n.bodies[i])
			}
		}
		if len(n.bodies) > len(n.conditions) {
			return r.nodes(n.bodies[len(n.bodies)-1])
		}
	case *forTag:
		return r.loop(n)
	}
	return nil
}

// bind adds names to a copy of those in scope, so that the outer names are unchanged for
// their holder. The copy counts as work: a template may have thousands of names.
func (r *render) bind(names map[string]any) error {
	if err := r.spend(1 + len(r.vars)); err != nil {
		return err
	}
	vars := make(map[string]any, len(r.vars)+len(names))
	maps.Copy(vars, r.vars)
	maps.Copy(vars, names)
	r.vars = vars
	return nil
}

func (r *render) loop(n *forTag) error {
	over, err := r.value(n.over)
	if err != nil {
		return err
	}
	outer := r.vars
	defer func() { r.vars = outer }()
	rounds, err := r.rounds(n, over)
	if err != nil {
		return err
	}
	if len(rounds) == 0 {
		return r.nodes(n.empty)
	}
	for i, next := range rounds {
		names := n.binds(next)
		names["loop"] = map[string]any{
			"index": int64(i + 1), "index0": int64(i), "length": int64(len(rounds)),
			"first": i == 0, "last": i == len(rounds)-1,
		}
		r.vars = outer
		if err := r.bind(names); err != nil {
			return err
		}
		if err := r.nodes(n.body); err != nil {
			return err
		}
	}
	return nil
}

// element is what a for tag binds in one round. Its names are added only when the round
// begins: a list may have millions of elements.
type element struct{ key, value any }

func (t *forTag) binds(next element) map[string]any {
	names := map[string]any{t.key: next.key}
	if t.value != "" {
		names[t.value] = next.value
	}
	return names
}

// rounds are the rounds of a for tag, in order.
func (r *render) rounds(n *forTag, over any) ([]element, error) {
	var all []element
	switch over := over.(type) {
	case []any:
		if err := r.spend(len(over)); err != nil {
			return nil, err
		}
		all = make([]element, len(over))
		for i, e := range over {
			if all[i] = (element{key: e}); n.value == "" {
				continue
			}
			pair, isPair := e.([]any)
			switch {
			case isGroup(e):
				group := e.(map[string]any)
				all[i] = element{group["grouper"], group["list"]}
			case isPair && len(pair) == 2:
				all[i] = element{pair[0], pair[1]}
			default:
				return nil, failed("a for tag with two names walks an object or a list of pairs")
			}
		}
	case map[string]any:
		if err := r.spend(len(over)); err != nil {
			return nil, err
		}
		for _, k := range sortedKeys(over) {
			all = append(all, element{k, over[k]})
		}
	default:
		return nil, failed("a for tag can't walk %s, only a list or an object", typeName(over))
	}
	if n.condition == nil {
		return all, nil
	}
	return r.those(n, all)
}

// those returns the rounds in which the tag's condition holds.
func (r *render) those(n *forTag, all []element) ([]element, error) {
	outer := r.vars
	defer func() { r.vars = outer }()
	var kept []element
	for _, next := range all {
		r.vars = outer
		if err := r.bind(n.binds(next)); err != nil {
			return nil, err
		}
		yes, err := r.truth(n.condition)
		if err != nil {
			return nil, err
		}
		if yes {
			kept = append(kept, next)
		}
	}
	return kept, nil
}
