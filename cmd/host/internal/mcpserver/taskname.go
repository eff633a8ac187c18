package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core/jsontext"
)

// A client sends headers that name what its request is about, so that proxies needn't read
// the body. The library compares the headers with the body for the methods that it knows;
// this file does so for the methods of tasks.

// The headers, and the parameter that must equal the name header in a request about a
// task.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
)

// checkTaskNames refuses a request if its headers name a different task.
func checkTaskNames(next http.Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get(headerMethod) {
		case methodTaskGet, methodTaskUpdate, methodTaskCancel:
		default:
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body can't be read, or is too large", http.StatusRequestEntityTooLarge)
			return
		}
		var asked struct {
			ID     json.RawMessage
			Params struct {
				TaskID string `json:"taskId"`
			}
		}
		if json.Unmarshal(body, &asked) == nil && asked.Params.TaskID != r.Header.Get(headerName) {
			writeMismatch(w, asked.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body)) // the server closes the one that was read
		next.ServeHTTP(w, r)
	})
}

func writeMismatch(w http.ResponseWriter, id json.RawMessage) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(jsontext.MustEncode(map[string]any{ // the caller may have gone
		"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": mcp.CodeHeaderMismatch, "message": "the header " + headerName + " isn't the request's taskId"},
	}))
}
