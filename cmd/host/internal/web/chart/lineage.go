package chart

import (
	"fmt"
	"slices"
	"strings"
)

// MaxNodes is how many nodes a graph draws.
const MaxNodes = 500

// Node is a thing of a graph.
type Node struct {
	ID, Text, Note string
	// URL leads to it; "" is nowhere. Class is its colour, and Me marks the one in question.
	URL, Class string
	Me         bool
}

// Edge leads from a source to what was derived from it.
type Edge struct{ From, To, Name string }

// Lineage draws the sources of a thing on its left, and what was derived from it on its right.
// Nodes beyond [MaxNodes] and edges whose ends aren't drawn are left out of the picture.
func Lineage(what string, nodes []Node, edges []Edge) Chart {
	const width, height, across, down = 176.0, 46.0, 226.0, 58.0
	c := Chart{Head: []string{"from", "", "to"}, Text: fmt.Sprintf("%s: %d in %d links", what, len(nodes), len(edges))}
	drawn := nodes[:min(len(nodes), MaxNodes)]
	if len(drawn) < len(nodes) {
		c.Text += fmt.Sprintf("; the first %d are drawn", len(drawn))
	}
	names := map[string]string{}
	for _, n := range nodes {
		names[n.ID] = n.Text
	}
	for _, e := range edges {
		c.Rows = append(c.Rows, []string{names[e.From], e.Name, names[e.To]})
	}
	places, columns, rows := place(drawn, edges)
	var d drawing
	// It has its own width: one memory isn't drawn as large as the page, nor are many
	// squeezed into it.
	wide := at(max(float64(columns)*across-across+width+4, 1))
	d.add(`<svg class="chart graph" width="%s" viewBox="0 0 %s %s" role="group" aria-label="%s">`, wide, wide, at(max(float64(rows)*down, 1)), c.Text)
	for _, e := range edges {
		from, ok1 := places[e.From]
		to, ok2 := places[e.To]
		if !ok1 || !ok2 {
			continue
		}
		x1, y1 := 2+float64(from.column)*across+width, from.row*down+height/2+4
		x2, y2 := 2+float64(to.column)*across, to.row*down+height/2+4
		d.add(`<path class="edge" d="M%s %sC%s %s %s %s %s %s"><title>%s %s %s</title></path>`, at(x1), at(y1), at((x1+x2)/2), at(y1), at((x1+x2)/2), at(y2), at(x2), at(y2), names[e.From], e.Name, names[e.To])
	}
	for _, n := range drawn {
		p := places[n.ID]
		x, y := 2+float64(p.column)*across, p.row*down+4
		class := "node f-" + n.Class + "soft"
		if n.Me {
			class = "me"
		}
		if n.URL != "" {
			d.add(`<a href="%s">`, n.URL)
		}
		d.add(`<title>%s</title><rect class="%s" x="%s" y="%s" width="176" height="46" rx="9"/><text class="lab" x="%s" y="%s">%s</text><text class="tiny" x="%s" y="%s">%s</text>`,
			n.Text, class, at(x), at(y), at(x+12), at(y+19), cut(n.Text, 23), at(x+12), at(y+35), cut(n.Note, 28))
		if n.URL != "" {
			d.WriteString("</a>")
		}
	}
	c.SVG = d.end()
	return c
}

// spot is where a node is: its column from the left, and its row from the top.
type spot struct {
	column int
	row    float64
}

// place puts every node right of all that it comes from, in one pass for each step away,
// and the nodes of a column below each other, near those they come from. In a circle, which
// links between memories can make, the steps end at the number of nodes.
func place(nodes []Node, edges []Edge) (places map[string]spot, columns, rows int) {
	index := map[string]int{}
	for i, n := range nodes {
		index[n.ID] = i
	}
	level := make([]int, len(nodes))
	const most = 16
	for range most {
		moved := false
		for _, e := range edges {
			from, ok1 := index[e.From]
			to, ok2 := index[e.To]
			if ok1 && ok2 && from != to && level[to] <= level[from] && level[from]+1 < most {
				level[to], moved = level[from]+1, true
			}
		}
		if !moved {
			break
		}
	}
	byColumn := map[int][]int{}
	for i, l := range level {
		byColumn[l] = append(byColumn[l], i)
		columns = max(columns, l+1)
		rows = max(rows, len(byColumn[l]))
	}
	places = map[string]spot{}
	for column := range columns {
		list := byColumn[column]
		wish := make(map[int]float64, len(list))
		for _, i := range list {
			sum, n := 0.0, 0.0
			for _, e := range edges {
				if e.To == nodes[i].ID {
					if p, ok := places[e.From]; ok {
						sum, n = sum+p.row, n+1
					}
				}
			}
			wish[i] = float64(i) / 1e6
			if n > 0 {
				wish[i] += sum / n
			}
		}
		slices.SortFunc(list, func(a, b int) int {
			switch {
			case wish[a] < wish[b]:
				return -1
			case wish[a] > wish[b]:
				return 1
			}
			return strings.Compare(nodes[a].ID, nodes[b].ID)
		})
		first := float64(rows-len(list)) / 2
		for j, i := range list {
			places[nodes[i].ID] = spot{column, first + float64(j)}
		}
	}
	return places, columns, rows
}
