package core

import "context"

// PrefixEnd is the first key after all keys that start with prefix; nil, which is
// the end of all keys, where there is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte{}, prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// ScanPrefix is [Reader.Scan] over the keys that start with prefix.
func ScanPrefix(r Reader, prefix []byte, fn func(key, value []byte) (more bool, err error)) error {
	return r.Scan(prefix, PrefixEnd(prefix), fn)
}

// Suffixes returns what follows prefix in the keys that start with it, in the order
// of the keys, at most so many.
func Suffixes(r Reader, prefix []byte, most int) (list []string, err error) {
	err = ScanPrefix(r, prefix, func(key, _ []byte) (bool, error) {
		list = append(list, string(key[len(prefix):]))
		return len(list) < most, nil
	})
	return list, err
}

// updateStep is how many keys one transaction of [UpdateEach] looks at: few enough
// that it seldom meets another.
const updateStep = 500

// UpdateEach calls fn for each key that starts with prefix, in the order of the
// keys and in transactions of bounded size. fn may run again for the same key, so it
// must have no effects outside tx; it may delete the key.
func UpdateEach(ctx context.Context, s Store, prefix string, fn func(tx Tx, key string) error) error {
	for from := []byte(prefix); from != nil; {
		var next []byte
		err := s.Update(ctx, func(tx Tx) error {
			keys, err := keysFrom(tx, from, PrefixEnd([]byte(prefix)))
			if err != nil {
				return err
			}
			for _, key := range keys {
				if err := fn(tx, key); err != nil {
					return err
				}
			}
			if next = nil; len(keys) == updateStep {
				next = []byte(keys[len(keys)-1] + "\x00")
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// keysFrom are the first keys of a range, as many as one transaction looks at.
func keysFrom(r Reader, from, to []byte) (keys []string, err error) {
	err = r.Scan(from, to, func(key, _ []byte) (bool, error) {
		keys = append(keys, string(key))
		return len(keys) < updateStep, nil
	})
	return keys, err
}
