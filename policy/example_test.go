package policy_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
)

// A policy folder is loaded as a whole, and then decides; where no file of it does, the
// default does.
func Example() {
	folder := fstest.MapFS{"reflect/team.yaml": {Data: []byte(`
namespace: team/**
rule:
  match:
    - condition: depth > 2
      output: '{"allow": false, "code": "too_abstract", "reason": "keep to the facts"}'
`)}}
	points := policy.AllPoints()
	set, err := points.Load(folder)
	if err != nil {
		fmt.Println(err) // every problem of every file, with its place
		return
	}
	policies := policy.New(points, policy.Options{Set: set})
	for _, namespace := range []string{"team/mail", "other"} {
		decided := policies.Reflect(context.Background(), nil, &policypoint.ReflectInput{Namespace: namespace, Depth: 3, Cap: 5})
		fmt.Println(namespace, decided.Allow, decided.Code, decided.Decision.File)
	}
	// Output:
	// team/mail false too_abstract reflect/team.yaml
	// other true  default/reflect.yaml
}
