package workflow

import (
	"slices"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// maxCompositeDepth bounds composites within composites: no workflow needs
// more.
const maxCompositeDepth = 5

// composite reads a list of named evaluators.
func (l *loader) composite(b *block, kind loop.CompositeKind, depth int) action.Step {
	b.has(compositeForm(kind))
	c := &action.Composite{Kind: kind, FailFast: b.Flag("fail_fast")}
	if kind == loop.CompositeWeighted {
		c.Threshold = loop.DefaultThreshold
		if n := b.Get("threshold"); n != nil {
			if c.Threshold = b.number("threshold"); c.Threshold == 0 && n.Kind == document.Number {
				b.Add(n.At, "", "threshold must be above 0: every score reaches 0")
			}
		}
	}
	step := action.Step{Composite: c}
	b.Need("evaluators")
	children := b.Typed("evaluators", document.List)
	if children == nil {
		return step
	}
	if depth+1 >= maxCompositeDepth {
		l.Add(children.At, "", "composites are nested more than %d deep", maxCompositeDepth)
		return step
	}
	l.children(c, children.Items, depth+1)
	if len(c.Children) == 0 {
		l.Add(children.At, "", "evaluators is empty")
	} else if kind == loop.CompositeWeighted && !slices.ContainsFunc(c.Weights, func(w float64) bool { return w > 0 }) {
		l.Add(children.At, "", "all weights are 0: at least one must count")
	}
	return step
}

// children reads the evaluators of a composite.
func (l *loader) children(c *action.Composite, items []*document.Node, depth int) {
	seen := map[string]bool{}
	for _, item := range items {
		child := l.block(item, "evaluator", formJudge, childBlock(c.Kind))
		name := child.name("name", "a name is made of letters, digits, _, - and .")
		if seen[name] && name != "" {
			l.Add(child.Get("name").At, "", "there are two evaluators named %q", name)
		}
		seen[name] = true
		if c.Kind == loop.CompositeWeighted {
			weight := 1.0
			if child.Get("weight") != nil {
				weight = child.number("weight")
			}
			c.Weights = append(c.Weights, weight)
		}
		s := l.form(child, sdk.KindEvaluator, depth)
		s.Name, s.Parse = name, child.parse()
		s.Refers = refers(item, &s)
		child.Done()
		c.Children = append(c.Children, s)
	}
}

func childBlock(kind loop.CompositeKind) string {
	if kind == loop.CompositeWeighted {
		return blockWeighted
	}
	return blockChild
}

func compositeForm(kind loop.CompositeKind) string {
	if kind == loop.CompositeWeighted {
		return formWeighted
	}
	return formAll
}
