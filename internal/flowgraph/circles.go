package flowgraph

import (
	"cmp"
	"slices"
)

// tarjan finds strongly connected components without recursion, since plans may be
// long.
type tarjan struct {
	g       *Graph
	index   []int32 // from 1, in the order of discovery
	low     []int32
	on      []bool // the stack
	stack   []int32
	path    []frame
	found   int32
	circles [][]int32
}

type frame struct {
	node int32
	edge int // the next one to follow
}

func (t *tarjan) visit(root int32) {
	t.enter(root)
	for len(t.path) > 0 {
		top := &t.path[len(t.path)-1]
		node := top.node
		if top.edge == t.g.next[node].len() {
			t.leave(node)
			continue
		}
		e := t.g.next[node].at(top.edge)
		top.edge++
		switch {
		case e.capped:
		case t.index[e.node] == 0:
			t.enter(e.node)
		case t.on[e.node]:
			t.low[node] = min(t.low[node], t.index[e.node])
		}
	}
}

func (t *tarjan) enter(node int32) {
	t.found++
	t.index[node], t.low[node], t.on[node] = t.found, t.found, true
	t.stack = append(t.stack, node)
	t.path = append(t.path, frame{node: node})
}

func (t *tarjan) leave(node int32) {
	t.path = t.path[:len(t.path)-1]
	if len(t.path) > 0 {
		above := t.path[len(t.path)-1].node
		t.low[above] = min(t.low[above], t.low[node])
	}
	if t.low[node] != t.index[node] {
		return
	}
	at := len(t.stack) - 1
	for t.stack[at] != node {
		at--
	}
	part := t.stack[at:]
	for _, n := range part {
		t.on[n] = false
	}
	if len(part) > 1 || t.leadsToItself(node) {
		t.circles = append(t.circles, slices.Clone(part))
	}
	t.stack = t.stack[:at]
}

func (t *tarjan) leadsToItself(node int32) bool {
	next := &t.g.next[node]
	for i := range next.len() {
		if e := next.at(i); e.node == node && !e.capped {
			return true
		}
	}
	return false
}

func (t *tarjan) sorted() [][]int32 {
	for _, circle := range t.circles {
		slices.Sort(circle)
	}
	slices.SortFunc(t.circles, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	return t.circles
}
