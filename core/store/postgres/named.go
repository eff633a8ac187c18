package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// The errors of a database whose session doesn't have a named statement, or has one that
// another client of a pooler named.
const (
	stateNoStatement  = "26000"
	stateHasStatement = "42P05"
)

// named is where a connection notes the names of its statements.
const named = "named"

// sendNamed is send for statements that a connection sends often and that are one transaction:
// the session keeps them by name. Where a pooler gives each transaction another session that
// fails, and nothing of the transaction was done: it is sent without names, and so are all
// after it.
func (c *conn) sendNamed(ctx context.Context, statements ...statement) ([][]row, error) {
	if c.pool.unnamed.Load() {
		return c.send(ctx, statements...)
	}
	names := make([]string, len(statements))
	var rows [][]row
	var err error
	for i := range statements {
		if err == nil && len(statements[i].params) > 0 {
			names[i], err = c.keep(ctx, &statements[i])
		}
	}
	if err == nil {
		rows, err = c.sendBy(ctx, names, statements)
	}
	if state := stateOf(err); state == stateNoStatement || state == stateHasStatement {
		c.pool.unnamed.Store(true)
		return c.send(ctx, statements...)
	}
	return rows, err
}

// keep has the session keep a statement, once, and returns its name: a digest, so that no
// other text can have it.
func (c *conn) keep(ctx context.Context, s *statement) (string, error) {
	kept, _ := c.CustomData()[named].(map[string]string)
	if name, has := kept[s.sql]; has {
		return name, nil
	}
	if kept == nil {
		kept = map[string]string{}
		c.CustomData()[named] = kept
	}
	sum := sha256.Sum256([]byte(s.sql))
	name := "reflectory_" + hex.EncodeToString(sum[:8])
	c.pool.trip.Add(1)
	if _, err := c.Prepare(ctx, name, s.sql, s.oids()); err != nil {
		return "", err
	}
	kept[s.sql] = name
	return name, nil
}
