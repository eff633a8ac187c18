package main

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/template"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/program"
)

// keyRow is a key of a workflow file as the page shows it.
type keyRow struct{ Name, Type, Default, Doc, Sees string }

// resultOf are the results of actions.
var resultOf = []struct {
	Actions string
	of      reflect.Type
}{
	{"`reflection.loop`", reflect.TypeFor[core.LoopResult]()},
	{"`reflection.evaluate`", reflect.TypeFor[action.EvaluateResult]()},
	{"`reflection.correct`", reflect.TypeFor[action.CorrectResult]()},
	{"`llm.call`, `lua.run`, `plugin.call`", reflect.TypeFor[action.CallResult]()},
	{"`memory.observe`", reflect.TypeFor[core.Memory]()},
	{"`memory.reflect`", reflect.TypeFor[core.ReflectResult]()},
	{"`memory.recall`", reflect.TypeFor[core.RecallResult]()},
	{"`memory.feedback` with an outcome", reflect.TypeFor[core.FeedbackResult]()},
	{"`memory.feedback` without one", reflect.TypeFor[action.UsesNamed]()},
	{"`inject.snapshot`", reflect.TypeFor[inject.Built]()},
}

func workflowPage(t *testing.T) any {
	type expressions struct {
		Key       string
		Variables []program.Variable
	}
	blocks := map[string]any{}
	for _, b := range workflow.Blocks() {
		var rows []keyRow
		for _, k := range b.Keys {
			rows = append(rows, keyRow{k.Name, typeOfKey(k), k.Default, k.Doc, strings.Join(k.Sees, ", ")})
		}
		blocks[b.Name] = map[string]any{"Doc": b.Doc, "Keys": rows}
	}
	s := newShapes(newSources(t), readFieldTexts(t))
	var results [][2]string
	for _, r := range resultOf {
		results = append(results, [2]string{r.Actions, s.typeOf(r.of)})
	}
	inJSON := newShapes(s.sources, s.texts)
	inJSON.results()
	own := slices.DeleteFunc(s.sorted(), func(described shape) bool {
		return slices.ContainsFunc(inJSON.list, func(other shape) bool { return other.Name == described.Name })
	})
	for i := range results {
		results[i][1] = elsewhere(results[i][1], own)
	}
	for i := range own {
		for j := range own[i].Fields {
			own[i].Fields[j].Type = elsewhere(own[i].Fields[j].Type, own)
		}
	}
	return map[string]any{
		"Blocks": blocks, "Results": results, "Objects": own, "Filters": template.Filters(), "Tests": template.Tests(),
		"Expressions": []expressions{
			{"`when`", policy.ExpressionVariables(policypoint.When)},
			{"`accept`", policy.ExpressionVariables(policypoint.Accept)},
			{"`stop_when`", policy.ExpressionVariables(policypoint.Stop)},
		},
		"MaxExpression": policy.MaxSourceBytes, "MaxFile": int64(workflow.MaxFile), "MaxNamedFile": int64(workflow.MaxNamedFile),
		"MaxNamedFiles": workflow.MaxNamedFiles, "MaxMessageFiles": int64(workflow.MaxMessageFiles),
	}
}

// elsewhere keeps links to a page's own objects. The other objects are named: reflectory schema
// NAME describes them.
func elsewhere(text string, own []shape) string {
	return objectLink.ReplaceAllStringFunc(text, func(link string) string {
		name := objectLink.FindStringSubmatch(link)[1]
		if slices.ContainsFunc(own, func(o shape) bool { return o.Name == name }) {
			return link
		}
		return code(name)
	})
}

// objectLink is a link to an object, or to what pages of lists are.
var objectLink = regexp.MustCompile(`\[(\w+)\]\(#\w+\)`)

// typeOfKey is a key's type with what is allowed of it.
func typeOfKey(k workflow.Key) string {
	text := string(k.Type)
	switch {
	case len(k.Values) > 0:
		text = "one of "
		for i, v := range k.Values {
			text += map[bool]string{true: "", false: ", "}[i == 0] + code(v)
		}
	case k.Type != workflow.TypeNumber && k.Type != workflow.TypeInteger || k.Least == math.MinInt32:
	case k.Most == math.MaxInt32 || k.Most == math.MaxFloat64:
		text += fmt.Sprintf(", at least %s", number(k.Least))
	default:
		text += fmt.Sprintf(", %s to %s", number(k.Least), number(k.Most))
	}
	if k.Required {
		text += " (required)"
	}
	return text
}
