package policyset

import (
	"bytes"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The keys. FORMAT.md describes them.
const (
	activeKey = "policy/active"
	setPrefix = "policy-set/"
)

func setKey(digest string) []byte { return []byte(setPrefix + digest) }

// Active is the set that decides. The zero value is none: the built-in defaults decide.
type Active struct {
	// Epoch counts the sets that were put in force, from 1.
	Epoch uint64 `json:"epoch"`
	// Digest is the set's, as policy.Set has it.
	Digest string `json:"digest"`
}

// stored is the value of a set's key.
type stored struct {
	// Files are the texts of the policies and their cases by names such as gate/strict.yaml.
	Files map[string]string `json:"files"`
}

// ReadActive reads which set decides. A value that the program didn't write is an error, so
// that nothing is decided by a guess.
func ReadActive(r core.Reader) (Active, error) {
	value, found, err := r.Get([]byte(activeKey))
	if err != nil || !found {
		return Active{}, err
	}
	var a Active
	if err := jsontext.DecodeStrict(value, &a); err != nil || a.Epoch == 0 || a.Digest == "" {
		return Active{}, damaged(activeKey)
	}
	return a, nil
}

// ReadFiles reads the files of a set.
func ReadFiles(r core.Reader, digest string) (map[string]string, error) {
	value, found, err := r.Get(setKey(digest))
	if err != nil {
		return nil, err
	}
	var s stored
	if !found || json.Unmarshal(value, &s) != nil {
		return nil, damaged(string(setKey(digest)))
	}
	return s.Files, nil
}

// newestPush is the set that was pushed last, according to the journal.
func newestPush(r core.Reader) (last Active, err error) {
	err = journal.Read(r, journal.PolicyStream, func(e journal.Entry) error {
		if !e.Is(journal.PoliciesPushed{}) {
			return nil
		}
		var pushed journal.PoliciesPushed
		err := json.Unmarshal(e.Data, &pushed)
		last = Active{pushed.Epoch, pushed.Digest}
		return err
	})
	return last, sdk.Wrap("read which set of policies was pushed last", err)
}

const damagedReason = "policy_set_damaged"

func damaged(key string) error {
	return sdk.Errorf(sdk.Internal, damagedReason, "the store's %s isn't what was pushed", key).
		WithHint("check the store, and push the policies again")
}

// Set is a set of policies to put in force.
type Set struct {
	// Digest is the digest of Files, which the caller has checked.
	Digest string
	Files  map[string]string
	// Policies is how many policies are among the files.
	Policies int
	// Unusable is why the set before can't be used; "" if it can.
	Unusable string
}

// Put puts a set in force, unless it is. It returns which set decides now, and which one did
// before. Values that the program didn't write are replaced.
func Put(tx *journal.Tx, set Set) (now, before Active, err error) {
	digest := set.Digest
	value, err := jsontext.Encode(stored{set.Files})
	if err != nil {
		return now, before, err
	}
	held, _, err := tx.Get(setKey(digest))
	if err != nil {
		return now, before, err
	}
	before, err = ReadActive(tx)
	if err == nil && before.Digest == digest && bytes.Equal(held, value) {
		return before, before, nil
	}
	if sdk.ReasonOf(err) == damagedReason {
		before, err = newestPush(tx)
	}
	if err != nil {
		return now, before, err
	}
	now = Active{Epoch: before.Epoch + 1, Digest: digest}
	err = core.JoinErrors(tx.Put(setKey(digest), value), tx.Put([]byte(activeKey), jsontext.MustEncode(now)))
	if err != nil {
		return now, before, err
	}
	return now, before, tx.Append(journal.PolicyStream, journal.PoliciesPushed{
		Epoch: now.Epoch, Digest: digest, Previous: before.Digest, Files: set.Policies, Record: core.Digest(value), Unusable: set.Unusable,
	})
}
