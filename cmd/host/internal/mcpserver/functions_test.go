//go:build functions

package mcpserver

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestFunctions counts the functions of the project that a call of a tool passes, without the library's.
func TestFunctions(t *testing.T) {
	w := operationtest.NewOn(t, nil)
	w.Must(w.Host.Ready(w.Ctx))
	call := toolCalls(t, newServerOf(t, w))
	coretest.Functions{Path: "MCP retrieve", Most: 266}.Check(t, func() {
		call("retrieve", fmt.Sprintf(`{"namespace":%q,"query":"what was observed the time 7"}`, operationtest.Here))
	})
}
