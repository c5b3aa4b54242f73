package feedback

import "sync"

// hints wakes those who wait in this process for a change of a question.
type hints struct {
	mu   sync.Mutex
	byID map[string]*hint
}

type hint struct {
	changed chan struct{} // closed at the next change
	users   int
}

// anyQuestion is the id under which whoever follows all questions waits.
const anyQuestion = ""

// join says that somebody is going to wait for changes of a question, until leave.
func (h *hints) join(id string) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = map[string]*hint{}
	}
	at := h.byID[id]
	if at == nil {
		at = &hint{changed: make(chan struct{})}
		h.byID[id] = at
	}
	at.users++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if at.users--; at.users == 0 {
			delete(h.byID, id)
		}
	}
}

// next is the channel that the next change closes. The caller has joined.
func (h *hints) next(id string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[id].changed
}

// tell wakes those who wait for a question, and those who wait for any.
func (h *hints) tell(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range []string{id, anyQuestion} {
		if at := h.byID[id]; at != nil {
			close(at.changed)
			at.changed = make(chan struct{})
		}
	}
}
