package web

import (
	"net/url"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// knowledgePages are the pages of knowledge.
func knowledgePages() []page {
	return []page{
		{path: "/knowledge", template: "knowledge.html", nav: "/memory", load: loadKnowledge},
		{path: "/knowledge/{id}", template: "knowledge_entry.html", nav: "/memory", load: loadKnowledgeEntry},
	}
}

func knowledgeTexts() []text {
	return []text{{path: "/knowledge/{id}/content", load: func(v *visit) (string, error) {
		k, err := call[core.Knowledge](v, "knowledge_get", &operation.KnowledgeGet{ID: v.PathValue("id")})
		if err != nil {
			return "", err
		}
		return k.Content, nil
	}}}
}

// knowledgeData is a page of one namespace's knowledge.
type knowledgeData struct {
	operation.Page[*core.Knowledge]
	Namespace  string  `json:"namespace"`
	Superseded bool    `json:"superseded,omitempty"`
	Where      *places `json:"-"`
	Next       string  `json:"-"`
}

func loadKnowledge(v *visit) (*content, error) {
	d := &knowledgeData{Superseded: v.query("superseded") != ""}
	var err error
	d.Where, err = v.placed(func(namespace string) (bool, error) {
		d.Namespace = namespace
		found, err := call[operation.Page[*core.Knowledge]](v, "knowledge_list", &operation.KnowledgeList{
			Namespace: d.Namespace, Superseded: d.Superseded, Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
		})
		if err != nil {
			return false, err
		}
		d.Page = *found
		return len(d.Items) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	if d.NextPageToken != "" {
		d.Next = v.with("namespace", d.Namespace, "page_token", d.NextPageToken)
	}
	return &content{Title: "Knowledge", Crumbs: []crumb{{"Memory", "/memory"}}, Data: d}, nil
}

// entryData is one entry.
type entryData struct {
	*core.Knowledge
	Shown *longText `json:"shown"`
}

func loadKnowledgeEntry(v *visit) (*content, error) {
	k, err := call[core.Knowledge](v, "knowledge_get", &operation.KnowledgeGet{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	d := &entryData{k, v.long(k.Content, "/knowledge/"+url.PathEscape(k.ID)+"/content")}
	return &content{Title: k.Title, Crumbs: []crumb{{"Memory", "/memory"}, {"Knowledge", "/knowledge"}}, Data: d}, nil
}
