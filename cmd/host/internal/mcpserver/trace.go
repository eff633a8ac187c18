package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
)

// followTrace continues the trace that a request names in its _meta: over standard input
// there is no header for it, and over HTTP a proxy may have replaced the header.
func followTrace(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "tools/call", "resources/read": // they have parameters, and call operations
			if header, is := req.GetParams().GetMeta()["traceparent"].(string); is {
				if t, valid := traceparent.Parse(header); valid {
					ctx = traceparent.With(ctx, t)
				}
			}
		}
		return next(ctx, method, req)
	}
}
