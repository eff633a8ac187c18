package mcpserver

import (
	"context"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A resource is a complete memory, run or entry of knowledge, by its id, which a person can
// attach to a conversation.

// resources are the kinds of resources.
var resources = []struct {
	name, doc string
	operation string
	request   func(id string) any
}{
	{"knowledge", "An entry of knowledge", "knowledge_get", func(id string) any { return &operation.KnowledgeGet{ID: id} }},
	{"memory", "A memory with its links", "memory_get", func(id string) any { return &operation.MemoryGet{ID: id} }},
	{"run", "A run with every attempt", "run_get", func(id string) any { return &operation.RunGet{ID: id} }},
}

const resourceType = "application/json"

// addResources adds a template for each kind.
func (s *Server) addResources(m *mcp.Server) {
	for _, r := range resources {
		start := "reflectory://" + r.name + "/"
		m.AddResourceTemplate(&mcp.ResourceTemplate{Name: r.name, Description: r.doc, MIMEType: resourceType, URITemplate: start + "{id}"},
			func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				uri := req.Params.URI
				id, err := url.PathUnescape(strings.TrimPrefix(uri, start))
				if err != nil || id == "" {
					return nil, mcp.ResourceNotFoundError(uri)
				}
				out, err := s.config.Client.Call(ctx, operation.Call{}, r.operation, r.request(id))
				if err != nil {
					return nil, s.unread(ctx, uri, err)
				}
				text, err := jsontext.Encode(out)
				if err != nil {
					return nil, err
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: resourceType, Text: string(visible(text))}}}, nil
			})
	}
}

// unread is the error for a resource that can't be read. For the caller, a resource that it
// may not see doesn't exist.
func (s *Server) unread(ctx context.Context, uri string, err error) error {
	switch sdk.CodeOf(err) {
	case sdk.NotFound, sdk.Invalid:
		return mcp.ResourceNotFoundError(uri)
	}
	p := s.problem(ctx, set{}, jsontext.MustEncode(map[string]string{"uri": uri}), err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: p.Detail, Data: jsontext.MustEncode(map[string]string{"code": p.Code})}
}
