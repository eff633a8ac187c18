// Package access identifies callers. A caller of a server shows a credential: a token, or
// the cookie of a browser that is logged in. This package issues credentials, checks
// them, and returns a [core.Caller] for a valid one; what that caller may do is decided
// elsewhere.
//
// A credential is a kind, an id and a secret of 256 random bits. The secret is shown
// once, and only its SHA-256 is stored: a secret with that much randomness needs no slow
// hash, so a check costs a read and a hash. Whatever is wrong with a credential, the
// error is the same, see [IsUnauthenticated]: guessing doesn't reveal which ids exist.
//
// A revocation takes effect from the next request on in every process, because each check
// reads the record: see cache.go. The local operator's token is a file in the data folder
// instead of a record, so that exactly the users who may read that folder can use it: see
// operator.go.
//
// # Keys
//
//	token/<id>                      a token's record, as JSON
//	token-used/<id>                 when it was last used, as JSON text
//	login-link/<id>/<digest>        a link that logs in once, as JSON
//	login-session/<id>/<digest>     a browser that is logged in, as JSON
//
// An id is the id of a token: 16 digits of a lower-case hexadecimal number, or
// "operator". A digest is the SHA-256 of the link's or session's secret, in lower-case
// hexadecimal. Exports leave all of these keys out: a credential belongs to the host that
// issued it, and a copy of a store must not accept a credential that the original has
// since revoked.
//
// It is internal to Reflectory: its API may change in any release.
package access
