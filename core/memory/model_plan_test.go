package memory_test

import (
	"os"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store/storetest"
)

// modelOps is how many random operations a model test runs; a stress run has ten
// times as many, and of those on lives a hundred times.
const modelOps = 1000

// times is how many of something a test has: few as a rule, and many in a stress run.
func times(few, many int) int {
	if os.Getenv(storetest.StressEnv) == "1" {
		return many
	}
	return few
}

// modelPlan says how many operations a model test runs, and after which of them
// the stores are looked at.
type modelPlan struct {
	ops    int
	stress bool
	checks int // so far
}

func newModelPlan(stressed int) *modelPlan {
	if os.Getenv(storetest.StressEnv) == "1" {
		return &modelPlan{ops: stressed, stress: true}
	}
	return &modelPlan{ops: coretest.Cases(modelOps/2, modelOps)}
}

// check calls fn with one of the engines, in turn, where its store is to be checked
// after an operation: after each 100th, and in a stress run after each of the first
// 500 and a hundred times in all from there on.
func (p *modelPlan) check(i int, fn func(engine int)) {
	every := 100
	switch {
	case p.stress && i < modelOps/2:
		every = 1
	case p.stress:
		every = p.ops / 100
	}
	if i%every == 0 {
		fn(p.checks % 2)
		p.checks++
	}
}

// compares reports whether the stores are compared after an operation.
func (p *modelPlan) compares(i int) bool { return i%(p.ops/10) == 0 || i == p.ops-1 }
