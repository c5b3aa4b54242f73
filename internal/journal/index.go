package journal

import (
	"bytes"
	"strings"
)

// node is one segment of the keys that are kept for lookup. Keys are positions,
// and what is forgotten is always a position with everything below it, so a tree
// forgets at the cost of what it forgets.
type node struct {
	children map[string]*node

	begin  *entry
	result *entry
	note   *entry // the last record of any other kind
	busy   bool   // work under this key runs in this process
}

// entry is what a lookup needs of a record.
type entry struct {
	seq   int64
	kind  Kind
	lazy  bool // a note, which nobody waits for
	input string
	data  []byte
	blob  string
	size  int64
}

func (n *node) find(key string) *node {
	for more := true; more && n != nil; {
		var segment string
		segment, key, more = strings.Cut(key, "/")
		n = n.children[segment]
	}
	return n
}

func (n *node) make(key string) *node {
	for more := true; more; {
		var segment string
		segment, key, more = strings.Cut(key, "/")
		child := n.children[segment]
		if child == nil {
			if n.children == nil {
				n.children = make(map[string]*node, 1)
			}
			child = &node{}
			n.children[segment] = child
		}
		n = child
	}
	return n
}

// forget removes what is kept at key and below. Work that still runs there ends
// unharmed, and what it records afterwards is kept.
func (n *node) forget(key string) { n.reach(key, func(at *node) { *at = node{} }) }

// prune removes the nodes on the way to key that hold nothing.
func (n *node) prune(key string) { n.reach(key, func(*node) {}) }

// reach calls fn for the node at key, if there is one, and then removes the
// nodes on the way to it that hold nothing.
func (n *node) reach(key string, fn func(*node)) {
	segment, rest, more := strings.Cut(key, "/")
	child := n.children[segment]
	if child == nil {
		return
	}
	if more {
		child.reach(rest, fn)
	} else {
		fn(child)
	}
	if child.empty() {
		delete(n.children, segment)
	}
}

func (n *node) empty() bool {
	return len(n.children) == 0 && n.begin == nil && n.result == nil && n.note == nil && !n.busy
}

// own copies what the entries borrowed from the text of the whole file, so that
// the text need not stay in memory for the few that are left after loading.
func (n *node) own() {
	for _, e := range []*entry{n.result, n.note} {
		if e != nil {
			e.data = bytes.Clone(e.data)
		}
	}
	for _, child := range n.children {
		child.own()
	}
}

// keep puts a record in the index, or, when it closes its key, takes out what is
// there. The entry borrows the line's data.
func (j *Journal) keep(l *line, lazy bool) *entry {
	switch {
	case l.key == "":
		return nil
	case l.kind == j.opts.Closing:
		j.index.forget(l.key)
		return nil
	}
	e := &entry{seq: l.seq, kind: l.kind, lazy: lazy, input: l.input, data: l.data, blob: l.blob, size: l.size}
	at := j.index.make(l.key)
	switch l.kind {
	case KindBegin:
		at.begin = e
	case KindResult:
		at.result = e
	default:
		at.note = e
	}
	return e
}
