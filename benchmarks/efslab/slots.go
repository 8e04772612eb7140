package main

import "sync/atomic"

// slots bounds the operations of one client that are in flight.
type slots struct {
	free   chan struct{}
	in     atomic.Int64
	counts *counters
}

func newSlots(number int, counts *counters) *slots {
	return &slots{free: make(chan struct{}, number), counts: counts}
}

func (s *slots) enter() {
	s.free <- struct{}{}
	s.counts.inFlight(s.in.Add(1))
}

func (s *slots) leave() {
	s.in.Add(-1)
	<-s.free
}
