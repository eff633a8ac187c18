package access

import "time"

// For the tests of the layout, and of what is taken apart.
var (
	TokenKey   = tokenKey
	UsedKey    = func(id string) []byte { return []byte(usedPrefix + id) }
	LinkKey    = func(id string, secret Secret) []byte { return keyOf(linkPrefix, id, kindLink, secret) }
	SessionKey = func(id string, secret Secret) []byte { return keyOf(sessionPrefix, id, kindSession, secret) }
)

func keyOf(prefix, id string, k kind, secret Secret) []byte {
	c, ok := parse(k, string(secret))
	if !ok {
		panic("not a credential of the kind")
	}
	return []byte(prefix + loginID(id, c.digest()))
}

// Parse is whether a text is a token, with its id and what it is written as.
func Parse(text string) (id, again string, ok bool) {
	c, ok := parse(kindToken, text)
	return c.id, string(c.text(kindToken)), ok
}

// Remembers is whether the operator's file is remembered, and SetFileTime makes it be that
// late by the clock of files.
func Remembers(a *Authority) bool            { return a.lastRead.Load() != nil }
func SetFileTime(a *Authority, at time.Time) { a.fileTime = func() time.Time { return at } }
