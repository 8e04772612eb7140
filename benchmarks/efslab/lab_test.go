package main

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

var start = time.Unix(1_000_000, 0)

func seconds(t time.Time) float64 { return t.Sub(start).Seconds() }

func TestRatePassesBytesOneAfterTheOther(t *testing.T) {
	var r rate
	for number, want := range []float64{0.1, 0.2, 0.3} {
		if got := seconds(r.reserve(start, 10*mib, 100)); got != want {
			t.Errorf("reservation %d ends after %v s, not %v", number, got, want)
		}
	}
	if got := seconds(r.reserve(start.Add(time.Second), 10*mib, 100)); got != 1.1 {
		t.Errorf("time that nobody used was kept: ends after %v s", got)
	}
	if got := r.reserve(start, mib, 0); got != start {
		t.Error("no cap takes no time")
	}
}

func TestCreditsAreSpentAndFill(t *testing.T) {
	p := &Profile{Total: 100, Baseline: 50, CreditMiB: 100}
	var c credits
	steps := []struct {
		after time.Duration
		mib   int
		want  float64
	}{{0, 60, 100}, {0, 40, 100}, {0, 1, 50}, {time.Second, 50, 100}, {time.Second, 1, 50}, {time.Hour, 100, 100}}
	for number, step := range steps {
		if got := c.allowed(start.Add(step.after), step.mib*mib, p); got != step.want {
			t.Errorf("step %d passes at %v MiB/s, not %v", number, got, step.want)
		}
	}
	if got := (&credits{}).allowed(start, mib, &Profile{Total: 7}); got != 7 {
		t.Errorf("without credits the total holds, not %v", got)
	}
}

func TestCreationsInOneDirectoryQueue(t *testing.T) {
	var one, other turn
	latency := 10 * time.Millisecond
	for number, want := range []float64{0.01, 0.02, 0.03} {
		if got := seconds(one.take(start, latency)); got != want {
			t.Errorf("creation %d is done after %v s, not %v", number, got, want)
		}
	}
	if got := seconds(other.take(start, latency)); got != 0.01 {
		t.Errorf("another directory waits: %v s", got)
	}
}

func TestSlotsBoundWhatIsInFlight(t *testing.T) {
	counts := &counters{}
	s := newSlots(2, counts)
	var began []int
	for number := range 4 {
		s.enter(func() { began = append(began, number) })
	}
	if !slices.Equal(began, []int{0, 1}) {
		t.Errorf("in flight: %v", began)
	}
	s.leave()
	s.leave()
	if !slices.Equal(began, []int{0, 1, 2, 3}) {
		t.Errorf("after two have left: %v", began)
	}
	for range 2 {
		s.leave()
	}
	if got := counts.snapshot()["most_in_flight"]; got != 2 || s.in != 0 {
		t.Errorf("most in flight: %d, at the end %d", got, s.in)
	}
}

func TestTimersAreInOrder(t *testing.T) {
	var all timers
	for _, number := range rand.Perm(1_000) {
		all.push(timer{start.Add(time.Duration(number)), nil})
	}
	for number := range 1_000 {
		if got := all.pop().at.Sub(start); got != time.Duration(number) {
			t.Fatalf("timer %d is that of %d", number, got)
		}
	}
}

func TestWhatIsDueIsDoneAtOnce(t *testing.T) {
	var l loop
	done := 0
	l.at(start, func() { done++ })
	l.at(time.Now().Add(time.Hour), func() { done++ })
	if done != 1 || len(l.timers) != 1 {
		t.Errorf("%d done, %d waiting", done, len(l.timers))
	}
	l.at(time.Now().Add(tick/4), func() { done++ })
	if !l.turn() || done != 2 {
		t.Error("what is due within half a tick waits")
	}
}

func TestCalibrations(t *testing.T) {
	for _, name := range []string{"legacy", "modern", "held", "far", "none"} {
		if _, err := loadProfile(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	profile, _ := loadProfile("modern")
	twin := profile.copy()
	if err := twin.merge([]byte(`{"milliseconds": {"create": 9}, "client_mib_per_second": 250}`)); err != nil {
		t.Fatal(err)
	}
	if twin.Milliseconds["create"] != 9 || twin.Milliseconds["close"] != 2.5 || twin.Client != 250 || profile.Milliseconds["create"] != 2.5 {
		t.Error("a merge sets what it names and leaves the rest and the original")
	}
	if twin.merge([]byte(`{"milliseconds": {"creat": 9}}`)) == nil {
		t.Error("an operation that does not exist is taken")
	}
}

func TestFaultsHitWhatTheyName(t *testing.T) {
	var f faults
	if err := f.set([]*fault{{Operation: "write", Name: "^bad", Errno: "EIO", Skip: 1, Count: 1}}); err != nil {
		t.Fatal(err)
	}
	hits := 0
	for range 4 {
		if status, _ := f.check(opWrite, "bad-file"); !status.Ok() {
			hits++
		}
	}
	if status, _ := f.check(opWrite, "good"); !status.Ok() || hits != 1 {
		t.Errorf("%d hits", hits)
	}
	if f.set([]*fault{{Operation: "wrote"}}) == nil || f.set([]*fault{{Operation: "*", Errno: "EX"}}) == nil {
		t.Error("a rule that means nothing is taken")
	}
}

func TestWhoCreatesAfterAnotherClientOpensItsFile(t *testing.T) {
	s := newStore()
	first, _ := s.makeOrFind(rootID, "file", syscall.S_IFREG|0o600, fuse.Owner{})
	second, status := s.makeOrFind(rootID, "file", syscall.S_IFREG|0o600, fuse.Owner{})
	if first != second || !status.Ok() || first.references != 2 || first.attr.Nlink != 1 {
		t.Errorf("%v, %d references", status, first.references)
	}
	if _, status := s.make(rootID, "file", syscall.S_IFREG|0o600, fuse.Owner{}); status != fuse.Status(syscall.EEXIST) {
		t.Errorf("an exclusive create: %v", status)
	}
}

func TestContentIsThatOfAFile(t *testing.T) {
	var c content
	want := []byte{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		if random.IntN(4) == 0 {
			size := random.IntN(3 * mib)
			c.truncate(int64(size))
			want = append(want, make([]byte, max(0, size-len(want)))...)[:size]
			continue
		}
		offset := random.IntN(3 * mib)
		data := bytes.Repeat([]byte{byte(random.IntN(256))}, random.IntN(300_000))
		c.write(int64(offset), data)
		if len(data) > 0 {
			want = append(want, make([]byte, max(0, offset+len(data)-len(want)))...)
			copy(want[offset:], data)
		}
	}
	for range 20 {
		offset, length := random.IntN(len(want)+1), random.IntN(3*mib)
		parts, found := c.parts(int64(offset), length)
		if got := bytes.Join(parts, nil); found != len(got) || !bytes.Equal(got, want[offset:min(offset+length, len(want))]) {
			t.Errorf("what is read at %d is not what was written", offset)
		}
	}
}
