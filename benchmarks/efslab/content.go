package main

// content is a file's bytes in pieces of at most a MiB; a piece that is nil is a hole.
type content struct {
	pieces [][]byte
	size   int64
}

// write takes bytes in; where they begin a piece that was a hole it keeps their memory and says so.
func (c *content) write(offset int64, data []byte) (kept bool) {
	if index := int(offset / mib); len(data) >= ownPiece && len(data) <= mib && offset%mib == 0 && c.hole(index) {
		c.pieces[index] = data
		c.size = max(c.size, offset+int64(len(data)))
		return true
	}
	for len(data) > 0 {
		index, start := int(offset/mib), int(offset%mib)
		n := min(len(data), mib-start)
		for len(c.pieces) <= index {
			c.pieces = append(c.pieces, nil)
		}
		piece := c.pieces[index]
		old := len(piece)
		if start+n > old {
			piece = grown(piece, start+n)
		}
		if start > old {
			clear(piece[old:start])
		}
		copy(piece[start:], data[:n])
		c.pieces[index] = piece
		offset, data = offset+int64(n), data[n:]
	}
	c.size = max(c.size, offset)
	return false
}

// hole makes room for a piece; whether there is none yet.
func (c *content) hole(index int) bool {
	for len(c.pieces) <= index {
		c.pieces = append(c.pieces, nil)
	}
	return c.pieces[index] == nil
}

// grown is the piece with so many bytes; those that it gains are whatever they were.
func grown(piece []byte, size int) []byte {
	if size <= cap(piece) {
		return piece[:size]
	}
	larger := pieces.piece(size)
	copy(larger, piece)
	pieces.give(piece)
	return larger
}

var zeros [mib]byte

// parts is up to n bytes from an offset, in the pieces where they lie, and how many there are.
func (c *content) parts(offset int64, n int) (parts [][]byte, found int) {
	n = int(max(0, min(int64(n), c.size-offset)))
	for found < n {
		index, start := int((offset+int64(found))/mib), int((offset+int64(found))%mib)
		end := min(start+n-found, mib)
		if index < len(c.pieces) && start < len(c.pieces[index]) {
			part := c.pieces[index][start:min(end, len(c.pieces[index]))]
			parts, found, start = append(parts, part), found+len(part), start+len(part)
		}
		if start < end {
			parts, found = append(parts, zeros[:end-start]), found+end-start
		}
	}
	return parts, found
}

func (c *content) truncate(size int64) {
	whole := int((size + mib - 1) / mib)
	for index := whole; index < len(c.pieces); index++ {
		pieces.give(c.pieces[index])
	}
	if whole < len(c.pieces) {
		clear(c.pieces[whole:])
		c.pieces = c.pieces[:whole]
	}
	if rest := int(size % mib); rest > 0 && whole <= len(c.pieces) && rest < len(c.pieces[whole-1]) {
		c.pieces[whole-1] = c.pieces[whole-1][:rest]
	}
	c.size = size
}

func (c *content) allocated() int64 {
	var total int64
	for _, piece := range c.pieces {
		total += int64(len(piece))
	}
	return total
}
