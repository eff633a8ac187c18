package gate

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
)

var (
	_ core.Rebuilder = Evidence{}
	_ core.Prover    = Evidence{}
)

// Derived implements [core.Rebuilder]: tallies are derived from outcomes, and the index
// from graphs.
func (Evidence) Derived() []string { return []string{indexPrefix, tallyPrefix} }

// checker looks for problems in the evidence of one snapshot.
type checker struct {
	r      core.Reader
	named  naming
	report func(core.Problem)
	// looked is the memory whose tally was checked last.
	looked string
}

// Check implements [core.Checker]: all evidence can be read and matches its events, the
// index names exactly the memories of each graph, and each tally is the sum of its
// outcomes. It isn't a problem if a memory is gone, since evidence outlives it.
func (Evidence) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checker{r: r, named: naming{}, report: report}
	for _, each := range []struct {
		prefix string
		look   func(key, value []byte) error
	}{
		{indexPrefix, c.index}, {dagPrefix, c.dag}, {tallyPrefix, c.tally}, {toolPrefix, c.tool}, {omegaPrefix, c.omega},
	} {
		prefix := []byte(each.prefix)
		err := core.ScanPrefix(r, prefix, func(key, value []byte) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			return true, each.look(key, value)
		})
		if err != nil {
			return err
		}
	}
	return c.told(ctx)
}

func (c *checker) problem(key []byte, rebuildable bool, message string) {
	c.report(core.Problem{
		Part: "evidence", Key: strings.Trim(strconv.Quote(string(key)), `"`), Message: message, Rebuildable: rebuildable,
	})
}

func (c *checker) index(key, _ []byte) error {
	memory, workflow := splitIndex(key)
	names, err := c.named.by(c.r, workflow)
	if err == nil && !names[memory] {
		c.problem(key, true, "no graph of that workflow names the memory")
	}
	return err
}

func (c *checker) dag(key, _ []byte) error {
	workflow := strings.TrimPrefix(string(key), dagPrefix)
	kept, err := readDAG(c.r, workflow)
	if isBroken(err) {
		c.problem(key, false, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if kept.Digest != core.Digest(core.MustJSON(kept.Graph)) {
		c.problem(key, false, "the digest isn't the graph's")
	}
	for _, memory := range slices.Sorted(maps.Keys(kept.Graph.Memories)) {
		index := indexKey(memory, workflow)
		if _, found, err := c.r.Get(index); err != nil {
			return err
		} else if !found {
			c.problem(index, true, "the graph names the memory, but the index doesn't")
		}
	}
	return nil
}

// tally compares a tally with the outcomes of its memory.
func (c *checker) tally(key, value []byte) error {
	memory := strings.TrimPrefix(string(key), tallyPrefix)
	var stored tally
	if err := json.Unmarshal(value, &stored); err != nil {
		c.problem(key, true, "it can't be read: "+err.Error())
		return nil
	}
	right, err := tallyOf(c.r, memory)
	if err != nil {
		if !isBroken(err) {
			return err
		}
		return nil // reported by tool
	}
	if !reflect.DeepEqual(stored, *right) {
		c.problem(key, true, "it isn't the sum of the memory's outcomes")
	}
	return nil
}

// tool checks that an outcome can be read, and that its memory has a tally.
func (c *checker) tool(key, value []byte) error {
	memory, _, ok := splitTool(key)
	if !ok {
		c.problem(key, false, "the key isn't an outcome's key")
		return nil
	}
	if err := json.Unmarshal(value, &outcome{}); err != nil {
		c.problem(key, false, "it can't be read: "+err.Error())
	}
	if memory == c.looked {
		return nil
	}
	c.looked = memory
	_, found, err := c.r.Get(tallyKey(memory))
	if err == nil && !found {
		c.problem(key, true, "the memory has no tally")
	}
	return err
}

// omega checks that the factors known about a memory can be read, and are within their
// limits.
func (c *checker) omega(key, _ []byte) error {
	memory := strings.TrimPrefix(string(key), omegaPrefix)
	kept, err := readOmega(c.r, memory)
	if isBroken(err) {
		c.problem(key, false, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	known := &core.OmegaEvidence{MemoryID: memory, OmegaFactors: kept.above(core.OmegaFactors{}), Note: kept.Note}
	if err := CheckOmega(known); err != nil || kept.Seq < 1 {
		c.problem(key, false, "the factors of the memory are out of range")
	}
	return nil
}

// tallyOf sums up the outcomes of a memory.
func tallyOf(r core.Reader, memory string) (*tally, error) {
	t, prefix := &tally{}, memoryTools(memory)
	err := core.ScanPrefix(r, prefix, func(key, value []byte) (bool, error) {
		var o outcome
		_, turn, ok := splitTool(key)
		if !ok {
			return false, broken("the key of an outcome of memory "+memory, errors.New("it has another form"))
		}
		if err := json.Unmarshal(value, &o); err != nil {
			return false, broken("an outcome of memory "+memory, err)
		}
		t.count(turn, &o)
		return true, nil
	})
	return t, err
}

// naming caches which memories the graphs of workflows name. It is emptied when it gets
// large.
type naming map[string]map[string]bool

func (n naming) by(r core.Reader, workflow string) (map[string]bool, error) {
	if names, known := n[workflow]; known {
		return names, nil
	}
	kept, err := readDAG(r, workflow)
	if err != nil && !isBroken(err) {
		return nil, err
	}
	if len(n) == MaxWorkflows {
		clear(n)
	}
	n[workflow] = map[string]bool{}
	for memory := range kept.Graph.Memories {
		n[workflow][memory] = true
	}
	return n[workflow], nil
}
