package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// keptStatements is where a connection notes the names of the statements that its session keeps.
const keptStatements = "kept"

// notPrepared reports whether an error means that the session doesn't have a named statement, has one
// that another client of a pooler named, or has a plan that a change of the table made
// useless.
func notPrepared(err error) bool {
	state := stateOf(err)
	return state == "26000" || state == "42P05" || state == "0A000"
}

// names has the session keep statements, and returns their names; "" is of one that isn't kept.
func (c *conn) names(ctx context.Context, statements []statement) ([]string, error) {
	names := make([]string, len(statements))
	for i := range statements {
		if c.pool.unnamed.Load() {
			return make([]string, len(statements)), nil
		}
		if len(statements[i].params) == 0 {
			continue
		}
		name, err := c.keep(ctx, &statements[i])
		switch {
		case notPrepared(err):
			c.pool.unnamed.Store(true)
		case err != nil:
			return nil, err
		}
		names[i] = name
	}
	return names, nil
}

// keep has the session keep a statement, once, and returns its name: a digest, so that no
// other text can have it.
func (c *conn) keep(ctx context.Context, s *statement) (string, error) {
	kept, _ := c.CustomData()[keptStatements].(map[string]string)
	if name, has := kept[s.sql]; has {
		return name, nil
	}
	if kept == nil {
		kept = map[string]string{}
		c.CustomData()[keptStatements] = kept
	}
	sum := sha256.Sum256([]byte(s.sql))
	name := "reflectory_" + hex.EncodeToString(sum[:8])
	c.pool.trip.Add(1)
	if _, err := c.Prepare(ctx, name, s.sql, s.oids()); err != nil {
		c.failed(err)
		return "", err
	}
	kept[s.sql] = name
	return name, nil
}

// sendNamed sends statements, which are one transaction, by their names. Where a pooler gives
// each transaction another session that fails, and nothing of the transaction was done: it is
// sent without names, and so are all after it.
func (c *conn) sendNamed(ctx context.Context, names []string, statements []statement) ([][]row, error) {
	rows, err := c.sendBy(ctx, names, statements)
	if notPrepared(err) {
		c.pool.unnamed.Store(true)
		return c.send(ctx, statements...)
	}
	return rows, err
}
