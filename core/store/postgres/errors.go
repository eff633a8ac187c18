package postgres

import (
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reflectory/reflectory/sdk"
)

// stateOf is the SQLSTATE of an error of the database; "" if it has none.
func stateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// isUnknown reports whether an error ended the connection, so that the outcome of the
// statement isn't known.
func isUnknown(err error) bool {
	state := stateOf(err)
	return state == "" || strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || state == stateIdle
}

// stateIdle is the SQLSTATE with which the database ends a view that read nothing for long.
const stateIdle = "25P03"

// isLost reports whether another connection, later, may have no such error: the database
// can't be reached, is a standby that may be promoted, or has too many connections.
func isLost(err error) bool {
	state := stateOf(err)
	return isUnknown(err) || state == stateReadOnly || state == "53300"
}

// stateReadOnly is the SQLSTATE of a write to a database that allows none.
const stateReadOnly = "25006"

// isRefused reports whether a connection that failed will fail again.
func isRefused(err error) bool {
	state := stateOf(err)
	return strings.HasPrefix(state, "28") || strings.HasPrefix(state, "3D") || strings.HasPrefix(state, "42") || isTLS(err)
}

func isTLS(err error) bool {
	return strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ") || strings.Contains(err.Error(), "server refused TLS")
}

// translate describes an error of the database called at in one line. It never has the
// URL, which may name files of keys. A refusal of the database is no refusal of the caller's
// request, so its class isn't sdk.Denied.
func translate(at string, err error) error {
	state := stateOf(err)
	switch {
	case strings.HasPrefix(state, "28"):
		return sdk.Errorf(sdk.Unavailable, "store_login_refused", "the database %s refuses the login: %s", at, text(err)).
			WithHint("check the user in the store's URL, and the password in PGPASSWORD or in the file that PGPASSFILE names")
	case strings.HasPrefix(state, "3D"):
		return sdk.Errorf(sdk.NotFound, "store_database_missing", "the database %s doesn't exist", at).
			WithHint("create it, empty and in UTF-8, with the user of the store's URL as its owner")
	case state == "42501":
		return sdk.Errorf(sdk.Unavailable, "store_permission", "the user of the database %s lacks a permission: %s", at, text(err)).
			WithHint("make that user the owner of the tables, or let it create them")
	case state == stateReadOnly:
		return sdk.Errorf(sdk.Unavailable, "store_read_only", "the database %s is read-only: it may be a standby", at).
			WithHint("name the primary, or all servers with target_session_attrs=read-write")
	case state == "53100":
		return sdk.Errorf(sdk.Exhausted, "store_disk_full", "the disk of the database %s is full", at).
			WithHint("make room there; nothing was written")
	case state == "54000":
		return sdk.Errorf(sdk.Invalid, "store_key_invalid", "a key is longer than the database's index allows, which is about 2,700 bytes")
	case state == "57014":
		return sdk.Errorf(sdk.Unavailable, "store_cancelled", "the database %s cancelled the statement: %s", at, text(err)).
			WithHint("raise statement_timeout there, or remove it")
	case isTLS(err):
		return sdk.Errorf(sdk.Unavailable, "store_tls", "the database %s has no TLS connection that the store's URL accepts: %s", at, text(err)).
			WithHint("check sslmode and sslrootcert there")
	case state == "" || isLost(err):
		return sdk.Errorf(sdk.Unavailable, "store_unreachable", "the database %s can't be reached: %s", at, text(err)).
			WithHint("check that it is running, and that this host may connect")
	}
	return sdk.Errorf(sdk.Internal, "store_failed", "the database %s: %s (SQLSTATE %s)", at, text(err), state)
}

// text is the message of an error, without what surrounds it.
func text(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Message
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	message := err.Error()
	if i := strings.LastIndex(message, "): "); i >= 0 { // pgconn's list of users and hosts
		message = message[i+3:]
	}
	message, _, _ = strings.Cut(message, "\n")
	return message
}
