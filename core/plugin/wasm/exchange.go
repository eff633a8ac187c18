package wasm

import (
	"context"
	"errors"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// replyReader reads a reply, which is valid until it returns, and the fuel that the call
// used. It reports whether the reply may be cached for equal calls.
type replyReader func(reply []byte, fuel int64) (keep bool, err error)

// exchange makes one call: it is answered from the cache of equal calls, or by a guest.
func (i *instance) exchange(ctx context.Context, r *request, read replyReader) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, i.plugin.Limits.Timeout)
		defer cancel()
	}
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	if len(r.config.JSON) == 0 {
		r.config.JSON = []byte("{}")
	}
	if r.op == abi.OpPrepare && i.keepsConfigs() {
		_, err := i.guestFor(ctx, r) // which prepares
		return err
	}
	key, keeps := i.verdictKey(r)
	if keeps {
		if reply, fuel, ok := i.driver.verdicts.get(key); ok {
			_, err := read(reply, fuel)
			return err
		}
	}
	reply, fuel, err := i.try(ctx, r)
	if err != nil {
		return err
	}
	keep, err := read(reply, fuel)
	if keep && keeps && (fuel == 0 || fuel >= worthKeeping) {
		i.driver.verdicts.put(key, reply, fuel)
	}
	return errors.Join(err, i.afterCall(ctx))
}

// try makes the call on a guest that has the config, and a second time if a stateful guest
// answers that it no longer has it.
func (i *instance) try(ctx context.Context, r *request) ([]byte, int64, error) {
	for first := true; ; first = false {
		g, err := i.guestFor(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		reply, err := i.callGuest(ctx, g, r)
		if err != nil {
			return nil, 0, err
		}
		key := i.keyOf(ctx, r)
		if first && g.prepared[key] && forgotten(reply) {
			delete(g.prepared, key)
			continue
		}
		return reply, g.meter.used(), nil
	}
}

func forgotten(reply []byte) bool {
	_, err := decodeReply[struct{}](reply)
	return sdk.ReasonOf(err) == "config_unknown"
}

// callGuest makes one call on a guest, in the state that it has.
func (i *instance) callGuest(ctx context.Context, g *guest, r *request) ([]byte, error) {
	g.ctx, g.emit, g.emitted, g.asked, g.runID = ctx, r.emit, 0, 0, r.runID
	g.state = nil
	g.calls++
	g.meter.begin(i.plugin.Limits.Fuel)
	reply, err := i.protocol.call(g, r)
	if err != nil {
		return nil, i.failed(ctx, err)
	}
	return reply, nil
}

// afterCall frees the reply of a stateful guest, and closes a guest that can be neither
// restored nor used again.
func (i *instance) afterCall(ctx context.Context) error {
	switch g := i.guest; {
	case g == nil || i.restores():
		return nil // it is restored before the next call
	case i.plugin.Stateful:
		if err := g.free(); err != nil {
			return i.failed(ctx, err)
		}
		return nil
	}
	i.closeGuest()
	return nil
}

// keepsConfigs reports whether a config is prepared in a guest once and named by its digest
// afterwards. Other guests are sent the whole config with each call.
func (i *instance) keepsConfigs() bool { return i.module.info.Kind == KindReactor }

// restores reports whether a guest's state is restored before each call.
func (i *instance) restores() bool { return i.module.info.Restorable && !i.plugin.Stateful }

// keyOf names the state in which a request is to be made.
func (i *instance) keyOf(ctx context.Context, r *request) snapshotKey {
	key := i.baseKey(ctx)
	if r.op != abi.OpDescribe && i.keepsConfigs() {
		key.kind, key.digest = r.kind, r.config.Digest
	}
	return key
}

// baseKey names the state of a new guest. If it may ask the host, it has one such state per
// scope, since the host's answers are part of it.
func (i *instance) baseKey(ctx context.Context) snapshotKey {
	key := snapshotKey{owner: i.owner}
	if len(i.plugin.Granted.Host) > 0 {
		key.scope = plugin.ScopeOf(ctx).Digest()
	}
	return key
}

// guestFor returns a guest in the state in which a request must be made.
func (i *instance) guestFor(ctx context.Context, r *request) (*guest, error) {
	key := i.keyOf(ctx, r)
	if i.restores() {
		return i.restored(ctx, key, r)
	}
	if i.guest != nil && (!i.plugin.Stateful || i.mustRecycle(i.guest)) {
		i.closeGuest()
	}
	if i.guest == nil {
		if err := i.startGuest(ctx); err != nil {
			return nil, err
		}
	}
	g := i.guest
	if key.kind == "" || g.prepared[key] {
		return g, nil
	}
	if err := i.prepare(ctx, g, r); err != nil {
		return nil, err
	}
	g.prepared[key] = true
	return g, nil
}

// startGuest makes a new guest and initialises it.
func (i *instance) startGuest(ctx context.Context) error {
	g, err := i.newGuest(ctx)
	if err != nil {
		return i.failed(ctx, err)
	}
	i.guest = g
	if err := g.initialize(); err != nil {
		return i.failed(ctx, err)
	}
	return nil
}

// mustRecycle reports whether a guest has served its calls or its time, see [Options].
func (i *instance) mustRecycle(g *guest) bool {
	o := &i.driver.options
	return g.calls >= o.RecycleCalls || o.Now().Sub(g.born) >= o.RecycleAge
}

// restored returns a guest in the state of a snapshot, and makes the snapshot if there is
// none yet.
func (i *instance) restored(ctx context.Context, key snapshotKey, r *request) (*guest, error) {
	snap := i.module.snapshots.get(key)
	if snap == nil {
		return i.makeSnapshot(ctx, key, r)
	}
	if g := i.guest; g != nil && !i.plugin.Isolated && !i.mustRecycle(g) && g.restore(snap) {
		return g, nil
	}
	i.closeGuest()
	g, err := i.newGuest(ctx)
	if err != nil {
		return nil, i.failed(ctx, err)
	}
	i.guest = g
	if !g.restore(snap) {
		i.closeGuest()
		return nil, sdk.Errorf(sdk.Internal, "restore_failed", "plugin %s: the memory of a new instance differs from the memory of its first one", i.plugin.Name).
			WithHint("this is a defect of the host; report it")
	}
	return g, nil
}

// makeSnapshot brings a guest into a state for the first time, and keeps a snapshot of it.
func (i *instance) makeSnapshot(ctx context.Context, key snapshotKey, r *request) (*guest, error) {
	base := i.baseKey(ctx)
	if key == base {
		i.closeGuest()
		if err := i.startGuest(ctx); err != nil {
			return nil, err
		}
	} else {
		g, err := i.restored(ctx, base, r)
		if err != nil {
			return nil, err
		}
		if err := i.prepare(ctx, g, r); err != nil {
			return nil, err
		}
	}
	g := i.guest
	g.state = g.capture(i.module.snapshots.get(base))
	i.module.snapshots.put(key, g.state)
	return g, nil
}

// prepare has a guest prepare a request's config.
func (i *instance) prepare(ctx context.Context, g *guest, r *request) error {
	reply, err := i.callGuest(ctx, g, &request{op: abi.OpPrepare, kind: r.kind, config: r.config})
	if err != nil {
		return err
	}
	_, err = decodeReply[struct{}](reply)
	return err
}

// describe asks the plugin for its manifest.
func (i *instance) describe(ctx context.Context) error {
	return i.exchange(ctx, &request{op: abi.OpDescribe}, func(b []byte, _ int64) (bool, error) {
		if len(b) > check.MaxManifest {
			return false, check.TooLarge("the manifest of plugin "+i.plugin.Name, len(b), check.MaxManifest)
		}
		reply, err := decodeReply[struct{}](b)
		if err != nil {
			return false, err
		}
		if reply.Manifest == nil {
			return false, check.ResponseInvalid("no manifest in the reply to describe")
		}
		i.manifest = reply.Manifest
		return false, check.Manifest(i.plugin.Name, i.manifest)
	})
}
