package job

import (
	"github.com/reflectory/reflectory/core"
)

// Active returns a user's active job of a type, within the caller's transaction: the job in
// a namespace, or, if the namespace is "", the first job in any namespace; nil if there is
// none.
func (r *Repository) Active(reader core.Reader, userID string, t Type, namespace string) (*Job, error) {
	start := activeKey(userID, t, namespace)
	var active *Job
	err := core.ScanPrefix(reader, start, func(key, value []byte) (bool, error) {
		if namespace != "" && len(key) != len(start) {
			return false, nil // of another namespace, whose name only begins with this one
		}
		rec, err := records.Named(reader, key, string(value))
		if err != nil {
			return false, err
		}
		shown := rec.shown()
		active = &shown
		return false, nil
	})
	return active, err
}
