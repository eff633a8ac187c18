package httpapi

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Decoding a body takes many times its size, so what all bodies that are read and decoded at
// once have together is bounded, and shared among tenants. A body counts from before its first
// byte, since a slow sender keeps what it has sent.

const (
	// minBodies is the smallest such bound, in bytes: decoding a MiB of JSON takes up to
	// 80 MiB, most of it for a moment, so that a tenant's half takes some hundred MiB at worst.
	minBodies = 16 << 20
	// bodyWait is how long a request waits for its turn. It is longer than decoding takes,
	// and shorter than callers wait for an answer.
	bodyWait = 5 * time.Second
)

// newDecoding makes the share of the processors that decode bodies: a MiB of small fields makes 1.5
// million allocations, and if one tenant's bodies kept all processors busy, every other request would
// wait. A tenant never has more than half, or one of one.
func newDecoding(processors int64) *share.Share {
	return share.New(share.Options{Places: processors, Each: share.Half(processors)})
}

// turn waits for one of a tenant's places. done gives it back.
func turn(r *request, places *share.Share, n int64) (done func(), err error) {
	if done, free := places.Free(r.caller.Tenant(), "", n); free {
		return done, nil
	}
	ctx, cancel := context.WithTimeout(r.http.Context(), bodyWait)
	defer cancel()
	if done, err = places.Take(ctx, r.caller.Tenant(), n); err != nil {
		return nil, reached(sdk.Errorf(sdk.Exhausted, "bodies_exhausted", "too many bodies of this tenant are being read"), "body", "send fewer at once, or smaller ones").
			WithDetail(sdk.RetryAfterDetail, time.Second.Milliseconds())
	}
	return done, nil
}

// newBodies makes the share. A tenant never has more than half, since its bodies may take
// as long as a body may take to arrive.
func newBodies(l Limits) *share.Share {
	most := max(minBodies, 4*l.Body)
	return share.New(share.Options{Places: most, Each: share.Half(most)})
}

// admitBody waits until the tenant of a request may send its body, up to limit bytes. done
// must be called once the body is decoded.
func (a *API) admitBody(r *request, limit int64) (done func(), err error) {
	if r.local || r.http.ContentLength == 0 {
		return func() {}, nil
	}
	size := r.http.ContentLength
	if size < 0 || size > limit { // its size isn't known, or it is refused once it was read so far
		size = limit
	}
	return turn(r, a.bodies, size)
}

// decodeAgain waits for one of the tenant's places, for a body that is refused: what is quoted of it
// is found by decoding it once more. It waits as long as it takes, since nothing is answered without.
func (a *API) decodeAgain(r *request) (done func()) {
	if r.local || len(r.body) == 0 {
		return func() {}
	}
	done, _ = a.decoding.Take(context.WithoutCancel(r.http.Context()), r.caller.Tenant(), 1) // it fails only with its context
	return done
}

// decode fills a request from its body.
func (a *API) decode(r *request, in any, faults *faults, taken []string) error {
	if !r.local {
		done, err := turn(r, a.decoding, 1)
		if err != nil {
			return err
		}
		defer done()
	}
	return faults.decodeWithin(a.limits.JSONDepth, r.body, in, taken)
}
