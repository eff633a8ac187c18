package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
)

// The session of a login at the issuer is known only to this process. At the next start the
// issuer's claims and the grants may be different, and a restart is how an operator ends
// all sessions at once. Only the hash of the cookie's secret is kept.

const (
	// maxSessions is how many sessions there may be, and maxOwnSessions how many one person
	// may have: a further session ends the oldest.
	maxSessions    = 10_000
	maxOwnSessions = 32
)

// session is a browser that is logged in.
type session struct {
	key     [sha256.Size]byte
	caller  core.Caller
	expires time.Time
	host    string // the name of the host under which it holds; "" under any, over TLS
	link    bool   // it can only be exchanged for a session, once
}

// sessions are the browsers that are logged in, the oldest first.
type sessions struct {
	mu   sync.Mutex
	list []session
}

// open makes a session under a host's name, or a link to one, and returns its secret. It has the
// form of the host's own sessions, so that it is kept out of logs in the same way.
func (s *sessions) open(caller core.Caller, host string, link bool, now time.Time) string {
	lasts := access.SessionTime
	if link {
		lasts = access.LinkTime
	}
	var secret [40]byte
	_, _ = rand.Read(secret[:]) // it never fails
	cookie := "rfs_" + hex.EncodeToString(secret[:8]) + "_" + hex.EncodeToString(secret[8:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(one session) bool { return !now.Before(one.expires) })
	own := 1
	for i := len(s.list) - 1; i >= 0; i-- {
		if s.list[i].caller.Subject != caller.Subject {
			continue
		}
		if own++; own > maxOwnSessions {
			s.list = slices.Delete(s.list, i, i+1)
		}
	}
	if len(s.list) >= maxSessions {
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, session{sha256.Sum256([]byte(cookie)), caller, now.Add(lasts), host, link})
	return cookie
}

// find returns the caller of a session's cookie, or of a link, that a host's name was sent, as
// long as it lasts.
func (s *sessions) find(cookie, host string, link bool, now time.Time) (core.Caller, bool) {
	key := sha256.Sum256([]byte(cookie))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if one.key == key && one.host == host && one.link == link && now.Before(one.expires) {
			caller := one.caller
			caller.Until = one.expires
			caller.Scopes, caller.Namespaces = slices.Clone(caller.Scopes), slices.Clone(caller.Namespaces)
			return caller, true
		}
	}
	return core.Caller{}, false
}

// end ends a session or a link, and reports whether there was one.
func (s *sessions) end(cookie string) bool {
	key := sha256.Sum256([]byte(cookie))
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(one session) bool { return one.key == key })
	return len(s.list) < before
}

// Session returns the caller of a session's cookie that was sent to a host's name, "" if sessions
// hold under any; false if there is no such session.
func (v *Verifier) Session(cookie, host string) (core.Caller, bool) {
	if !strings.HasPrefix(cookie, "rfs_") {
		return core.Caller{}, false
	}
	return v.sessions.find(cookie, host, false, v.options.Clock.Now())
}

// Redeem makes a session from a link that [Verifier.Finish] made for a host's name, and returns its
// cookie; false if there is no such link, as after its first use.
func (v *Verifier) Redeem(link, host string) (cookie string, ok bool) {
	now := v.options.Clock.Now()
	caller, ok := v.sessions.find(link, host, true, now)
	if !ok || !v.sessions.end(link) { // another request was faster
		return "", false
	}
	caller.Until = time.Time{} // the link's
	return v.sessions.open(caller, host, false, now), true
}

// EndSession ends the session of a cookie.
func (v *Verifier) EndSession(cookie string) { v.sessions.end(cookie) }
