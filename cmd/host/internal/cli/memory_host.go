package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// memoryHost is the governed memory of the state folder, for one command.
type memoryHost struct {
	*memory.Memories
	evidence *gate.Recorder
	policies *livePolicies
	store    *openedStore
}

// Close ends what the memory does in the background, and closes the store.
func (h *memoryHost) Close() error {
	h.Memories.Close()
	return errors.Join(h.policies.Close(), h.store.Close())
}

// openMemory opens the store of the state folder and the memory in it. The
// policies of the configuration decide on it.
func (a *App) openMemory(ctx context.Context) (*memoryHost, error) {
	policies, err := a.openPolicies(ctx)
	if err != nil {
		return nil, err
	}
	db, err := a.openStore(ctx)
	if err != nil {
		return nil, errors.Join(err, policies.Close())
	}
	policies.connect(db)
	memories := a.memoryOn(db, policies)
	evidence := &gate.Recorder{Writer: a.writer(db), Memories: memories, AgentID: a.config.Agent.Value}
	return &memoryHost{memories, evidence, policies, db}, nil
}

// memoryOn makes the memory of an open store.
func (a *App) memoryOn(db core.Store, policies *livePolicies) *memory.Memories {
	embedder, err := a.embedder()
	if err != nil {
		panic("embedder: " + err.Error()) // the configuration was checked when it was read
	}
	boost, err := a.config.depthBoost()
	if err != nil {
		panic("depth boost: " + err.Error()) // as above
	}
	memories, err := memory.New(memory.Options{
		Store: db, IDs: a.newIDs(), Governor: governance.New(a.writer(db)), Reflection: policies, Retention: policies,
		Gate: gate.New(policies), DeferGate: a.deferGate, Evidence: gate.Evidence{}, Embedder: embedder, Summarizer: a.summarizer(policies),
		Forgetters: []core.Forgetter{store.RunMemories{}, replies(db)}, DepthBoost: boost, Subscribers: a.subscribers(),
	})
	if err != nil {
		panic("memory: " + err.Error()) // no option can be wrong but a missing store
	}
	return memories
}

// replies are what models said, for calls with cache: true.
func replies(db core.Store) *store.Replies {
	return &store.Replies{Store: db, Clock: core.SystemClock{}, Purged: memory.IsPurged}
}

// writer changes a store, and shows the events of it where that is asked.
func (a *App) writer(db core.Store) *journal.Writer {
	return &journal.Writer{Store: db, Subscribers: a.subscribers()}
}

// subscribers are who is told of events: the terminal, from --log-level info on.
func (a *App) subscribers() []journal.Subscriber {
	if !a.shows("info") {
		return nil
	}
	return []journal.Subscriber{journal.LogTo(func(event string, args ...any) {
		line := "info: " + event
		for i := 0; i+1 < len(args); i += 2 {
			line += fmt.Sprintf(" %v=%v", args[i], args[i+1])
		}
		a.term.Note("%s", term.Cut(line, 600))
	})}
}

// withMemory opens the memory for one command.
func (a *App) withMemory(ctx context.Context, fn func(*memoryHost) error) (err error) {
	m, err := a.openMemory(ctx)
	if err != nil {
		return err
	}
	defer closing(&err, m)
	return fn(m)
}

// onMemory runs a command on the memory.
func (a *App) onMemory(fn func(ctx context.Context, m *memoryHost, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return a.withMemory(c.Context(), func(m *memoryHost) error { return fn(c.Context(), m, args) })
	}
}

// ids finds the whole ids of what prefixes name.
func (h *memoryHost) ids(ctx context.Context, prefixes []string) ([]string, error) {
	ids := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		found, err := h.Find(ctx, prefix)
		if err != nil {
			return nil, err
		}
		ids[i] = found.ID
	}
	return ids, nil
}

// idsOrAsGiven is ids for what the memory itself refuses in its order, or knows
// after its purge: what names no memory stays as it was given.
func (h *memoryHost) idsOrAsGiven(ctx context.Context, prefixes []string) ([]string, error) {
	ids := slices.Clone(prefixes)
	for i, prefix := range prefixes {
		found, err := h.Find(ctx, prefix)
		switch code := sdk.CodeOf(err); {
		case err == nil:
			ids[i] = found.ID
		case code != sdk.NotFound && code != sdk.Invalid:
			return nil, err
		}
	}
	return ids, nil
}

// maxDepthBoost is the largest factor of reflections in recalls.
const maxDepthBoost = 10

// depthBoost is the factor of reflections in recalls.
func (c Config) depthBoost() (float64, error) {
	boost, err := strconv.ParseFloat(c.RecallDepthBoost.Value, 64)
	if err != nil || !(boost > 0 && boost <= maxDepthBoost) {
		return 0, sdk.Errorf(sdk.Invalid, "config_invalid", "recall_depth_boost %q (%s) is not a number above 0, of at most %d",
			core.Cut(c.RecallDepthBoost.Value), c.RecallDepthBoost.Origin, maxDepthBoost).
			WithHint("write settings: {recall: {depth_boost: 1.2}}; 1 has reflections rank like other memories")
	}
	return boost, nil
}
