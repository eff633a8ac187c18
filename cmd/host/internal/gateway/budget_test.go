package gateway_test

import (
	"net/http"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	"github.com/reflectory/reflectory/core/coretest"
	core "github.com/reflectory/reflectory/core/host/gateway"
)

// TestBudget counts what a request through the gateway costs: client, gateway and upstream together.
func TestBudget(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	script := make([]gatewaytest.Reply, coretest.BudgetCalls)
	for i := range script {
		script[i] = gatewaytest.Reply{Text: "Hello."}
	}
	w := newWorld(t, script...)
	w.serve(core.HoldNothing, nil)
	coretest.Budget{Path: "a request to a model", Allocations: 690}.Check(t, func() {
		w.asked, w.replies = nil, nil
		if resp, body := w.post("/openai/v1/chat/completions", `{"model":"coder","messages":[{"role":"user","content":"hi"}]}`); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, body)
		}
	})
}
