package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store"
)

// manyStates are jobs in every state: the ids of a completed, a running, a queued, a waiting
// and a workflow job.
func manyStates(t *testing.T) (b *board, ids []string) {
	t.Helper()
	b = newBoard(t, job.Options{})
	ctx := t.Context()
	completed := b.add("u", job.Reflection, "n")
	must(t, b.Complete(ctx, b.claims("h").Held, &job.Outcome{Result: []byte(`{"memory_id":"m1"}`)}))
	running := b.add("u", job.Dream, "n")
	must(t, b.SaveStep(ctx, b.claims("h").Held, "s", []byte(`1`), []string{"m2"}))
	queued := b.add("u", job.Reembed, "n")
	b.add("u", job.Reflection, "n")
	waiting := b.add("w", job.Reflection, "n")
	_, err := b.Retry(ctx, b.claims("h").Held, &job.Outcome{Reason: "r"})
	must(t, err)
	b.add("x", job.Reflection, "n")
	workflow := b.add("u", job.Workflow, "n")
	b.sound()
	return b, []string{completed, running, queued, waiting, workflow}
}

func TestCheck_FindsWhatDoesNotHold(t *testing.T) {
	edit := func(key []byte, from, to string) func(core.Tx) error {
		return func(tx core.Tx) error {
			value, _, err := tx.Get(key)
			if err != nil || !strings.Contains(string(value), from) {
				return fmt.Errorf("%s lacks %s: %v", value, from, err)
			}
			return tx.Put(key, []byte(strings.Replace(string(value), from, to, 1)))
		}
	}
	drop := func(key []byte) func(core.Tx) error {
		return func(tx core.Tx) error {
			if _, found, err := tx.Get(key); err != nil || !found {
				return fmt.Errorf("%q isn't there: %v", key, err)
			}
			return tx.Delete(key)
		}
	}
	_, ids := manyStates(t)
	completed, running, queued, waiting := ids[0], ids[1], ids[2], ids[3]
	for name, c := range map[string]struct {
		tamper func(core.Tx) error
		key    string
		says   string
	}{
		"no JSON":            {func(tx core.Tx) error { return tx.Put(job.JobKey(completed), []byte("{")) }, "job/" + completed, "can't be decoded"},
		"another type":       {edit(job.JobKey(completed), `"type":"reflection"`, `"type":"dream"`), "job/" + completed, "isn't what its events say"},
		"another status":     {edit(job.JobKey(completed), `"status":"completed"`, `"status":"failed"`), "job/" + completed, "isn't what its events say"},
		"another reason":     {edit(job.JobKey(completed), `"reason":"done"`, `"reason":"x"`), "job/" + completed, "isn't what its events say"},
		"another epoch":      {edit(job.JobKey(running), `"epoch":1`, `"epoch":2`), "job/" + running, "isn't what its events say"},
		"no status":          {edit(job.JobKey(completed), `"status":"completed"`, `"status":"x"`), "job/" + completed, "isn't as the program writes it"},
		"a strange id":       {func(tx core.Tx) error { return tx.Put([]byte("job/a b"), []byte("{}")) }, "job/a b", "isn't a job's"},
		"attempts below 0":   {edit(job.JobKey(completed), `"attempts":`, `"attempts":-`), "job/" + completed, "out of its bounds"},
		"progress above 1":   {edit(job.JobKey(completed), `"progress":1`, `"progress":7`), "job/" + completed, "out of its bounds"},
		"another field":      {edit(job.JobKey(completed), `{`, `{"x":1,`), "job/" + completed, "doesn't write"},
		"another content":    {edit(job.ContentKey(queued), `{`, `{"x":1`), "job-content/" + queued, "doesn't write"},
		"another result":     {edit(job.ResultKey(completed), `{`, `{"x":1,`), "job-result/" + completed, "doesn't write"},
		"another step":       {edit(job.StepKey(running, "s"), `{`, `{"x":1,`), "job-step/" + running, "doesn't write"},
		"no content":         {drop(job.ContentKey(queued)), "job-content/" + queued, "missing"},
		"a running job gone": {drop(job.JobKey(running)), "job/" + running, "the job is gone"},
		"content of nothing": {drop(job.JobKey(completed)), "job-content/" + completed, "isn't there"},
		"a result too early": {func(tx core.Tx) error { return tx.Put(job.ResultKey(queued), []byte(`{}`)) }, "job-result/" + queued, "has none"},
		"a step too late":    {func(tx core.Tx) error { return tx.Put(job.StepKey(completed, "s"), []byte(`{}`)) }, "job-step/" + completed, "has none"},
		"a job of nobody": {func(tx core.Tx) error {
			value, _, err := tx.Get(job.JobKey(completed))
			if err != nil {
				return err
			}
			forged := strings.ReplaceAll(string(value), completed, "forged")
			if err := tx.Put(job.ContentKey("forged"), []byte(`{}`)); err != nil {
				return err
			}
			return tx.Put(job.JobKey("forged"), []byte(forged))
		}, "job/", "no event tells of"},
		"the count of all": {drop(job.NumberKey()), "job-sequence/number", "higher number"},
		"no queue":         {drop(job.QueueKey("u")), "job-queue/u", "isn't the queue"},
		"a queue in disorder": {func(tx core.Tx) error {
			return tx.Put(job.QueueKey("u"), []byte(`{"running":"`+waiting+`"}`))
		}, "job-queue/u", "isn't the queue"},
		"no counts":          {drop(job.CountKey()), "job-count/all", "counts"},
		"a count of ends":    {drop(job.FinishedKey("u")), "job-finished/u", "count of ended"},
		"an end of nobody":   {func(tx core.Tx) error { return tx.Put(job.FinishedKey("nobody"), []byte("1")) }, "job-finished/nobody", "count of ended"},
		"not in the memory":  {drop(job.MemoryKey("m2", running)), "job-memory/m2/" + running, "lacks job"},
		"not in the lease":   {drop(job.RunningKey("h", running)), "job-running/h/" + running, "lacks job"},
		"a stray memory":     {func(tx core.Tx) error { return tx.Put(job.MemoryKey("m9", running), nil) }, "job-memory/m9/" + running, "follows from no record"},
		"a stray activity":   {func(tx core.Tx) error { return tx.Put(job.ActiveKey("z", job.Dream, "a/b"), []byte(queued)) }, "job-active/z/dream/a/b", "follows from no record"},
		"ready too early":    {func(tx core.Tx) error { return job.ReadyItem(tx, job.Reflection, 0, waiting) }, "job-ready/reflection/page/~", "fits no job"},
		"nothing waits":      {drop([]byte("job-wait/pages")), "job-wait/pages", "isn't found there"},
		"a stray page":       {func(tx core.Tx) error { return tx.Put([]byte("job-wait/page/0"), []byte("x")) }, "job-ready/", "aren't in their directory"},
		"other shards":       {func(tx core.Tx) error { return tx.Put(job.DividedKey(), []byte("2")) }, "job-shard/divided", "2 shards"},
		"a stray shard":      {func(tx core.Tx) error { return tx.Put([]byte("job-shard/00/count"), nil) }, "job-shard/00/count", "of no shard"},
		"no last page":       {func(tx core.Tx) error { return tx.Put([]byte("job-wait/pages"), []byte("0")) }, "job-wait/pages", "no last page"},
		"another duration":   {func(tx core.Tx) error { return touch(tx, "job-took/", "9") }, "job-took/", "follows from no record"},
		"an end of nothing":  {func(tx core.Tx) error { return tx.Put(job.EndKey(time.Unix(1, 0), queued), nil) }, "job-end/1000000000/" + queued, "follows from no record"},
		"nothing is changed": {func(core.Tx) error { return nil }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, again := manyStates(t)
			if fmt.Sprint(again) != fmt.Sprint(ids) {
				t.Fatal("the ids aren't the same each time")
			}
			must(t, b.store.Update(t.Context(), c.tamper))
			found := problems(t, b.store)
			if c.says == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			for _, p := range found {
				if strings.HasPrefix(p.Key, c.key) && strings.Contains(p.Message, c.says) {
					return
				}
			}
			t.Errorf("found %+v, want %s: %s", found, c.key, c.says)
		})
	}
}

// touch writes a value to the first key of a prefix.
func touch(tx core.Tx, prefix, value string) error {
	keys, err := core.Suffixes(tx, []byte(prefix), 1)
	if err != nil || len(keys) == 0 {
		return fmt.Errorf("%s has no keys: %v", prefix, err)
	}
	return tx.Put([]byte(prefix+keys[0]), []byte(value))
}

// TestRebuild_MakesWhatFollows drops each derived key, adds strays, and finds the store as it
// was.
func TestRebuild_MakesWhatFollows(t *testing.T) {
	b, ids := manyStates(t)
	rebuilt(t, b, ids, []string{"job-shard/"})
	must(t, b.Divide(t.Context()))
	b.sound()
	rebuilt(t, b, ids, []string{"job-count/", "job-ready/", "job-wait/"})
}

// rebuilt drops the derived keys, of which there are none of some prefixes.
func rebuilt(t *testing.T, b *board, ids []string, none []string) {
	t.Helper()
	before := dump(t, b.store)
	for round := range 2 {
		dropped := 0
		must(t, b.store.Update(t.Context(), func(tx core.Tx) error {
			for _, prefix := range (job.Checker{}).Derived() {
				keys, err := core.Suffixes(tx, []byte(prefix), 1000)
				if err != nil || (len(keys) == 0) != slices.Contains(none, prefix) {
					return fmt.Errorf("%s has %d keys: %v", prefix, len(keys), err)
				}
				for _, key := range keys {
					if key == "divided" { // what no job says
						continue
					}
					dropped++
					if err := tx.Delete([]byte(prefix + key)); err != nil {
						return err
					}
				}
				if round > 0 {
					if err := tx.Put([]byte(prefix+"stray"), []byte(ids[0])); err != nil {
						return err
					}
				}
			}
			return nil
		}))
		found := problems(t, b.store)
		for _, p := range found {
			if !p.Rebuildable {
				t.Errorf("not rebuildable: %+v", p)
			}
		}
		if len(found) < dropped/2 {
			t.Errorf("%d keys are gone, and %d problems found", dropped, len(found))
		}
		must(t, store.Rebuild(t.Context(), b.store, parts()))
		if diff := cmp.Diff(before, dump(t, b.store)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
}
