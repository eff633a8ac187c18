package commandeval

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
	"github.com/reflectory/reflectory/sdk"
)

// If nothing ran, or the program says that it couldn't judge, the command may be wrong, or the attempt may have caused
// it: by a syntax error that stops the collection of tests, or on purpose, by an exit before them. The original tells
// these apart: the same command, in a workspace without the attempt. A fault there, too, is the command's.

// compare looks at the original where the attempt's own verdict, or its error, isn't enough.
func (c *command) compare(ctx context.Context, request *sdk.ExecRequest, resp *sdk.ExecResponse, v *sdk.Verdict, err error) (*sdk.Verdict, error) {
	w := request.Workspace
	reason := sdk.ReasonOf(err)
	couldNot := reason == reasonUnverified || reason == reasonFault
	put := w.Put.File != "" || w.Put.Files != nil || w.Put.Diff != ""
	if !put || w.From == "" || !couldNot && (err != nil || !v.Valid || !c.Original) {
		return v, err
	}
	w.Put = sdk.ExecPut{}
	without := *request
	without.Workspace = w
	original, failed := sdk.Exec(ctx, &without)
	if failed != nil {
		return nil, failed
	}
	if couldNot {
		if _, failed := c.verdict(ctx, original); failed != nil {
			return v, err
		}
		return c.blame(resp, err), nil
	}
	return c.compareTests(v, resp, original)
}

// blame is the verdict of an attempt without which the program can judge.
func (c *command) blame(resp *sdk.ExecResponse, why error) *sdk.Verdict {
	v := &sdk.Verdict{}
	if r, _, err := c.read(resp); err == nil && r != nil {
		v.Errors = listed(r.Findings, r.Found)
	}
	message := fmt.Sprintf("%s, which the original doesn't cause", report.Plain(why.Error()))
	v.Errors = append(v.Errors, sdk.Finding{Message: message, Code: codeBaseline})
	v.Feedback = c.end(resp) + "\n" + c.judgedBy(resp)
	return v
}

// compareTests finds the tests of the original that didn't run with the attempt.
func (c *command) compareTests(v *sdk.Verdict, resp, original *sdk.ExecResponse) (*sdk.Verdict, error) {
	before, _, err := c.read(original)
	if err != nil || before == nil || len(before.Names) == 0 {
		return v, c.nothingRan(v, "the original has no tests that baseline could compare")
	}
	now, _, err := c.read(resp)
	if err != nil || now == nil {
		return v, c.nothingRan(v, "it has no report, which baseline needs")
	}
	names := make([]string, 0, len(before.Names))
	for name := range before.Names {
		names = append(names, name)
	}
	c.lacks(v, now, names)
	return v, nil
}
