package job

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Every start removes a job from the set, and looks for it there. With a key for each job,
// an engine that keeps deleted keys until it merges its files would have to step over all
// of them: after a thousand starts, finding the first key would be a thousand times slower.
// So jobs are in ordered pages with a directory. The directory and the pages are read by
// their keys, which takes the same time whatever the number of earlier writes.

// ordered is a sorted set of jobs in a store. An item is an order and the job's id.
type ordered string

const (
	// pageItems is how many items a page has at most: 5 kB.
	pageItems = 100
	// lastPage is the name of the page that has no upper bound: it sorts after all items.
	lastPage = "~"
	// pageName is the beginning of the keys of pages, after the set's own prefix.
	pageName = "page/"
	// orderDigits is the length of the order in an item.
	orderDigits = 16
)

// ready are the first jobs of a shard's queues, of one type, by when their queue was last
// served; workflow jobs are ordered by their numbers. waiting are the postponed jobs, by
// their times.
func (s shard) ready(t Type) ordered {
	return ordered(s.key(readyPrefix+string(t)+"/", shardReady+string(t)+"/"))
}

func (s shard) waiting() ordered { return ordered(s.key(waitPrefix, shardWait)) }

// item is a job's text in the set: the order in hexadecimal, so that texts sort like
// numbers, and the id.
func item(order uint64, id string) string {
	digits := strconv.FormatUint(order, 16)
	return strings.Repeat("0", orderDigits-len(digits)) + digits + id
}

// parts returns an item's order and id; an empty id if the text isn't an item.
func parts(item string) (order uint64, id string) {
	if len(item) <= orderDigits {
		return 0, ""
	}
	order, err := strconv.ParseUint(item[:orderDigits], 16, 64)
	if err != nil {
		return 0, ""
	}
	return order, item[orderDigits:]
}

// orderTime is a time in an item.
func orderTime(order uint64) time.Time { return time.Unix(0, int64(order)).UTC() }

// directoryKey has the upper bounds of the pages, in order, and pageKey a page's items.
func (s ordered) directoryKey() []byte        { return []byte(string(s) + "pages") }
func (s ordered) pageKey(upper string) []byte { return []byte(string(s) + pageName + upper) }

// lines reads a list of texts.
func lines(r core.Reader, key []byte) ([]string, error) {
	value, found, err := r.Get(key)
	if err != nil || !found || len(value) == 0 {
		return nil, err
	}
	return strings.Split(string(value), "\n"), nil
}

func putLines(tx core.Tx, key []byte, list []string) error {
	return tx.Put(key, []byte(strings.Join(list, "\n")))
}

// page finds the page that has an item, or that the item belongs in, and the page's place
// in the directory.
func (s ordered) page(r core.Reader, item string) (directory []string, at int, items []string, err error) {
	if directory, err = lines(r, s.directoryKey()); err != nil {
		return nil, 0, nil, err
	}
	if len(directory) == 0 {
		return []string{lastPage}, 0, nil, nil
	}
	if at = sort.SearchStrings(directory, item); at == len(directory) {
		return nil, 0, nil, corrupt(s.directoryKey(), "it has no last page")
	}
	items, err = lines(r, s.pageKey(directory[at]))
	return directory, at, items, err
}

// has reports whether the set has an item.
func (s ordered) has(r core.Reader, item string) (bool, error) {
	_, _, items, err := s.page(r, item)
	_, found := slices.BinarySearch(items, item)
	return found, err
}

// add adds an item. A page that is full is split.
func (s ordered) add(tx core.Tx, item string) error {
	directory, at, items, err := s.page(tx, item)
	if err != nil {
		return err
	}
	place, found := slices.BinarySearch(items, item)
	if found {
		return nil
	}
	items = slices.Insert(items, place, item)
	if len(directory) == 1 && len(items) == 1 {
		if err := putLines(tx, s.directoryKey(), directory); err != nil {
			return err
		}
	}
	if len(items) > pageItems {
		half := items[:len(items)/2]
		upper := half[len(half)-1]
		if err := putLines(tx, s.pageKey(upper), half); err != nil {
			return err
		}
		if err := putLines(tx, s.directoryKey(), slices.Insert(slices.Clone(directory), at, upper)); err != nil {
			return err
		}
		items = items[len(half):]
	}
	return putLines(tx, s.pageKey(directory[at]), items)
}

// remove removes an item, and the page if it becomes empty.
func (s ordered) remove(tx core.Tx, item string) error {
	directory, at, items, err := s.page(tx, item)
	if err != nil {
		return err
	}
	place, found := slices.BinarySearch(items, item)
	if !found {
		return nil
	}
	items = slices.Delete(items, place, place+1)
	upper := directory[at]
	switch {
	case len(items) > 0:
		return putLines(tx, s.pageKey(upper), items)
	case len(directory) == 1:
		if err := tx.Delete(s.directoryKey()); err != nil {
			return err
		}
		return tx.Delete(s.pageKey(upper))
	case upper == lastPage: // it takes over the items of the previous page, so that there is a last page
		before := directory[at-1]
		moved, err := lines(tx, s.pageKey(before))
		if err != nil {
			return err
		}
		if err := putLines(tx, s.pageKey(upper), moved); err != nil {
			return err
		}
		upper, at = before, at-1
	}
	if err := tx.Delete(s.pageKey(upper)); err != nil {
		return err
	}
	return putLines(tx, s.directoryKey(), slices.Delete(directory, at, at+1))
}

// clear removes all items.
func (s ordered) clear(tx core.Tx) error {
	directory, err := lines(tx, s.directoryKey())
	if err != nil || len(directory) == 0 {
		return err
	}
	for _, upper := range directory {
		if err := tx.Delete(s.pageKey(upper)); err != nil {
			return err
		}
	}
	return tx.Delete(s.directoryKey())
}

// first is the first item; "" for none.
func (s ordered) first(r core.Reader) (string, error) {
	_, _, items, err := s.page(r, "")
	if err != nil || len(items) == 0 {
		return "", err
	}
	return items[0], nil
}

// each calls fn for each item in order, until it returns false.
func (s ordered) each(r core.Reader, fn func(item string) bool) error {
	directory, err := lines(r, s.directoryKey())
	if err != nil {
		return err
	}
	for _, upper := range directory {
		items, err := lines(r, s.pageKey(upper))
		if err != nil {
			return err
		}
		for _, item := range items {
			if !fn(item) {
				return nil
			}
		}
	}
	return nil
}

// spot is the place of a job in a set; the zero value means no place.
type spot struct {
	set  ordered
	item string
}

// next is the spot of a job that runs next in its queue.
func next(r core.Reader, rec *record) (spot, error) {
	s, err := shardOf(r, &rec.Job)
	if err != nil {
		return spot{}, err
	}
	if rec.NotBefore != nil {
		return spot{s.waiting(), item(uint64(rec.NotBefore.UnixNano()), rec.ID)}, nil
	}
	name := queueOf(&rec.Job)
	if name == "" {
		return spot{s.ready(rec.Type), item(rec.Number, rec.ID)}, nil
	}
	served, err := readNumber(r, servedKey(name))
	return spot{s.ready(rec.Type), item(served, rec.ID)}, err
}

// move moves a job from one spot to another.
func move(tx core.Tx, from, to spot) error {
	if from == to {
		return nil
	}
	if from.item != "" {
		if err := from.set.remove(tx, from.item); err != nil {
			return err
		}
	}
	if to.item == "" {
		return nil
	}
	return to.set.add(tx, to.item)
}
