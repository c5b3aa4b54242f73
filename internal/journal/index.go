package journal

import (
	"bytes"
	"slices"
	"strings"
)

// node is one segment of the keys that are kept for lookup. Keys are positions,
// and what is forgotten is always a position with everything below it, so a tree
// forgets at the cost of what it forgets.
type node struct {
	segment  string
	children children

	begin  *entry
	result *entry
	note   *entry // the last record of any other kind
	busy   bool   // work under this key runs in this process
}

// children are the nodes below one. Most have one or two, which a list holds in
// less room and time than a map.
type children struct {
	few  []*node
	many map[string]*node // used instead of few once there are more than maxFew
}

const maxFew = 8

func (c *children) none() bool { return len(c.few) == 0 && len(c.many) == 0 }

func (c *children) get(segment string) *node {
	if c.many != nil {
		return c.many[segment]
	}
	for _, child := range c.few {
		if child.segment == segment {
			return child
		}
	}
	return nil
}

func (c *children) add(child *node) {
	if c.many == nil && len(c.few) < maxFew {
		c.few = append(c.few, child)
		return
	}
	if c.many == nil {
		c.many = make(map[string]*node, 2*maxFew)
		for _, old := range c.few {
			c.many[old.segment] = old
		}
		c.few = nil
	}
	c.many[child.segment] = child
}

func (c *children) remove(segment string) {
	delete(c.many, segment)
	c.few = slices.DeleteFunc(c.few, func(child *node) bool { return child.segment == segment })
}

func (c *children) each(fn func(*node)) {
	for _, child := range c.few {
		fn(child)
	}
	for _, child := range c.many {
		fn(child)
	}
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
		n = n.children.get(segment)
	}
	return n
}

func (n *node) make(key string) *node {
	for more := true; more; {
		var segment string
		segment, key, more = strings.Cut(key, "/")
		child := n.children.get(segment)
		if child == nil {
			child = &node{segment: segment}
			n.children.add(child)
		}
		n = child
	}
	return n
}

// forget removes what is kept at key and below. Work that still runs there ends
// unharmed, and what it records afterwards is kept.
func (n *node) forget(key string) { n.reach(key, func(at *node) { *at = node{segment: at.segment} }) }

// prune removes the nodes on the way to key that hold nothing.
func (n *node) prune(key string) { n.reach(key, func(*node) {}) }

// reach calls fn for the node at key, if there is one, and then removes the
// nodes on the way to it that hold nothing.
func (n *node) reach(key string, fn func(*node)) {
	segment, rest, more := strings.Cut(key, "/")
	child := n.children.get(segment)
	if child == nil {
		return
	}
	if more {
		child.reach(rest, fn)
	} else {
		fn(child)
	}
	if child.empty() {
		n.children.remove(segment)
	}
}

func (n *node) empty() bool {
	return n.children.none() && n.begin == nil && n.result == nil && n.note == nil && !n.busy
}

// own copies what the entries borrowed from the text of the whole file, so that
// the text need not stay in memory for the few that are left after loading.
func (n *node) own() {
	for _, e := range []*entry{n.result, n.note} {
		if e != nil {
			e.data = bytes.Clone(e.data)
		}
	}
	n.children.each((*node).own)
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
