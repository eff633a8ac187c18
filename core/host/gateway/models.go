package gateway

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
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
	settings atomic.Pointer[Settings]

	spending rate.Spending
	mu       sync.Mutex
	rates    map[string]*rate.Limiter
	places   map[string]*share.Share
}

// Models serves the models of settings.
func (g *Gateway) Models(s *Settings) *Models {
	ms := &Models{
		Gateway: g, spending: rate.Spending{Store: g.host.Store, Clock: g.host.Config.Clock},
		rates: map[string]*rate.Limiter{}, places: map[string]*share.Share{},
	}
	ms.settings.Store(s)
	return ms
}

// Settings are the settings in force. They are read again if one of their files has changed; if they can't be used,
// that is reported once, and the earlier ones stay in force.
func (ms *Models) Settings() *Settings {
	if now := ms.settings.Load(); !now.changed() {
		return now
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	before := ms.settings.Load()
	if !before.changed() {
		return before // another request has read them
	}
	now, err := load(ms.host.Config.Settings)
	if err != nil {
		same := *before
		same.files, now = now.files, &same
		ms.options.Warn(sdk.Wrap("the changed "+FileName+" isn't used, and the earlier one stays in force", err))
	}
	ms.settings.Store(now)
	clear(ms.rates) // they may have other limits
	clear(ms.places)
	return now
}

// parallelWait is how long a request waits for one of its model's places: less than clients wait for the
// first byte.
const parallelWait = 10 * time.Second

// Ask serves a request for a model in a namespace. The caller is in the context. It refuses what these refuse:
// [Gateway.Serve], and sdk.Exhausted: "budget_exhausted", "model_requests_exhausted" and "model_full".
func (ms *Models) Ask(ctx context.Context, s *Served, namespace string, r *Request, up Upstream) (*Outcome, error) {
	m := s.Model
	m.Namespace, m.OwnHistory = namespace, s.At.Client
	metered := &metered{Upstream: up, models: ms, served: s, request: r}
	done, err := metered.enter(ctx, &m)
	if err != nil {
		return &Outcome{}, err
	}
	defer done()
	return ms.Serve(ctx, core.CallerOf(ctx), &m, r, metered)
}

// Run lets a workflow answer a request. run returns what it used. It refuses what Ask would.
func (ms *Models) Run(ctx context.Context, s *Served, run func() (sdk.Usage, error)) error {
	m, metered := s.Model, &metered{models: ms, served: s}
	done, err := metered.enter(ctx, &m)
	if err != nil {
		return err
	}
	defer done()
	if m.BudgetTokens > 0 {
		return sdk.Errorf(sdk.Denied, "budget_per_request", "the token's budget is for single requests, which the workflow %s doesn't keep to", core.Cut(s.Name)).
			WithHint("use a token with a budget per day")
	}
	used, err := run()
	metered.add(ctx, used)
	return err
}

// enter refuses a request that a budget, a rate or the number of requests under way don't allow. Budgets of one request go
// to the model.
func (u *metered) enter(ctx context.Context, m *Model) (done func(), err error) {
	caller, s := core.CallerOf(ctx), u.served
	if s.Budget != nil {
		u.spend("model/"+s.Name, s.Budget)
	}
	if b := caller.Grant.Budget; b != nil {
		switch {
		case b.CostUSD > 0 && !s.At.Priced():
			return nil, sdk.Errorf(sdk.Denied, "model_unpriced", "the token's budget is in dollars, and it isn't known what the model %s costs", core.Cut(s.Name)).
				WithHint("the operator writes the model's price into %s, as upstream: {price: {in, out}}", FileName)
		case b.Per == core.PerRequest:
			m.BudgetTokens, m.BudgetUSD = least(m.BudgetTokens, b.Tokens), least(m.BudgetUSD, b.CostUSD)
		default:
			u.spend("token/"+caller.Token, b)
		}
	}
	if err := u.left(ctx); err != nil {
		return nil, err
	}
	return u.models.admit(ctx, s, caller)
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
	u.add(ctx, used)
	return reply, err
}

// add counts what was used.
func (u *metered) add(ctx context.Context, used sdk.Usage) {
	if err := u.models.spending.Add(context.WithoutCancel(ctx), used, u.names...); err != nil {
		u.models.options.Warn(err)
	}
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
