package search_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
)

func TestWarmLoadsAllInTheBackground(t *testing.T) {
	s := &store{}
	for n := range 5 {
		id := fmt.Sprint(n)
		s.commit("ns"+id, id, doc(id, "word"))
	}
	synctest.Test(t, func(t *testing.T) {
		x := search.New(s, search.Options{})
		if p := x.Progress(); p != (search.Progress{}) {
			t.Errorf("before: %+v", p)
		}
		x.Warm()
		x.Warm()
		synctest.Wait()
		if p := x.Progress(); p.Namespaces != 5 || p.Warm != 5 || p.Documents != 5 || p.Bytes == 0 || s.loads != 5 {
			t.Errorf("after %d loads: %+v", s.loads, p)
		}
		x.Close()
		x.Close()
	})
}

func TestWarmLoadsWhatIsNamed(t *testing.T) {
	s := &store{}
	for _, name := range []string{"a", "b", "c"} {
		s.commit(name, name, doc(name, "word"))
	}
	synctest.Test(t, func(t *testing.T) {
		x := search.New(s, search.Options{})
		x.Warm("b", "unknown")
		synctest.Wait()
		if p := x.Progress(); p.Namespaces != 3 || p.Warm != 1 || s.loads != 1 {
			t.Errorf("after %d loads: %+v", s.loads, p)
		}
		loads := s.loads
		find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: "b"}})
		if s.loads != loads {
			t.Error("what was named wasn't loaded")
		}
		x.Close()
	})
}

func TestCloseEndsTheLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		s.commit("a", "a", doc("a", "word"))
		s.commit("b", "b", doc("b", "word"))
		block := make(chan struct{})
		s.onLoad = func() error { <-block; return nil }
		x := search.New(s, search.Options{})
		x.Warm()
		synctest.Wait()
		go func() { synctest.Wait(); close(block) }()
		x.Close()
		if p := x.Progress(); p.Warm != 0 || s.loads != 1 {
			t.Errorf("after %d loads: %+v", s.loads, p)
		}
		s.onLoad = nil
		if got := ids(find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: "b"}})); got != "b" {
			t.Errorf("a closed index finds %q", got)
		}
	})
}
