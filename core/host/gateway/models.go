package gateway

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/rate"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Models serves the models of settings, within their limits and budgets and within the budgets of
// tokens. It is safe for concurrent use.
type Models struct {
	*Gateway
	Settings *Settings

	spending rate.Spending
	mu       sync.Mutex
	rates    map[string]*rate.Limiter
	places   map[string]*share.Share
}

// Models serves the models of settings.
func (g *Gateway) Models(s *Settings) *Models {
	return &Models{
		Gateway: g, Settings: s, spending: rate.Spending{Store: g.host.Store, Clock: g.host.Config.Clock},
		rates: map[string]*rate.Limiter{}, places: map[string]*share.Share{},
	}
}

// parallelWait is how long a request waits for one of its model's places: less than clients wait for the
// first byte.
const parallelWait = 10 * time.Second

// Ask serves a request for a model in a namespace. The caller is in the context. It refuses what these refuse:
// [Gateway.Serve], and sdk.Exhausted: "budget_exhausted", "model_requests_exhausted" and "model_full".
func (ms *Models) Ask(ctx context.Context, s *Served, namespace string, r *Request, up Upstream) (*Outcome, error) {
	caller, m := core.CallerOf(ctx), s.Model
	m.Namespace = namespace
	metered := &metered{Upstream: up, models: ms, served: s, request: r}
	if s.Budget != nil {
		metered.spend("model/"+s.Name, s.Budget)
	}
	if b := caller.Grant.Budget; b != nil {
		switch {
		case b.CostUSD > 0 && !s.At.Priced():
			return &Outcome{}, sdk.Errorf(sdk.Denied, "model_unpriced", "the token's budget is in dollars, and it isn't known what the model %s costs", core.Cut(s.Name)).
				WithHint("the operator writes the model's price into %s, as upstream: {price: {in, out}}", FileName)
		case b.Per == core.PerRequest:
			m.BudgetTokens, m.BudgetUSD = least(m.BudgetTokens, b.Tokens), least(m.BudgetUSD, b.CostUSD)
		default:
			metered.spend("token/"+caller.Token, b)
		}
	}
	if err := metered.left(ctx); err != nil {
		return &Outcome{}, err
	}
	done, err := ms.admit(ctx, s, caller)
	if err != nil {
		return &Outcome{}, err
	}
	defer done()
	return ms.Serve(ctx, caller, &m, r, metered)
}

// least is the smaller of two limits, of which 0 is none.
func least[T int64 | float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// admit waits for one of the places of a model, and counts a request for it.
func (ms *Models) admit(ctx context.Context, s *Served, caller core.Caller) (done func(), err error) {
	ms.mu.Lock()
	limiter, places := ms.rates[s.Name], ms.places[s.Name]
	if limiter == nil {
		perSecond := float64(s.RequestsPerMinute) / 60
		limiter = ms.host.Limits.Rate("model-requests", perSecond, float64(s.RequestsPerMinute))
		places = share.New(share.Options{Places: s.Parallel})
		ms.rates[s.Name], ms.places[s.Name] = limiter, places
	}
	ms.mu.Unlock()
	wait, err := limiter.Take(ctx, s.Name)
	switch {
	case err != nil:
		return nil, err
	case wait > 0:
		return nil, sdk.Errorf(sdk.Exhausted, "model_requests_exhausted", "the model %s takes %d requests a minute", s.Name, s.RequestsPerMinute).
			WithHint("wait before the next one, as Retry-After says").WithDetail(sdk.RetryAfterDetail, wait.Milliseconds()+1)
	case s.Parallel == 0:
		return func() {}, nil
	}
	waiting, cancel := context.WithTimeout(ctx, parallelWait)
	defer cancel()
	done, err = places.TakeFor(waiting, caller.Tenant(), caller.Account(), 1)
	if err != nil && ctx.Err() == nil {
		err = sdk.Errorf(sdk.Exhausted, "model_full", "the model %s takes %d requests at once", s.Name, s.Parallel).
			WithHint("send fewer at once").WithDetail(sdk.RetryAfterDetail, time.Second.Milliseconds())
	}
	return done, err
}

// metered is an upstream whose use counts for budgets of a day.
type metered struct {
	Upstream
	models  *Models
	served  *Served
	request *Request
	names   []string
	budgets []*core.Budget
}

func (u *metered) spend(name string, b *core.Budget) {
	u.names, u.budgets = append(u.names, name), append(u.budgets, b)
}

// left refuses a request if one of the budgets is used up.
func (u *metered) left(ctx context.Context) error {
	for i, name := range u.names {
		used, err := u.models.spending.Used(ctx, name)
		if err != nil {
			return err
		}
		if !u.budgets[i].Reached(used) {
			continue
		}
		now := u.models.spending.Clock.Now().UTC()
		tomorrow := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		return sdk.Errorf(sdk.Exhausted, "budget_exhausted", "the budget of %s is used up for today", u.budgets[i]).
			WithHint("wait until midnight UTC, or ask the operator for more").WithDetail(sdk.RetryAfterDetail, tomorrow.Sub(now).Milliseconds())
	}
	return nil
}

// Ask implements [Upstream]. A further attempt isn't made once a budget is used up. What an upstream
// doesn't report is estimated, and so is a request whose client has gone, which the upstream counts too.
func (u *metered) Ask(ctx context.Context, a *Attempt) (*Reply, error) {
	if a.Number > 1 {
		if err := u.left(ctx); err != nil {
			return nil, err
		}
	}
	reply, err := u.Upstream.Ask(ctx, a)
	var used sdk.Usage
	switch {
	case reply != nil:
		if reply.Usage.TokensIn+reply.Usage.TokensOut == 0 {
			reply.Usage.TokensIn, reply.Usage.TokensOut = u.request.tokens(), reply.tokens()
		}
		reply.Usage.CostUSD = u.served.At.Cost(reply.Usage)
		used = reply.Usage
	case ctx.Err() != nil:
		used.TokensIn = u.request.tokens()
		used.CostUSD = u.served.At.Cost(used)
	}
	if failed := u.models.spending.Add(context.WithoutCancel(ctx), used, u.names...); failed != nil {
		u.models.options.Warn(failed)
	}
	return reply, err
}

// charactersPerToken is the usual length of a token of English, in bytes.
const charactersPerToken = 4

// tokens is about how many tokens a request has.
func (r *Request) tokens() int64 {
	n := 0
	for i := range r.Messages {
		n += len(r.Messages[i].Canonical)
	}
	return int64(math.Ceil(float64(n) / charactersPerToken))
}

// tokens is about how many tokens a reply has.
func (r *Reply) tokens() int64 {
	n := len(r.Text)
	for _, call := range r.Calls {
		n += len(call.Arguments)
	}
	return int64(math.Ceil(float64(n) / charactersPerToken))
}

// Names are the names of the models that a caller may ask, sorted.
func (s *Settings) Names(caller core.Caller) []string {
	names := []string{}
	for i := range s.Models {
		if caller.Grant.MayAsk(s.Models[i].Name) {
			names = append(names, s.Models[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
