package workspace

// memContent is the content of a file in pieces, so that appending to a large
// file copies nothing but what is appended.
type memContent struct {
	pieces [][]byte // only the last one has room
	size   int64
}

const (
	minPiece = 512
	maxPiece = 256 << 10
)

func newMemContent(data []byte) memContent {
	if len(data) == 0 {
		return memContent{}
	}
	return memContent{pieces: [][]byte{append([]byte(nil), data...)}, size: int64(len(data))}
}

func (c *memContent) append(data []byte) {
	c.size += int64(len(data))
	if last := len(c.pieces) - 1; last >= 0 {
		n := min(cap(c.pieces[last])-len(c.pieces[last]), len(data))
		c.pieces[last] = append(c.pieces[last], data[:n]...)
		data = data[n:]
	}
	if len(data) > 0 {
		// As much again as there is, within bounds: small files stay small.
		room := max(len(data), int(min(max(c.size, minPiece), maxPiece)))
		c.pieces = append(c.pieces, append(make([]byte, 0, room), data...))
	}
}

func (c *memContent) truncate(size int64) {
	c.size = size
	for i, piece := range c.pieces {
		if size <= int64(len(piece)) {
			c.pieces[i] = piece[:size]
			clear(c.pieces[i+1:])
			c.pieces = c.pieces[:i+1]
			return
		}
		size -= int64(len(piece))
	}
}

// bytes returns a copy of the whole.
func (c *memContent) bytes() []byte {
	all := make([]byte, 0, c.size)
	for _, piece := range c.pieces {
		all = append(all, piece...)
	}
	return all
}
