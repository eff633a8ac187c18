package defaults_test

import (
	"context"
	"testing"

	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/defaults"
	"github.com/reflectory/reflectory/policy/policytest"
)

// Every default gives what its cases say, and every condition of it is seen both
// to hold and to fail.
func TestDefaultsPassTheirCases(t *testing.T) {
	points := policy.AllPoints()
	for _, name := range points.Names() {
		t.Run(string(name), func(t *testing.T) {
			p, err := points.Default(name)
			if err != nil {
				t.Fatal(err)
			}
			cases, err := defaults.Files.ReadFile(policy.SuiteName(string(name) + ".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			report, err := policytest.Run(context.Background(), p, string(name), cases)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Failures {
				t.Errorf("%s: %s (line %d): %s", f.Section, f.Name, f.Line, f.Message)
			}
			for _, c := range report.Coverage {
				if !c.Covered() {
					t.Errorf("%s [%s] held %d times, failed %d times", c.Path, c.Condition, c.Held, c.Failed)
				}
			}
		})
	}
}
