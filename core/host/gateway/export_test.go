package gateway

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// JudgeWith lets a function judge instead of plugins.
func (g *Gateway) JudgeWith(act func(context.Context, host.Need, action.Spec, json.RawMessage) (any, error)) {
	g.act = act
}

// Commit commits what waits.
func (g *Gateway) Commit(ctx context.Context) error { return g.log().Commit(ctx) }

// SettleOld writes the feedback on turns that nobody goes on with.
func (g *Gateway) SettleOld(ctx context.Context) error { return g.settleOld(ctx, g.host, g.log()) }

func (g *Gateway) log() *conversation.Log { return g.logs[g.host] }

// Messages are the messages of a conversation up to a digest.
func (g *Gateway) Messages(ctx context.Context, namespace, digest string) ([]conversation.Message, error) {
	return g.log().Messages(ctx, namespace, digest)
}
