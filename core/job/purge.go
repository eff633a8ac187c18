package job

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// A purge has to remove a memory's content from the payloads, steps and results of jobs.
// The content is found in two ways: by objects that name the memory by memory_id, as
// results do, and by a handler's lists of the memories that a text was made from. An index
// by memory leads from the memory to the jobs. An object that names the memory is emptied.
// If a text was only made from the memory, the memory's own words can't be recognised, so
// the whole text is removed.

// purgedText replaces what was purged.
const purgedText = "[purged]"

// keep records the memories whose content a payload or result has: the given memories, and
// the memories that it names. It returns the data and the list, both without memories that
// were already purged, and whether any was purged.
func (c *change) keep(id string, data json.RawMessage, given []string) (clean json.RawMessage, kept []string, gone bool, err error) {
	memories := append(slices.Clone(given), namedMemories(data)...)
	slices.Sort(memories)
	for _, memory := range slices.Compact(memories) {
		purged, err := c.options.Purged.Any(c, memory)
		if err != nil {
			return nil, nil, false, err
		}
		if purged {
			data, gone = withoutMemory(data, memory), true
			continue
		}
		if err := c.Put(memoryKey(memory, id), nil); err != nil {
			return nil, nil, false, err
		}
		kept = append(kept, memory)
	}
	return data, kept, gone, nil
}

// memoryField is the member by which an object names the memory whose content it has.
const memoryField = "memory_id"

// namedMemories are the memories that objects in a JSON value name.
func namedMemories(data json.RawMessage) (ids []string) {
	if !bytes.Contains(data, []byte(memoryField)) {
		return nil
	}
	root, err := jsontext.Decode(data)
	if err != nil {
		return nil
	}
	eachObject(root, func(object map[string]any) {
		if id, _ := object[memoryField].(string); core.ValidID(id) {
			ids = append(ids, id)
		}
	})
	return ids
}

// eachObject calls fn for each object in a decoded JSON value, the outer ones first.
func eachObject(v any, fn func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		fn(v)
		for _, member := range v {
			eachObject(member, fn)
		}
	case []any:
		for _, member := range v {
			eachObject(member, fn)
		}
	}
}

// withoutMemory empties the objects in a JSON value that name a memory: their texts, lists
// and objects are removed, their ids and numbers stay. A value that doesn't name the
// memory is removed as a whole.
func withoutMemory(data json.RawMessage, memory string) json.RawMessage {
	if len(data) == 0 {
		return data
	}
	root, err := jsontext.Decode(data)
	found := false
	if err == nil {
		eachObject(root, func(object map[string]any) {
			if object[memoryField] == memory {
				found = true
				emptyObject(object)
			}
		})
	}
	if !found {
		return jsontext.MustEncode(purgedText)
	}
	return jsontext.MustEncode(root)
}

// emptyObject removes everything that may be a memory's content from an object that names
// the memory.
func emptyObject(object map[string]any) {
	for name, value := range object {
		switch value.(type) {
		case string:
			if name != memoryField {
				object[name] = purgedText
			}
		case []any, map[string]any:
			if name != "sources" { // ids of other memories
				object[name] = []any{purgedText}
			}
		}
	}
}

// Memories removes purged memories from jobs.
type Memories struct{}

var _ core.Forgetter = Memories{}

// Forget implements [core.Forgetter]. It returns no runs, since jobs aren't runs. A step
// that was made from the memory is removed, so an attempt that needs the step repeats it.
func (Memories) Forget(tx core.Tx, memoryID string) (runs []string, err error) {
	return nil, records.Forget(tx, memoryID, func(id string, rec *record) error {
		return op("remove memory "+memoryID+" from", id, forget(tx, memoryID, rec))
	})
}

// forget removes a memory from a job.
func forget(tx core.Tx, memory string, rec *record) error {
	start, err := contents.Get(tx, rec.ID)
	if err != nil {
		return err
	}
	if start != nil && slices.Contains(start.Memories, memory) {
		start.Payload, start.Memories = withoutMemory(start.Payload, memory), without(start.Memories, memory)
		if err := put(tx, contentKey(rec.ID), start); err != nil {
			return err
		}
	}
	end, err := results.Get(tx, rec.ID)
	if err != nil {
		return err
	}
	if end != nil && (slices.Contains(end.Memories, memory) || slices.Contains(end.Quoted, memory)) {
		if slices.Contains(end.Memories, memory) {
			end.Result = withoutMemory(end.Result, memory)
		}
		end.Memories, end.Quoted = without(end.Memories, memory), without(end.Quoted, memory)
		end.purgeWords()
		if err := put(tx, resultKey(rec.ID), end); err != nil {
			return err
		}
	}
	if rec.Status.Terminal() {
		return nil
	}
	rec.Forgot = true
	return forgetSteps(tx, memory, rec)
}

// without returns a list without some texts.
func without(list []string, texts ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return slices.Contains(texts, s) })
}

// forgetSteps removes the steps that were made from a memory, and writes the record.
func forgetSteps(tx core.Tx, memory string, rec *record) error {
	err := removeSteps(tx, rec.ID, func(s *step) bool {
		if !slices.Contains(s.Memories, memory) {
			return false
		}
		rec.Steps--
		rec.StepBytes -= len(s.Data)
		return true
	})
	if err != nil {
		return err
	}
	return put(tx, jobKey(rec.ID), rec)
}

// removeSteps removes the steps of a job that gone chooses, and the index entries of
// memories whose content the job no longer has.
func removeSteps(tx core.Tx, id string, gone func(*step) bool) error {
	var ids, memories []string
	err := steps.Each(tx, id+"/", func(id string, s *step) error {
		if gone(s) {
			ids, memories = append(ids, id), append(memories, s.Memories...)
		}
		return nil
	})
	for i := 0; err == nil && i < len(ids); i++ {
		err = steps.Delete(tx, ids[i])
	}
	if err != nil {
		return err
	}
	left, err := memoriesOf(tx, id)
	if err != nil {
		return err
	}
	for _, memory := range memories {
		if !slices.Contains(left, memory) {
			if err := tx.Delete(memoryKey(memory, id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// memoriesOf are the memories whose content a job has, sorted. The index by memory is
// derived from them.
func memoriesOf(r core.Reader, id string) ([]string, error) {
	var all []string
	if start, err := contents.Get(r, id); err != nil {
		return nil, err
	} else if start != nil {
		all = append(all, start.Memories...)
	}
	if end, err := results.Get(r, id); err != nil {
		return nil, err
	} else if end != nil {
		all = slices.Concat(all, end.Memories, end.Quoted)
	}
	err := steps.Each(r, id+"/", func(_ string, s *step) error {
		all = append(all, s.Memories...)
		return nil
	})
	slices.Sort(all)
	return slices.Compact(all), err
}
