package access

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// A user who can read and write the data folder can do everything anyway. The operator's
// token grants no more than that: it is a file in that folder, which only its owner may
// read. It doesn't expire, since that would lock out the user who could make another. It
// is looked at in each check, so that replacing it invalidates the previous one at once in
// every process.
//
// A file that others may read may be known to them, and a file of another owner may be
// changed by that owner: such a file isn't accepted, because its user may not be the
// operator.

// OperatorFileName is the name of the file with the operator's token, in the data folder.
const OperatorFileName = "operator.token"

// maxOperatorFile bounds how much of the file is read: a token and a line break.
const maxOperatorFile = 128

// operatorLabel is the label of a caller with the operator's token.
const operatorLabel = core.OperatorSubject

// EnsureOperatorToken makes the operator's token if there is none, and reports whether it
// did. A file that can't be used is an error, see [Authority.OperatorToken].
func (a *Authority) EnsureOperatorToken(ctx context.Context) (made bool, err error) {
	_, err = a.OperatorToken()
	if sdk.ReasonOf(err) != "operator_token_missing" {
		return false, err
	}
	_, err = a.writeOperator(ctx, false)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		_, err = a.OperatorToken()
		return false, err
	}
	return err == nil, err
}

// ReplaceOperatorToken makes a new operator's token, which replaces the previous one,
// even one that can't be used. Logins made with that one end.
func (a *Authority) ReplaceOperatorToken(ctx context.Context) (Secret, error) {
	return a.writeOperator(ctx, true)
}

// OperatorToken is the operator's token, for users who may read the file. The errors are
// sdk.NotFound, reason "operator_token_missing", and sdk.Denied, "operator_token_unsafe",
// if others may read or change the file, or it holds something else.
func (a *Authority) OperatorToken() (Secret, error) {
	c, err := a.readOperator()
	if err != nil {
		return "", err
	}
	return c.text(kindToken), nil
}

// operatorRead is the operator as the file had it with a stamp.
type operatorRead struct {
	at     stamp
	holder *holder
}

// operatorHolder is the operator, or nobody if the file can't be used. A file that hasn't
// changed since it was read isn't read again: to look whether it has is one call of the
// system instead of four.
func (a *Authority) operatorHolder() *holder {
	before, known := stampOf(a.operator)
	if last := a.lastRead.Load(); known && last != nil && last.at == before {
		return last.holder
	}
	c, err := a.readOperator()
	if err != nil {
		return &holder{}
	}
	h := &holder{digest: c.digest(), caller: core.Operator(operatorLabel)}
	if after, still := stampOf(a.operator); known && still && before == after && before.settled(a.fileTime()) {
		a.lastRead.Store(&operatorRead{before, h})
	}
	return h
}

func (a *Authority) readOperator() (credential, error) {
	if a.operator == "" {
		return credential{}, noOperator("this host has no operator's token")
	}
	file, err := openOwn(a.operator)
	if errors.Is(err, fs.ErrNotExist) {
		return credential{}, noOperator("there is no operator's token in " + a.operator)
	}
	if err != nil {
		return credential{}, unsafeOperator(a.operator, "it can't be opened: "+cause(err).Error())
	}
	defer func() { _ = file.Close() }() // only reads
	if problem := whyUnsafe(file); problem != "" {
		return credential{}, unsafeOperator(a.operator, problem)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxOperatorFile+1))
	if err != nil {
		return credential{}, unsafeOperator(a.operator, "it can't be read: "+cause(err).Error())
	}
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	c, ok := parse(kindToken, string(text))
	if !ok || c.id != OperatorID {
		return credential{}, unsafeOperator(a.operator, "it doesn't hold an operator's token")
	}
	return c, nil
}

// cause is a file's error without the path, which the message already has.
func cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

func noOperator(problem string) error {
	return sdk.Errorf(sdk.NotFound, "operator_token_missing", "%s", problem).
		WithHint("make one").WithAction("token new", "operator", true)
}

func unsafeOperator(path, problem string) error {
	return sdk.Errorf(sdk.Denied, "operator_token_unsafe", "the operator's token in %s isn't used: %s", path, problem).
		WithHint("replace it: others may have read the file").WithAction("token new", "operator", true)
}

// writeOperator makes a token and writes it to the file, completely or not at all.
func (a *Authority) writeOperator(ctx context.Context, replace bool) (Secret, error) {
	if a.operator == "" {
		return "", noOperator("this host has no operator's token")
	}
	c, err := newSecret(a.random, OperatorID)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(a.operator)
	temp, err := writeNew(dir, string(c.text(kindToken))+"\n")
	if err != nil {
		return "", operatorIO(a.operator, err)
	}
	defer func() { _ = os.Remove(temp) }() // after a rename there is nothing to remove
	// A token that isn't in the journal mustn't be valid, so it is recorded first.
	err = a.writer.Update(ctx, func(tx *journal.Tx) error {
		if err := endLogins(tx, OperatorID); err != nil {
			return err
		}
		return tx.Append(journal.AccessStream, journal.OperatorTokenIssued{Replaced: replace})
	})
	if err != nil {
		return "", sdk.Wrap("make the operator's token", err)
	}
	place := linkNew
	if replace {
		place = os.Rename
	}
	if err := place(temp, a.operator); err != nil {
		return "", operatorIO(a.operator, err)
	}
	if err := syncFolder(dir); err != nil {
		return "", operatorIO(a.operator, err)
	}
	return c.text(kindToken), nil
}

// linkNew gives a file a second name, and never replaces an existing file; but on a file
// system without second names, two programs that start at the same time may.
func linkNew(old, path string) error {
	err := os.Link(old, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(old, path)
}

// writeNew writes a new file in a folder, which is on the disk when it returns.
func writeNew(dir, text string) (path string, err error) {
	file, err := os.CreateTemp(dir, OperatorFileName+".*") // 0600, and never an existing file
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Chmod(0o600), file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

func operatorIO(path string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "operator_token_io", "write the operator's token to %s: %w", path, err).
		WithHint("check the free space and the permissions of its folder")
}
