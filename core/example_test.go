package core_test

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
)

// What is set for a namespace holds for those below it, unless they set it themselves.
func ExampleNamespaceChain() {
	fmt.Println(core.NamespaceChain("team/mail/inbox"))
	fmt.Println(core.CheckNamespace("team//mail"))
	// Output:
	// [* team team/mail team/mail/inbox]
	// namespace "team//mail": a segment is empty
}
