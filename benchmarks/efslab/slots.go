package main

// slots bounds the operations of one client that are in flight; those that find none free queue.
type slots struct {
	most, in int
	waiting  []func()
	counts   *counters
}

func newSlots(number int, counts *counters) *slots {
	return &slots{most: number, counts: counts}
}

// enter calls begin when a slot is free.
func (s *slots) enter(begin func()) {
	if s.in == s.most {
		s.waiting = append(s.waiting, begin)
		return
	}
	s.in++
	s.counts.inFlight(int64(s.in))
	begin()
}

func (s *slots) leave() {
	if len(s.waiting) > 0 {
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		next()
		return
	}
	s.in--
}
