package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
)

func policyDescribeCommand(out *output) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use: "describe [POINT]", Short: "Print the inputs and outputs of a point's policies, and its default",
		Long: `Print the inputs and outputs of a point's policies, the functions that they can use,
what happens if a policy fails, and the default. Without a point, list the points.
--schema prints the JSON Schema of policy files, for editors.`,
		Example: `  reflectory policy describe
  reflectory policy describe gate
  reflectory policy describe --schema`,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case schema:
				return out.printJSON(format.Schema())
			case len(args) == 0:
				return describePoints(out)
			}
			return policyDescribe(out, policypoint.Point(args[0]))
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of policy files")
	return c
}

func describePoints(out *output) error {
	points := policy.AllPoints()
	var all []*policy.Description
	var rows [][]string
	for _, name := range points.Names() {
		d, err := points.Describe(name)
		if err != nil {
			return err
		}
		all = append(all, d)
		rows = append(rows, []string{string(name), d.Doc, d.Failure})
	}
	if out.json {
		return out.printJSON(all)
	}
	return out.prose([]string{"POINT", "WHAT IT DECIDES", "IF THE POLICY FAILS"}, rows)
}

func policyDescribe(out *output, point policypoint.Point) error {
	d, err := policy.AllPoints().Describe(point)
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(d)
	}
	fmt.Fprintf(out.Stdout, "%s: %s\nIf a policy fails: %s.\n\n", d.Point, d.Doc, d.Failure)
	tables := []struct {
		header []string
		rows   [][]string
	}{
		{[]string{"INPUT", "TYPE", "WHAT"}, inputRows(d)},
		{[]string{"OUTPUT", "TYPE", "WHAT"}, outputRows(d)},
		{[]string{"FUNCTION", "WHAT"}, functionRows(d)},
	}
	for _, t := range tables {
		if err := out.prose(t.header, t.rows); err != nil {
			return err
		}
		fmt.Fprintln(out.Stdout)
	}
	fmt.Fprintf(out.Stdout, "The default, default/%s.yaml:\n\n%s", d.Point, d.Default)
	return nil
}

func inputRows(d *policy.Description) (rows [][]string) {
	for _, v := range d.Inputs {
		rows = append(rows, []string{v.Name, v.Type, v.Doc})
	}
	return rows
}

func outputRows(d *policy.Description) (rows [][]string) {
	for _, f := range d.Outputs {
		doc := f.Doc
		if len(f.Values) > 0 {
			doc += ": " + strings.Join(f.Values, ", ")
		}
		if f.Optional {
			doc += " (optional)"
		}
		rows = append(rows, []string{f.Name, f.Type, doc})
	}
	return rows
}

func functionRows(d *policy.Description) (rows [][]string) {
	for _, f := range d.Functions {
		rows = append(rows, []string{f.Signature, f.Doc})
	}
	return rows
}
