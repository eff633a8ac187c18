package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// moving are policies by which each feedback moves a memory to another state, so that each
// commit names the policy that decided in it.
func moving(score float64) map[string]string {
	return map[string]string{
		"retention/all.yaml": fmt.Sprintf(`rule: {match: [{output: '{"ttl_score": %g, "state": state == "active" ? "cooling" : "active"}'}]}`, score),
	}
}

// learner is a host that gives feedback on a memory of its own, turn after turn.
type learner struct {
	*host.Host
	namespace string
	turns     int64
}

func (l *learner) learn(ctx context.Context) error {
	if l.turns == 0 {
		if _, err := l.Memories.Observe(ctx, &core.ObserveRequest{Namespace: l.namespace, Title: "harbour", Content: "The harbour is open"}); err != nil {
			return err
		}
	}
	l.turns++
	_, err := l.Memories.Recall(ctx, &core.RecallRequest{
		Session: l.namespace, Turn: l.turns, Query: "harbour", RecallFilter: core.RecallFilter{Namespace: l.namespace},
	})
	if err == nil {
		_, err = l.Memories.Feedback(ctx, &core.FeedbackRequest{Session: l.namespace, Turn: l.turns, Outcome: core.OutcomeSuccess})
	}
	return err
}

// pushWithHeads pushes, and returns the heads of streams at that moment.
func pushWithHeads(ctx context.Context, h *host.Host, files map[string]string, hosts []*learner) (heads map[string]uint64, policy string, err error) {
	set, err := h.Policies.Points.LoadFiles(files)
	if err != nil {
		return nil, "", err
	}
	err = h.Journal.Update(ctx, func(tx *journal.Tx) error {
		heads = map[string]uint64{}
		for _, l := range hosts {
			head, err := journal.ReadHead(tx, journal.NamespaceStream(l.namespace))
			if err != nil {
				return err
			}
			heads[l.namespace] = head.Seq
		}
		_, _, err := policyset.Put(tx, policyset.Set{Digest: set.Digest(), Files: files, Policies: 1})
		return err
	})
	return heads, set.Files()[0].Digest(), err
}

// pushesBesideFeedback pushes while hosts give feedback. Each commit after a push must have
// been decided with it, or with a later one.
func pushesBesideFeedback(t *testing.T, hosts []*learner, pushes int) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	var done atomic.Bool
	var turns atomic.Int64
	var all sync.WaitGroup
	for _, l := range hosts {
		all.Go(func() {
			for !done.Load() && !t.Failed() {
				if err := l.learn(ctx); err != nil {
					t.Errorf("%s: %v", l.namespace, err)
				}
				turns.Add(1)
			}
		})
	}
	var heads []map[string]uint64 // at each push
	epoch := map[string]int{}     // of a policy's digest
	for i := range pushes {
		for from := turns.Load(); turns.Load() < from+int64(len(hosts)) && !t.Failed(); {
			_, _ = hosts[0].Policies.Active() // meanwhile they give feedback
		}
		at, policy, err := pushWithHeads(ctx, hosts[i%len(hosts)].Host, moving(float64(i+1)/100), hosts)
		if err != nil {
			t.Error(err)
			break
		}
		heads, epoch[policy] = append(heads, at), i+1
	}
	for from := turns.Load(); turns.Load() < from+int64(len(hosts)) && !t.Failed(); {
		_, _ = hosts[0].Policies.Active()
	}
	done.Store(true)
	all.Wait()
	last := 0
	err := hosts[0].Store.View(ctx, func(r core.Reader) error {
		for _, l := range hosts {
			err := journal.Read(r, journal.NamespaceStream(l.namespace), func(e journal.Entry) error {
				if !e.Is(journal.MemoryTransitioned{}) {
					return nil
				}
				var moved journal.MemoryTransitioned
				if err := json.Unmarshal(e.Data, &moved); err != nil {
					return err
				}
				if moved.DecisionID != "" {
					return nil // of the gate, whose policies nobody pushed
				}
				pushed := 0 // how many pushes were committed before
				for pushed < len(heads) && heads[pushed][l.namespace] < e.Seq {
					pushed++
				}
				if decided := epoch[moved.Policy]; decided != pushed {
					t.Errorf("%s, entry %d: decided by epoch %d, when %d was in force", l.namespace, e.Seq, decided, pushed)
				}
				if pushed == pushes {
					last++
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || last == 0 {
		t.Errorf("%d decisions after the last push: %v", last, err)
	}
}

func TestPolicyPush_DecidesWhatIsCommittedAfterIt(t *testing.T) {
	s := mem.Open()
	var hosts []*learner
	for i := range 4 {
		hosts = append(hosts, &learner{Host: open(t, host.Config{Store: s, Shared: true}), namespace: fmt.Sprintf("n%d", i)})
	}
	pushesBesideFeedback(t, hosts, 8)
}

func TestShared_PolicyPushDecidesWhatIsCommittedAfterIt(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	url := database.Cluster(t).URL(t)
	var hosts []*learner
	for i := range 4 {
		hosts = append(hosts, &learner{Host: openShared(ctx, t, url), namespace: fmt.Sprintf("n%d", i)})
	}
	pushesBesideFeedback(t, hosts, 8)
}

// A host decides with what was pushed, also where it isn't within a transaction, and another
// host learns of it by itself.
func TestPolicyPush_ReachesEveryHost(t *testing.T) { synctest.Test(t, reachesEveryHost) }

func reachesEveryHost(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	s := mem.Open()
	one, other := open(t, host.Config{Store: s, Shared: true}), open(t, host.Config{Store: s, Shared: true})
	files := map[string]string{"access/all.yaml": `rule: {match: [{condition: 'operation != "policy_push"', output: '{"allow": false, "code": "closed", "reason": "no"}'}, {output: '{"allow": true}'}]}`}
	pushed, err := one.Policies.Push(ctx, files)
	if err != nil || pushed.Epoch != 1 || pushed.Files != 1 || pushed.Unchanged || pushed.Previous != "" {
		t.Fatalf("pushed %+v: %v", pushed, err)
	}
	time.Sleep(journal.DefaultPoll)
	synctest.Wait()
	for _, h := range []*host.Host{one, other} {
		if answer := h.Policies.Access(ctx, &policypoint.AccessInput{Operation: "memory_get"}); answer.Allow || answer.Code != "closed" {
			t.Errorf("a host answers %+v", answer)
		}
		if active, err := h.Policies.Active(); err != nil || active.Digest != pushed.Digest {
			t.Errorf("a host decides with %+v: %v", active, err)
		}
	}
	again, err := other.Policies.Push(ctx, files)
	if err != nil || !again.Unchanged || again.Epoch != 1 {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	next, err := other.Policies.Push(ctx, moving(0.5))
	if err != nil || next.Epoch != 2 || next.Previous != pushed.Digest {
		t.Errorf("the next: %+v, %v", next, err)
	}
}

// unsteady is a store that can't be read for a while.
type unsteady struct {
	core.Store
	away atomic.Bool
}

func (s *unsteady) View(ctx context.Context, fn func(core.Reader) error) error {
	return s.Store.View(ctx, func(r core.Reader) error { return fn(unsteadyReader{r, s}) })
}

type unsteadyReader struct {
	core.Reader
	of *unsteady
}

func (r unsteadyReader) Get(key []byte) ([]byte, bool, error) {
	if r.of.away.Load() && string(key) == "policy/active" {
		return nil, false, sdk.Errorf(sdk.Unavailable, "store_unreachable", "the store is away")
	}
	return r.Reader.Get(key)
}

// A host whose store fails just when it learns of a push still learns what was pushed.
func TestPolicyPush_ReachesHostsWhoseStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		s := mem.Open()
		shaky := &unsteady{Store: s}
		one, other := open(t, host.Config{Store: s, Shared: true}), open(t, host.Config{Store: shaky, Shared: true})
		if err := other.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		shaky.away.Store(true)
		pushed, err := one.Policies.Push(ctx, moving(0.5))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * journal.DefaultPoll) // the host reads the push, and can't read what it says
		synctest.Wait()
		if active, err := other.Policies.Active(); err != nil || active.Epoch != 0 {
			t.Errorf("while the store is away, the host decides with %+v: %v", active, err)
		}
		shaky.away.Store(false)
		time.Sleep(2 * journal.DefaultPoll)
		synctest.Wait()
		if active, err := other.Policies.Active(); err != nil || active.Digest != pushed.Digest {
			t.Errorf("the host decides with %+v: %v", active, err)
		}
	})
}

func TestPolicyPush_Refuses(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	shared := open(t, host.Config{Store: mem.Open(), Shared: true})
	for _, c := range []struct {
		h      *host.Host
		files  map[string]string
		reason string
	}{
		{open(t, host.Config{Store: mem.Open()}), moving(0.5), "policies_not_shared"},
		{shared, map[string]string{"access/all.yaml": `rule: {match: [{output: '{"allow": false, "code": "closed", "reason": "no"}'}]}`}, "policy_locks_out"},
		{shared, map[string]string{"retention/all.yaml": `rule: {match: [{output: '1 +'}]}`}, "policy_invalid"},
	} {
		if _, err := c.h.Policies.Push(ctx, c.files); sdk.ReasonOf(err) != c.reason {
			t.Errorf("%v, want %s", err, c.reason)
		}
	}
	if active, err := shared.Policies.Active(); err != nil || active.Epoch != 0 {
		t.Errorf("%+v decides after refusals: %v", active, err)
	}
}

// A host that can't use the newest set isn't ready, and decides nothing with an older one.
func TestPolicyPush_OfAnotherProgramsPolicies(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	s := mem.Open()
	l := &learner{Host: open(t, host.Config{Store: s, Shared: true}), namespace: "n"}
	if err := l.learn(ctx); err != nil {
		t.Fatal(err)
	}
	w := &journal.Writer{Store: s}
	push := func(files map[string]string) {
		t.Helper()
		err := w.Update(ctx, func(tx *journal.Tx) error {
			_, _, err := policyset.Put(tx, policyset.Set{Digest: core.Digest(jsontext.MustEncode(files)), Files: files, Policies: 1})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	push(map[string]string{"telepathy/all.yaml": `rule: {match: [{output: '{}'}]}`})
	fresh := open(t, host.Config{Store: s, Shared: true})
	if err := fresh.Ready(ctx); sdk.ReasonOf(err) != "policies_unusable" {
		t.Errorf("ready: %v", err)
	}
	if answer := fresh.Policies.Access(ctx, &policypoint.AccessInput{Operation: "memory_get"}); answer.Allow || answer.Decision.Failure == nil {
		t.Errorf("access: %+v", answer)
	}
	before := transitions(t, s)
	if err := l.learn(ctx); err != nil {
		t.Fatal(err)
	}
	if after := transitions(t, s); after != before {
		t.Errorf("%d decisions of a set that can't be used", after-before)
	}
	push(moving(0.5)) // its digest isn't the digest of the files
	if err := fresh.Ready(ctx); sdk.ReasonOf(err) != "policies_unusable" {
		t.Errorf("ready: %v", err)
	}
	set, err := fresh.Policies.Points.LoadFiles(moving(0.25))
	if err != nil {
		t.Fatal(err)
	}
	err = w.Update(ctx, func(tx *journal.Tx) error {
		_, _, err := policyset.Put(tx, policyset.Set{Digest: set.Digest(), Files: moving(0.25), Policies: 1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Ready(ctx); err != nil {
		t.Errorf("ready after a good push: %v", err)
	}
}

func transitions(t *testing.T, s core.Store) (n int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return journal.Read(r, journal.NamespaceStream("n"), func(e journal.Entry) error {
			if e.Is(journal.MemoryTransitioned{}) {
				n++
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
