package wasm

import (
	"context"
	"errors"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// taker reads a reply, which is valid only then, and the fuel that it took. It
// says whether the reply may be kept for equal calls.
type taker func(reply []byte, fuel int64) (keep bool, err error)

// exchange makes one call: from what is kept of an equal one, or on a guest.
func (i *instance) exchange(ctx context.Context, r *request, take taker) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, i.plugin.Limits.Timeout)
		defer cancel()
	}
	if err := i.enter(ctx); err != nil {
		return err
	}
	defer i.leave()
	if len(r.config.JSON) == 0 {
		r.config.JSON = []byte("{}")
	}
	if r.op == abi.OpPrepare && i.keepsConfigs() {
		_, err := i.ready(ctx, r) // which prepares
		return err
	}
	key, keeps := i.verdictKey(r)
	if keeps {
		if reply, fuel, ok := i.driver.verdicts.get(key); ok {
			_, err := take(reply, fuel)
			return err
		}
	}
	reply, fuel, err := i.try(ctx, r)
	if err != nil {
		return err
	}
	keep, err := take(reply, fuel)
	if keep && keeps && (fuel == 0 || fuel >= worthKeeping) {
		i.driver.verdicts.put(key, reply, fuel)
	}
	return errors.Join(err, i.settle(ctx))
}

// try makes the call on a guest that is ready for it, and once more where a
// guest that keeps its state has forgotten the config.
func (i *instance) try(ctx context.Context, r *request) ([]byte, int64, error) {
	for first := true; ; first = false {
		g, err := i.ready(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		reply, err := i.ask(ctx, g, r)
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

// ask makes one call on a guest, whatever its state is.
func (i *instance) ask(ctx context.Context, g *guest, r *request) ([]byte, error) {
	g.ctx, g.emit, g.emitted, g.asked, g.runID = ctx, r.emit, 0, 0, r.runID
	g.state = nil
	g.calls++
	g.meter.begin(i.plugin.Limits.Fuel)
	reply, err := i.speaker.speak(g, r)
	if err != nil {
		return nil, i.failed(ctx, err)
	}
	return reply, nil
}

// settle does what is left after a reply was read.
func (i *instance) settle(ctx context.Context) error {
	switch g := i.guest; {
	case g == nil || i.restores():
		return nil // it is put back before the next call
	case i.plugin.Stateful:
		if err := g.free(); err != nil {
			return i.failed(ctx, err)
		}
		return nil
	}
	i.drop()
	return nil
}

// keepsConfigs reports whether configs are prepared in a guest and named by
// their digest afterwards. Other guests are sent them whole each time.
func (i *instance) keepsConfigs() bool { return i.module.info.Kind == KindReactor }

// restores reports whether a guest's state is put back before each call.
func (i *instance) restores() bool { return i.module.info.Restorable && !i.plugin.Stateful }

// keyOf names the state in which a request is to be made.
func (i *instance) keyOf(ctx context.Context, r *request) snapshotKey {
	key := i.baseKey(ctx)
	if r.op != abi.OpDescribe && i.keepsConfigs() {
		key.kind, key.digest = r.kind, r.config.Digest
	}
	return key
}

// baseKey names the state of a new instance. One that may ask the host has such a
// state for each kind of scope, since what it was answered is part of it.
func (i *instance) baseKey(ctx context.Context) snapshotKey {
	key := snapshotKey{owner: i.owner}
	if len(i.plugin.Granted.Host) > 0 {
		key.scope = plugin.ScopeOf(ctx).Digest()
	}
	return key
}

// ready returns a guest in the state in which a request is to be made.
func (i *instance) ready(ctx context.Context, r *request) (*guest, error) {
	key := i.keyOf(ctx, r)
	if i.restores() {
		return i.restored(ctx, key, r)
	}
	if i.guest != nil && (!i.plugin.Stateful || i.worn(i.guest)) {
		i.drop()
	}
	if i.guest == nil {
		if err := i.begin(ctx); err != nil {
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

// begin makes a new guest, initialised.
func (i *instance) begin(ctx context.Context) error {
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

// worn reports whether a guest has done enough.
func (i *instance) worn(g *guest) bool {
	o := &i.driver.options
	return g.calls >= o.RecycleCalls || o.Now().Sub(g.born) >= o.RecycleAge
}

// restored returns a guest in the state of a snapshot, which is made if there is
// none yet.
func (i *instance) restored(ctx context.Context, key snapshotKey, r *request) (*guest, error) {
	snap := i.module.snapshots.get(key)
	if snap == nil {
		return i.reach(ctx, key, r)
	}
	if g := i.guest; g != nil && !i.plugin.Isolated && !i.worn(g) && g.restore(snap) {
		return g, nil
	}
	i.drop()
	g, err := i.newGuest(ctx)
	if err != nil {
		return nil, i.failed(ctx, err)
	}
	i.guest = g
	if !g.restore(snap) {
		i.drop()
		return nil, sdk.Errorf(sdk.Internal, "restore_failed", "plugin %s: a new instance has other memory than its first", i.plugin.Name).
			WithHint("this is a defect of the host; report it")
	}
	return g, nil
}

// reach brings a guest into a state for the first time, and keeps a snapshot.
func (i *instance) reach(ctx context.Context, key snapshotKey, r *request) (*guest, error) {
	base := i.baseKey(ctx)
	if key == base {
		i.drop()
		if err := i.begin(ctx); err != nil {
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
	reply, err := i.ask(ctx, g, &request{op: abi.OpPrepare, kind: r.kind, config: r.config})
	if err != nil {
		return err
	}
	_, err = decodeReply[struct{}](reply)
	return err
}

// describe asks the plugin what it is.
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
