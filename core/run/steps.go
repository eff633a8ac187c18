package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// A visit or an attempt is recorded when it ends. What it does before, such as the calls of tools that a
// model asks for, is kept here, each with its result before the result is used, so that a resume does
// none of it again. An end that is final removes all of it: what the model read is in the run's prompts.

const (
	stepPrefix       = "run-step/"
	stepMemoryPrefix = "run-step-memory/"
)

// stepRecord is something that a run did.
type stepRecord struct {
	core.Reply
	// Memories are the memories that the run had received or that the output names, sorted.
	Memories []string `json:"memories,omitempty"`
}

var steps = table.Kind[stepRecord]{
	Part: part, Prefix: stepPrefix,
	Doc:  "id `/` digest | what a run did before the visit or attempt that it is part of ended, by the SHA-256 of its key: `{output?, metadata?, memories?}`. Without `output` it was begun, or one of the `memories` that the run had received was purged. Removed when the run ends and can't be resumed",
	Show: DescribeKey,
	Indices: []table.Index[stepRecord]{{
		Prefix: stepMemoryPrefix, Doc: "memory `/` id `/` digest | index: empty; the output may have the memory's text, so that a purge finds it",
		Quotes: func(s *stepRecord) []string { return s.Memories },
		ID: func(key, _ []byte) string {
			_, id, _ := strings.Cut(string(key[len(stepMemoryPrefix):]), "/")
			return id
		},
	}},
}

var _ core.Steps = (*Repository)(nil)

func stepID(runID, key string) string {
	return runID + "/" + strings.TrimPrefix(core.Digest([]byte(key)), "sha256:")
}

// Step implements [core.Steps].
func (s *Repository) Step(ctx context.Context, runID, key string) (reply *core.Reply, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		record, err := steps.Get(r, stepID(runID, key))
		if record != nil {
			reply = &record.Reply
		}
		return err
	})
	return reply, sdk.Wrap("read what run "+runID+" did", err)
}

// KeepStep implements [core.Steps].
func (s *Repository) KeepStep(ctx context.Context, runID, key string, reply *core.Reply, memories []string) error {
	id := stepID(runID, key)
	err := s.store.Update(ctx, func(tx core.Tx) error {
		if reply == nil {
			return steps.Delete(tx, id)
		}
		record := stepRecord{Reply: *reply, Memories: union(memories, nil)}
		if gone, err := s.Purged.Any(tx, memories...); err != nil {
			return err
		} else if gone {
			record = stepRecord{}
		}
		value, err := steps.Value(id, &record)
		if err != nil {
			return err
		}
		if len(value) > maxAttemptBytes {
			return sdk.Errorf(sdk.Exhausted, "step_too_large", "it has %d bytes (limit %d)", len(value), maxAttemptBytes)
		}
		return steps.Put(tx, id, &record)
	})
	return sdk.Wrap("keep what run "+runID+" did", err)
}

// StepMemories implements [core.Steps].
func (s *Repository) StepMemories(ctx context.Context, runID string) (memories []string, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		memories = nil
		return steps.Each(r, runID+"/", func(_ string, record *stepRecord) error {
			memories = union(memories, record.Memories)
			return nil
		})
	})
	return memories, err
}

// forgetSteps removes a purged memory from what runs did, and returns the runs.
func forgetSteps(tx core.Tx, memoryID string) (runs []string, err error) {
	err = steps.Forget(tx, memoryID, func(id string, _ *stepRecord) error {
		run, _, _ := strings.Cut(id, "/")
		runs = append(runs, run)
		return steps.Put(tx, id, &stepRecord{})
	})
	return runs, err
}

// step checks something that a run did.
func (c *checking) step(id string, record *stepRecord) error {
	gone, err := c.purged.Any(c.r, record.Memories...)
	if gone {
		c.problem([]byte(stepPrefix+id), false, fmt.Sprintf("one of its memories %v was purged, but the output is still there", record.Memories))
	}
	return err
}
