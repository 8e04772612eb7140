package main

import "time"

const mib = 1 << 20

// rate passes bytes one after the other at a rate; it reserves time and does not wait.
type rate struct {
	free time.Time
}

// reserve returns when n bytes have passed that arrive now.
func (r *rate) reserve(now time.Time, n int, mibPerSecond float64) time.Time {
	if mibPerSecond <= 0 || n == 0 {
		return now
	}
	if r.free.Before(now) {
		r.free = now
	}
	r.free = r.free.Add(time.Duration(float64(n) / (mibPerSecond * mib) * float64(time.Second)))
	return r.free
}

// credits is a burst-credit balance: it fills at the baseline rate, bytes spend it.
type credits struct {
	balance float64
	filled  time.Time
}

// allowed takes n bytes from the balance and returns the rate at which they may pass.
func (c *credits) allowed(now time.Time, n int, p *Profile) float64 {
	if p.CreditMiB <= 0 {
		return p.Total
	}
	full := p.CreditMiB * mib
	if c.filled.IsZero() {
		c.balance = full
	} else {
		c.balance = min(full, c.balance+now.Sub(c.filled).Seconds()*p.Baseline*mib)
	}
	c.filled = now
	if c.balance < float64(n) {
		return p.Baseline
	}
	c.balance -= float64(n)
	return p.Total
}

func (c *credits) left() int64 {
	return int64(c.balance)
}
