package operation

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Lists have pages. A page's token contains the position at which the next page begins.
// It is sealed with a key of the store, over the position, the operation, everything
// that decides what is in the list, and the caller. With another filter, a position
// would skip or repeat entries. A forged token, or another caller's token, could reveal
// something about a namespace that the caller doesn't reach. Because of the seal, a list
// can trust its positions, and tokens are opaque to callers.
//
// The key is in the store, because another host may get the request for the next page,
// for example from the next command on the command line: see host.PageKey.

const (
	// DefaultLimit is how many items a page has by default.
	DefaultLimit = 50
	// MaxLimit is how many items a page may have.
	MaxLimit = 200
	// maxToken bounds a page's token: positions are a namespace and an id.
	maxToken = 4 << 10
	// sealBytes is how much of the HMAC is in a token: 128 bits can't be guessed.
	sealBytes = 16
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// NextPageToken is the token for the next page; "" on the last page.
	NextPageToken string `json:"next_page_token,omitempty"`
}

// Paging has the fields that every list request has.
type Paging struct {
	// Limit is how many items a page has at most, from 1 to [MaxLimit]; 0 means
	// [DefaultLimit].
	Limit int `json:"limit,omitempty"`
	// PageToken continues after an earlier page: it is the next_page_token of that page.
	PageToken string `json:"page_token,omitempty"`
}

// open returns where the page begins ("" is the start), and how many items it has. The
// filter is everything that decides what is in the list, except the caller.
func (p Paging) open(ctx context.Context, c *Call, filter any) (at string, limit int, err error) {
	limit = cmp.Or(p.Limit, DefaultLimit)
	if p.PageToken == "" {
		return "", limit, nil
	}
	key, err := c.pageKey(ctx)
	if err != nil {
		return "", 0, err
	}
	if at = unseal(key, c.listed(filter), p.PageToken); at == "" {
		return "", 0, badToken()
	}
	return at, limit, nil
}

// check refuses a limit out of range, and a token that no list gave. The token's list, filter and
// caller are checked by open.
func (p Paging) check() error {
	var limit, token error
	if p.Limit < 0 || p.Limit > MaxLimit {
		limit = sdk.Errorf(sdk.Invalid, "limit_invalid", "limit is %d, not from 1 to %d", p.Limit, MaxLimit).WithDetail("field", "limit")
	}
	given := p.PageToken
	if _, rest, several := strings.Cut(given, "."); several { // the part after the number of a database
		given = rest
	}
	if text, err := base64.RawURLEncoding.Strict().DecodeString(given); given != "" && (err != nil || len(text) <= sealBytes || len(given) > maxToken) {
		token = badToken()
	}
	return core.JoinErrors(limit, token)
}

func badToken() error {
	return sdk.Errorf(sdk.Invalid, "invalid_page_token", "the page token isn't from a list with this filter for this caller").
		WithHint("give next_page_token as it was, with the same filter; or begin again without one").WithDetail("field", "page_token")
}

// pageOf is a page of a list; at is where the next page begins, "" if there is none.
func pageOf[T any](ctx context.Context, c *Call, items []T, at string, filter any) (*Page[T], error) {
	p := allOf(items)
	if at == "" {
		return p, nil
	}
	key, err := c.pageKey(ctx)
	if err != nil {
		return nil, err
	}
	p.NextPageToken = seal(key, c.listed(filter), at)
	return p, nil
}

// allOf is a list with a single page.
func allOf[T any](items []T) *Page[T] { return &Page[T]{Items: orEmpty(items)} }

// pageKey is the key of the host's store. A list that needs no store is the same for
// every caller, so its positions can reveal nothing.
func (c *Call) pageKey(ctx context.Context) ([]byte, error) {
	if c.operation.NoStore {
		return nil, nil
	}
	return c.Host.Storage.PageKey(ctx)
}

// listed is everything that decides what is in a list.
func (c *Call) listed(filter any) []byte {
	patterns := slices.Compact(slices.Sorted(slices.Values(c.caller.Namespaces)))
	return jsontext.MustEncode([]any{c.operation.Name, filter, c.caller.Subject, patterns})
}

// seal makes a token from a position in a list.
func seal(key, list []byte, at string) string {
	return base64.RawURLEncoding.EncodeToString(append(sealOf(key, list, at), at...))
}

// unseal is the position in a token for a list; "" if the token isn't valid for that
// list.
func unseal(key, list []byte, token string) (at string) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(text) <= sealBytes {
		return ""
	}
	at = string(text[sealBytes:])
	if !hmac.Equal(text[:sealBytes], sealOf(key, list, at)) {
		return ""
	}
	return at
}

func sealOf(key, list []byte, at string) []byte {
	h, of := hmac.New(sha256.New, key), sha256.Sum256(list)
	h.Write(of[:])
	h.Write([]byte(at))
	return h.Sum(nil)[:sealBytes]
}
