package dream

import (
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// OrganizationReport is another program's report of what it did to memories.
type OrganizationReport struct {
	Consolidated int64 `json:"consolidated"`
	Removed      int64 `json:"removed"`
	Reindexed    int64 `json:"reindexed"`
}

// Organized reports whether anything was done.
func (r *OrganizationReport) Organized() bool { return r.Consolidated+r.Removed+r.Reindexed > 0 }

var (
	reportHeader = core.Pattern(`(?im)^[ \t]*##[ \t]+organization[ \t]+report\b`)
	reportKey    = core.Pattern(`(?i)\b(consolidated|removed|re[-_ ]?indexed)[*_]*[ \t]*[:=][*_]*[ \t]*(\d+)`)
)

// ParseOrganizationReport reads the report in a text: after a header "## Organization
// Report", the first number of each of consolidated, removed and reindexed. A number that
// is missing, or too large for an int64, is 0. It returns nil if there is no header.
func ParseOrganizationReport(text string) *OrganizationReport {
	header := reportHeader().FindStringIndex(text)
	if header == nil {
		return nil
	}
	var r OrganizationReport
	seen := map[*int64]bool{}
	for _, found := range reportKey().FindAllStringSubmatch(text[header[1]:], -1) {
		to := &r.Reindexed
		switch found[1][0] | 0x20 {
		case 'c':
			to = &r.Consolidated
		case 'r':
			if len(found[1]) == len("removed") {
				to = &r.Removed
			}
		}
		if seen[to] {
			continue
		}
		seen[to] = true
		if n, err := strconv.ParseInt(found[2], 10, 64); err == nil {
			*to = n
		}
	}
	return &r
}
