package main

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
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
	s.enter()
	s.enter()
	entered := make(chan struct{})
	go func() { s.enter(); close(entered) }()
	select {
	case <-entered:
		t.Fatal("a third operation is in flight")
	case <-time.After(20 * time.Millisecond):
	}
	s.leave()
	<-entered
	if got := counts.snapshot()["most_in_flight"]; got != 2 {
		t.Errorf("most in flight: %d", got)
	}
}

func TestAlarmIsPreciseAndInOrder(t *testing.T) {
	a := newAlarm()
	for range 5 {
		before := time.Now()
		a.until(before.Add(3 * time.Millisecond))
		if took := time.Since(before); took < 2900*time.Microsecond || took > 30*time.Millisecond {
			t.Errorf("3 ms took %v", took)
		}
	}
}

func TestCalibrations(t *testing.T) {
	for _, name := range []string{"legacy", "modern", "none"} {
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
	got := make([]byte, len(want)+10)
	if n := c.read(0, got); n != len(want) || !bytes.Equal(got[:n], want) {
		t.Error("what is read is not what was written")
	}
}
