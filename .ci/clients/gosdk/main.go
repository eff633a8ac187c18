// Command gosdk is a client of the Go SDK of MCP for mcp.mjs: gosdk URL TOKEN. It writes the names of the tools, then
// reads calls, one {"name", "arguments"} a line, and writes the result of each as a line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
}

// authorized sends the token with each request.
type authorized string

// RoundTrip implements [http.RoundTripper].
func (token authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func run(ctx context.Context, url, token string, in io.Reader, out io.Writer) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: authorized(token)}}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	names := make([]string, len(tools.Tools))
	for i, t := range tools.Tools {
		names[i] = t.Name
	}
	answers, calls := json.NewEncoder(out), json.NewDecoder(in)
	if err := answers.Encode(names); err != nil {
		return err
	}
	for {
		var call struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := calls.Decode(&call); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.Name, Arguments: call.Arguments})
		if err != nil {
			return fmt.Errorf("%s: %w", call.Name, err)
		}
		if err := answers.Encode(result); err != nil {
			return err
		}
	}
}
