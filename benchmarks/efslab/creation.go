package main

import "time"

// turn lets one creation after the other into a directory, whichever client makes it:
// creations in one directory queue, those in several overlap.
type turn struct {
	free time.Time
}

// take returns when an operation is done that arrives now and takes so long.
func (t *turn) take(now time.Time, latency time.Duration) time.Time {
	if t.free.Before(now) {
		t.free = now
	}
	t.free = t.free.Add(latency)
	return t.free
}
