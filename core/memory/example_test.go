package memory_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// Governed memory in a program of its own, wired as the command line's. Without the
// governor the settings of namespaces don't hold; without policies and gate no memory
// changes its state.
func Example() {
	dir, err := os.MkdirTemp("", "memories")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := useMemories(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// offered: [phone-1]
	// phone-1: open → active
	// depth_exceeded: reflection depth 1 would exceed namespace max_reflection_depth 0 (namespace='team/mail')
}

// useMemories keeps memories in a folder, which one program at a time has open.
func useMemories(ctx context.Context, dir string) error {
	store, err := pebble.Open(ctx, pebble.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer store.Close()
	writer := &journal.Writer{Store: store}
	rooter := journal.StartRooter(writer) // chains the streams of the journal, for audit verify
	defer rooter.Close(ctx)

	governor := governance.New(writer)
	policies := policy.New(policy.AllPoints(), policy.Options{}) // the defaults
	memories, err := memory.New(memory.Options{
		Store: store, Governor: governor, Embedder: embed.Hashed{},
		Reflection: policies, Retention: policies, Gate: gate.New(policies), Evidence: gate.Evidence{},
	})
	if err != nil {
		return err
	}
	defer memories.Close()
	return oneTurn(ctx, memories, governor)
}

// oneTurn is what an agent does with memories, and what an operator does about them.
func oneTurn(ctx context.Context, memories *memory.Memories, governor *governance.Governor) error {
	phone, err := memories.Observe(ctx, &core.ObserveRequest{
		ID: "phone-1", Namespace: "team/mail", Content: "Phone numbers are written with +49.",
	})
	if err != nil {
		return err
	}

	// Recall before the agent works; afterwards tell how it went, and what it used.
	offered, err := memories.Recall(ctx, &core.RecallRequest{
		Session: "s1", Turn: 1, Query: "how are phone numbers written?",
		RecallFilter: core.RecallFilter{Namespace: "team/mail"},
	})
	if err != nil {
		return err
	}
	fmt.Println("offered:", ids(offered.Memories))
	learned, err := memories.Feedback(ctx, &core.FeedbackRequest{
		Session: "s1", Turn: 1, Outcome: core.OutcomeSuccess, Used: ids(offered.Memories),
	})
	if err != nil {
		return err
	}
	for _, item := range learned.Items {
		fmt.Printf("%s: %s → %s\n", item.ID, item.Before, item.After)
	}

	// No reflections in team and below, and nobody below may allow them.
	if _, err := governor.Set(ctx, "team", "max_reflection_depth=0", "locked=max_reflection_depth"); err != nil {
		return err
	}
	_, err = memories.Reflect(ctx, &core.ReflectRequest{
		SourceIDs: []string{phone.ID}, Title: "Phones", Content: "Always international.",
	})
	fmt.Printf("%s: %v\n", sdk.ReasonOf(err), err)
	return nil
}

// ids are the ids of the memories that a recall returned.
func ids(memories []core.Recalled) []string {
	list := make([]string, len(memories))
	for i, m := range memories {
		list[i] = m.ID
	}
	return list
}
