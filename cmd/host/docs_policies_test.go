package main

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
)

func policiesPage(t *testing.T) any {
	points := policy.AllPoints()
	var list []*policy.Description
	for _, name := range points.Names() {
		d, err := points.Describe(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Outputs {
			d.Outputs[i].Doc = outputDoc(d.Outputs[i])
		}
		list = append(list, d)
	}
	return map[string]any{
		"Points": list, "Functions": program.Functions(), "CheapCost": program.CheapCost, "CostLimit": program.CostLimit,
		"MaxTime": program.MaxTime, "AssumedSize": program.AssumedSize, "MaxExpression": format.MaxExpressionBytes,
		"MaxMatches": format.MaxMatches, "MaxNested": format.MaxNested, "MaxList": format.MaxList,
	}
}

// outputDoc is a field's doc with what it may be.
func outputDoc(f program.Field) string {
	text := f.Doc
	for i, v := range f.Values {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + code(v)
	}
	if f.Range != nil && f.Range.Greatest < 1<<30 {
		text += fmt.Sprintf(", %s to %s", number(f.Range.Least), number(f.Range.Greatest))
	} else if f.Range != nil {
		text += ", at least " + number(f.Range.Least)
	}
	if f.Optional {
		text += "; may be left out"
	}
	return text
}
