package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

//go:embed profiles/*.json
var calibrations embed.FS

// Profile is what one file system and its clients cost: a latency for each kind of
// operation, service time by size, and caps in MiB/s (0: none).
type Profile struct {
	Source       string             `json:"source,omitempty"`
	Milliseconds map[string]float64 `json:"milliseconds"`
	ReadPerMiB   float64            `json:"read_milliseconds_per_mib"`
	WritePerMiB  float64            `json:"write_milliseconds_per_mib"`
	// Slots bounds the operations that one client has in flight, as an NFSv4.1 session does.
	Slots  int     `json:"slots"`
	File   float64 `json:"file_mib_per_second"`
	Client float64 `json:"client_mib_per_second"`
	Total  float64 `json:"total_mib_per_second"`
	// With CreditMiB above 0 the total runs at Total while credits last and at Baseline after.
	CreditMiB float64 `json:"credit_mib"`
	Baseline  float64 `json:"baseline_mib_per_second"`
	// Remembered is how long a kernel keeps names and attributes; 0: as NFS does by default (acregmin).
	Remembered float64 `json:"remembered_seconds"`
}

const rememberedByDefault = 3.0

// loadProfile reads a calibration by name, or a file where no calibration has that name.
func loadProfile(name string) (*Profile, error) {
	data, err := calibrations.ReadFile("profiles/" + name + ".json")
	if err != nil {
		if data, err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("no calibration and no file is called %q", name)
		}
	}
	profile := &Profile{}
	if err := profile.merge(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return profile, nil
}

// merge sets the fields that the JSON document names and leaves the others.
func (p *Profile) merge(document []byte) error {
	if err := json.Unmarshal(document, p); err != nil {
		return err
	}
	for name := range p.Milliseconds {
		if _, known := kindByName[name]; !known {
			return fmt.Errorf("milliseconds: no operation is called %q", name)
		}
	}
	if p.Slots < 1 {
		return fmt.Errorf("slots: at least 1, not %d", p.Slots)
	}
	return nil
}

// copy is a profile that can be merged into while others read this one.
func (p *Profile) copy() *Profile {
	twin := *p
	twin.Milliseconds = make(map[string]float64, len(p.Milliseconds))
	for name, value := range p.Milliseconds {
		twin.Milliseconds[name] = value
	}
	return &twin
}

// costs is the profile as the operations use it.
type costs struct {
	profile     *Profile
	latency     [kinds]time.Duration
	readPerMiB  time.Duration
	writePerMiB time.Duration
	remembered  time.Duration
}

func costsOf(profile *Profile) *costs {
	c := &costs{profile: profile, readPerMiB: milliseconds(profile.ReadPerMiB), writePerMiB: milliseconds(profile.WritePerMiB)}
	c.remembered = milliseconds(1000 * rememberedByDefault)
	if profile.Remembered > 0 {
		c.remembered = milliseconds(1000 * profile.Remembered)
	}
	for name, value := range profile.Milliseconds {
		c.latency[kindByName[name]] = milliseconds(value)
	}
	return c
}

func milliseconds(value float64) time.Duration {
	return time.Duration(value * float64(time.Millisecond))
}
