package postgres

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Statements are sent with all parameters and results in binary. Only the statements of a
// commit are named where that works, so that the database parses and plans them once for a
// connection, which is half of what a commit costs. Nothing else stays in a session, and a
// pooler may give each transaction another one.

// statement is a statement with its parameters.
type statement struct {
	sql    string
	params []param
}

func (s *statement) oids() []uint32 {
	list := make([]uint32, len(s.params))
	for i, p := range s.params {
		list[i] = p.oid
	}
	return list
}

func (s *statement) values() [][]byte {
	list := make([][]byte, len(s.params))
	for i, p := range s.params {
		list[i] = p.bytes
	}
	return list
}

// param is an encoded parameter.
type param struct {
	oid   uint32
	bytes []byte
}

// row is the columns of a row; nil for NULL.
type row [][]byte

// send sends statements in one round trip. Without a BEGIN among them they are one
// transaction. It returns the rows of each.
func send(ctx context.Context, c *pgconn.PgConn, statements ...statement) ([][]row, error) {
	return sendBy(ctx, c, make([]string, len(statements)), statements)
}

// sendBy is send for statements that the session knows by their names; "" is one that it
// doesn't.
func sendBy(ctx context.Context, c *pgconn.PgConn, names []string, statements []statement) ([][]row, error) {
	var batch pgconn.Batch
	for i, s := range statements {
		if names[i] != "" {
			batch.ExecPrepared(names[i], s.values(), binaryFormat(), binaryFormat())
			continue
		}
		batch.ExecParams(s.sql, s.values(), s.oids(), binaryFormat(), binaryFormat())
	}
	results, err := c.ExecBatch(ctx, &batch).ReadAll()
	if err != nil {
		return nil, err
	}
	all := make([][]row, len(results))
	for i, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		for _, columns := range r.Rows {
			all[i] = append(all[i], columns)
		}
	}
	return all, nil
}

// binaryFormat is the format of all parameters, and of all columns.
func binaryFormat() []int16 { return []int16{pgtype.BinaryFormatCode} }

func bytesParam(text string) param { return param{pgtype.ByteaOID, []byte(text)} }

func numberParam(n int64) param { return param{pgtype.Int8OID, number(n)} }

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// toNumber decodes a bigint; 0 for NULL.
func toNumber(column []byte) int64 {
	if len(column) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(column))
}

// isTrue decodes a boolean.
func isTrue(column []byte) bool { return len(column) == 1 && column[0] == 1 }

// array encodes an array: its dimensions, whether it has NULL, its type, its length and
// first index, and each element with its length.
type array struct {
	oid, element uint32
	n            int
	elements     []byte
}

func bytesArray() *array   { return &array{oid: pgtype.ByteaArrayOID, element: pgtype.ByteaOID} }
func numberArray() *array  { return &array{oid: pgtype.Int8ArrayOID, element: pgtype.Int8OID} }
func booleanArray() *array { return &array{oid: pgtype.BoolArrayOID, element: pgtype.BoolOID} }

func (a *array) add(element []byte) {
	a.n++
	a.elements = binary.BigEndian.AppendUint32(a.elements, uint32(len(element)))
	a.elements = append(a.elements, element...)
}

func (a *array) addNumber(n int64) { a.add(number(n)) }

func (a *array) addBoolean(b bool) {
	if b {
		a.add([]byte{1})
	} else {
		a.add([]byte{0})
	}
}

func (a *array) param() param {
	dimensions := uint32(1)
	if a.n == 0 {
		dimensions = 0
	}
	head := binary.BigEndian.AppendUint32(nil, dimensions)
	head = binary.BigEndian.AppendUint32(head, 0)
	head = binary.BigEndian.AppendUint32(head, a.element)
	if a.n > 0 {
		head = binary.BigEndian.AppendUint32(head, uint32(a.n))
		head = binary.BigEndian.AppendUint32(head, 1)
	}
	return param{a.oid, append(head, a.elements...)}
}
