package journal

import "time"

// AccessStream is the stream of tokens and logins. It concerns the whole host.
const AccessStream = "access"

// TokenIssued records that there is a new token. It holds neither the token's secret nor the
// secret's hash.
type TokenIssued struct {
	ID         string    `json:"id"`
	For        string    `json:"for"` // the token's subject; the entry's own subject issued it
	Scopes     []string  `json:"scopes"`
	Namespaces []string  `json:"namespaces"`
	ExpiresAt  time.Time `json:"expires_at"`
	// Record is the digest of the stored record.
	Record string `json:"record"`
}

// TokenRevoked records that a token is no longer valid.
type TokenRevoked struct {
	ID string `json:"id"`
	// Record is the digest of the record after the revocation.
	Record string `json:"record"`
}

// OperatorTokenIssued records that the operator's token was made, replacing the previous
// one. It is appended before the file is written.
type OperatorTokenIssued struct {
	// Replaced is whether a new token was requested; otherwise there was none before.
	Replaced bool `json:"replaced,omitempty"`
}

// LoginOpened records that somebody logged in with a browser.
type LoginOpened struct {
	// Token is the id of the token that was used to log in.
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (TokenIssued) eventType() string         { return "agent.access.token_issued" }
func (TokenRevoked) eventType() string        { return "agent.access.token_revoked" }
func (OperatorTokenIssued) eventType() string { return "agent.access.operator_token_issued" }
func (LoginOpened) eventType() string         { return "agent.access.login_opened" }

// accessEvents has one event of each type above, for the catalogue.
func accessEvents() []Event {
	return []Event{TokenIssued{}, TokenRevoked{}, OperatorTokenIssued{}, LoginOpened{}}
}
