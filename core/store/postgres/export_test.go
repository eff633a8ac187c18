package postgres

import "strings"

// CommitSerializable has a store commit in SERIALIZABLE transactions, without locks.
func (s *Store) CommitSerializable() {
	s.statements = func(_ []lock, id int64, b *batch) []statement {
		commit := commitStatement(id, b)
		commit.sql = strings.ReplaceAll(commit.sql, "'read committed'", "'serializable'")
		return []statement{{sql: "begin isolation level serializable"}, commit, {sql: "commit"}}
	}
}
