package access

import (
	"context"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// A browser doesn't hold a token, because a page's script or an extension could then keep
// it for as long as the token is valid. It has the cookie of a session instead, which is
// made from a token, or from a link that can be used once. A session has exactly the
// rights of its token, and ends when the token is revoked, expires or is replaced.
//
// A browser sends a cookie to every port of a host's name. Without TLS, a server of another user of
// the same machine would get the cookie of 127.0.0.1 as soon as the browser looks at a page of that
// server. So without TLS a link leads to a name that nobody can guess, [NewLoginHost], and both the
// link and its session hold only under that name. Over TLS the cookie's prefix and the server's
// certificate do that.

const (
	// LinkTime is how long a login link is valid: as long as opening a browser takes.
	LinkTime = time.Minute
	// SessionTime is how long a browser stays logged in, however much it is used.
	SessionTime = 12 * time.Hour
	// MaxSessions is how many browsers may be logged in with one token: one more ends the
	// oldest session.
	MaxSessions = 32
	// MaxLinks is how many login links of one token may be open: one more ends the oldest.
	MaxLinks = 8
)

// CookieName is the name of the cookie that a session is in. Over TLS its prefix has browsers
// take it from this very host only, and never send it in the clear.
func CookieName(secure bool) string {
	if secure {
		return "__Host-reflectory"
	}
	return "reflectory"
}

// login is a link or a session as it is stored.
type login struct {
	// Token is the digest of the secret of the token that it came from.
	Token     digest    `json:"token"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// Host is the name of the host under which it holds; "" under any, over TLS.
	Host string `json:"host,omitempty"`
}

// loginDomain ends the names of [NewLoginHost]: browsers look up names in it on this machine only.
const loginDomain = ".localhost"

// NewLoginHost makes a name of this machine that nobody can guess.
func (a *Authority) NewLoginHost() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(a.random, b[:]); err != nil {
		return "", sdk.Errorf(sdk.Unavailable, "no_randomness", "generate a name: %w", err)
	}
	return hex.EncodeToString(b[:]) + loginDomain, nil
}

// IsLoginHost reports whether a name has the form of [Authority.NewLoginHost].
func IsLoginHost(name string) bool {
	digits, is := strings.CutSuffix(name, loginDomain)
	return is && len(digits) == 32 && isHex(digits)
}

// Login is a new link or session, with its secret, which is returned only here.
type Login struct {
	Secret    Secret    `json:"secret"`
	ExpiresAt time.Time `json:"expires_at"`
}

// NewLink makes a login link for the operator, who must be the context's caller: others
// are refused, sdk.Denied of reason "operator_only". If the operator has no token, one is
// made.
func (a *Authority) NewLink(ctx context.Context) (*Login, error) { return a.NewLinkAt(ctx, "") }

// NewLinkAt is NewLink for a link that holds only under a host's name.
func (a *Authority) NewLinkAt(ctx context.Context, host string) (*Login, error) {
	if core.CallerOf(ctx).Subject != core.OperatorSubject {
		return nil, sdk.Errorf(sdk.Denied, "operator_only", "only the local operator makes login links").
			WithHint("use a token to log in")
	}
	if _, err := a.EnsureOperatorToken(ctx); err != nil {
		return nil, err
	}
	return a.open(ctx, kindLink, OperatorID, host, func(tx *journal.Tx) (*holder, error) { return a.operatorHolder(), nil })
}

// Redeem makes a session from a login link, which can't be used again. A link that isn't
// valid gets an error for which [IsUnauthenticated] holds.
func (a *Authority) Redeem(ctx context.Context, link string) (*Login, error) {
	return a.RedeemAt(ctx, link, "")
}

// RedeemAt is Redeem of a link that holds only under a host's name, and so does the session.
func (a *Authority) RedeemAt(ctx context.Context, link, host string) (*Login, error) {
	c, ok := parse(kindLink, link)
	key := loginID(c.id, c.digest())
	return a.open(ctx, kindSession, c.id, host, func(tx *journal.Tx) (*holder, error) {
		h, err := a.loggedIn(tx, links, key, c.id, host, tx.Now())
		if err != nil {
			return nil, err
		}
		if !ok || h == nil {
			return nil, refusal()
		}
		return h, links.Delete(tx, key)
	})
}

// OpenSession makes a session from a token that somebody typed into a form.
func (a *Authority) OpenSession(ctx context.Context, token string) (*Login, error) {
	return a.byToken(ctx, kindSession, token, "")
}

// LinkOf makes a link from a token that somebody typed into a form under another name of the
// host than the link's.
func (a *Authority) LinkOf(ctx context.Context, token, host string) (*Login, error) {
	return a.byToken(ctx, kindLink, token, host)
}

func (a *Authority) byToken(ctx context.Context, k kind, token, host string) (*Login, error) {
	c, ok := parse(kindToken, token)
	return a.open(ctx, k, c.id, host, func(tx *journal.Tx) (*holder, error) {
		h, err := a.holder(tx, c.id)
		if err != nil {
			return nil, err
		}
		if same, live := h.digest.equal(c.digest()), h.live(tx.Now()); !ok || !same || !live {
			return nil, refusal()
		}
		return h, nil
	})
}

// open makes a link or a session for the holder that fn finds in the transaction.
func (a *Authority) open(ctx context.Context, k kind, id, host string, fn func(*journal.Tx) (*holder, error)) (*Login, error) {
	kind, lasts, limit := sessions, SessionTime, MaxSessions
	if k == kindLink {
		kind, lasts, limit = links, LinkTime, MaxLinks
	}
	c, err := newSecret(a.random, id)
	if err != nil {
		return nil, err
	}
	var l login
	err = a.writer.Update(ctx, func(tx *journal.Tx) error {
		h, err := fn(tx)
		if err != nil {
			return err
		}
		now := tx.Now().UTC().Truncate(time.Second)
		l = login{Token: h.digest, CreatedAt: now, ExpiresAt: now.Add(lasts), Host: host}
		if h.token.ID != "" && h.token.ExpiresAt.Before(l.ExpiresAt) {
			l.ExpiresAt = h.token.ExpiresAt
		}
		if err := trim(tx, kind, id, limit-1, now); err != nil {
			return err
		}
		if err := kind.Add(tx, loginID(id, c.digest()), &l); err != nil || k == kindLink {
			return err
		}
		return tx.AppendFor(h.caller.Subject, journal.AccessStream, journal.LoginOpened{Token: id, ExpiresAt: l.ExpiresAt})
	})
	if err != nil {
		return nil, sdk.Wrap("log in", err)
	}
	return &Login{c.text(k), l.ExpiresAt}, nil
}

// AuthenticateSession returns the caller that a session's cookie belongs to, as
// [Authority.Authenticate] does for a token.
func (a *Authority) AuthenticateSession(ctx context.Context, cookie string) (core.Caller, error) {
	return a.AuthenticateSessionAt(ctx, cookie, "")
}

// AuthenticateSessionAt is AuthenticateSession of a cookie that was sent to a host's name.
func (a *Authority) AuthenticateSessionAt(ctx context.Context, cookie, host string) (core.Caller, error) {
	c, ok := parse(kindSession, cookie)
	var found *holder
	err := a.writer.Store.View(ctx, func(r core.Reader) (err error) {
		found, err = a.loggedIn(r, sessions, loginID(c.id, c.digest()), c.id, host, a.now())
		return err
	})
	if err != nil {
		return core.Caller{}, sdk.Wrap("check a login", err)
	}
	if !ok || found == nil {
		return nobody()
	}
	a.use(ctx, found)
	return found.caller, nil
}

// loggedIn returns the holder of a link or session at a time; nil if it doesn't exist,
// has ended, its token has, or it doesn't hold under the host's name.
func (a *Authority) loggedIn(r core.Reader, k *table.Kind[login], key, id, host string, now time.Time) (*holder, error) {
	l, err := k.Get(r, key)
	if err != nil {
		return nil, err
	}
	h, err := a.holder(r, id)
	if err != nil {
		return nil, err
	}
	if l == nil {
		l = &login{}
	}
	same, live := h.digest.equal(l.Token), h.live(now) && now.Before(l.ExpiresAt) && l.Host == host
	if !same || !live {
		return nil, nil
	}
	return h, nil
}

// CloseSession ends a session. A session that doesn't exist has ended already.
func (a *Authority) CloseSession(ctx context.Context, cookie string) error {
	c, ok := parse(kindSession, cookie)
	if !ok {
		return nil
	}
	return sdk.Wrap("log out", a.writer.Store.Update(ctx, func(tx core.Tx) error {
		return sessions.Delete(tx, loginID(c.id, c.digest()))
	}))
}

// trim removes the logins of a token that have ended, and the oldest above most.
func trim(tx core.Tx, k *table.Kind[login], token string, most int, now time.Time) error {
	type one struct {
		id string
		at time.Time
	}
	var ended, list []one
	err := k.Scan(tx, token+"/", "", func(id string, l *login) (bool, error) {
		if l != nil && now.Before(l.ExpiresAt) {
			list = append(list, one{id, l.CreatedAt})
		} else {
			ended = append(ended, one{id: id})
		}
		return true, nil
	})
	slices.SortStableFunc(list, func(x, y one) int { return x.at.Compare(y.at) })
	for _, o := range append(ended, list[:max(0, len(list)-most)]...) {
		if err == nil {
			err = k.Delete(tx, o.id)
		}
	}
	return err
}

// endLogins ends all links and sessions that came from a token.
func endLogins(tx core.Tx, token string) error {
	return core.JoinErrors(links.DeleteAll(tx, token+"/"), sessions.DeleteAll(tx, token+"/"))
}
