package main

// content is a file's bytes in pieces of at most a MiB; a piece that is nil is a hole.
type content struct {
	pieces [][]byte
	size   int64
}

func (c *content) write(offset int64, data []byte) {
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

func (c *content) read(offset int64, into []byte) int {
	if offset >= c.size {
		return 0
	}
	into = into[:min(int64(len(into)), c.size-offset)]
	for done := 0; done < len(into); {
		index, start := int((offset+int64(done))/mib), int((offset+int64(done))%mib)
		part := into[done:min(len(into), done+mib-start)]
		copied := 0
		if index < len(c.pieces) && start < len(c.pieces[index]) {
			copied = copy(part, c.pieces[index][start:])
		}
		clear(part[copied:])
		done += len(part)
	}
	return len(into)
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
