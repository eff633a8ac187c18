package core_test

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/core"
)

// A setting of a namespace applies to the namespaces below it, unless they set it
// themselves.
func ExampleNamespaceChain() {
	fmt.Println(core.NamespaceChain("team/mail/inbox"))
	fmt.Println(core.CheckNamespace("team//mail"))
	// Output:
	// [* team team/mail team/mail/inbox]
	// namespace "team//mail": a segment is empty
}

// Who asks comes with the context: the parts of core take it from there.
func ExampleWithCaller() {
	ctx := core.WithCaller(context.Background(), core.Caller{
		Subject: "ada@example.org", Label: "mail-agent",
		Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{"team/mail/**"},
	})
	c := core.CallerOf(ctx)
	fmt.Println(c.Subject, "as", c.Label)
	fmt.Println("may write:", c.Has(core.ScopeMemoryWrite))
	fmt.Println("reaches:", c.Reaches("team/mail/inbox"), c.Reaches("team/billing"))
	// Output:
	// ada@example.org as mail-agent
	// may write: false
	// reaches: true false
}
