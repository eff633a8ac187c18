package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
	core "github.com/reflectory/reflectory/core/host/gateway"
)

// BenchmarkRequest reads and edits the request of a coding agent in a long conversation: 1 MB.
func BenchmarkRequest(b *testing.B) {
	part := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":[{"type":"text","text":"` + strings.Repeat(`func main() { fmt.Println(\"x\") }\n`, 100) + `"}]}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"I'll read the next one."},{"type":"tool_use","id":"toolu_01","name":"Read","input":{"file_path":"/a/b/c.go"}}]},`
	body := []byte(`{"model":"coder","max_tokens":1,"messages":[` + strings.Repeat(part, 260) + `{"role":"user","content":"go on"}]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r, err := gateway.Parse("messages", body, http.Header{})
		if err != nil {
			b.Fatal(err)
		}
		r.Edited(&core.Edits{Model: "up", System: "x"})
	}
}
