// Package access says who asks. A caller of a server shows a credential: a token, or the
// cookie of a browser that logged in. This package issues them, checks them, and makes a
// [core.Caller] of those that hold; what that caller may do is decided elsewhere.
//
// A credential is a kind, an id and a secret of 256 random bits. The secret is shown once,
// and only its SHA-256 is stored: what is random to that degree needs no slow hash, so that a
// check costs a read and a hash. Whatever is wrong with a credential, the answer is the
// same, see [IsUnauthenticated]: who guesses learns nothing of which ids there are.
//
// What was revoked holds from the next request in every process, since each check reads the
// record: see cache.go. The local operator's token is a file in the data folder instead of a
// record, so that users who may read that folder are let in, and nobody else: see operator.go.
//
// # Keys
//
//	token/<id>                      a token's record, as JSON
//	token-used/<id>                 when it was last used, as JSON text
//	login-link/<id>/<digest>        a link that logs in once, as JSON
//	login-session/<id>/<digest>     a browser that is logged in, as JSON
//
// An id is a token's: 16 digits of a lower-case hexadecimal number, or "operator". A digest is
// the SHA-256 of the link's or session's secret, in lower-case hexadecimal. Exports leave all
// of them out: a credential is of the host that issued it, and a copy of a store must not let
// in whom the original has locked out since.
package access
