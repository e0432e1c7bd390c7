package main

import (
	"math/rand"
	"time"
)

// A worker has one connection, and counts what becomes of its requests.
type worker struct {
	// Of equal parts of the measured time.
	latencies []histogram
	good      uint64
	others    map[int]int
}

// A span is when requests are measured: those that are answered between the two.
type span struct{ start, end time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.start) && !at.After(s.end) }

// part is the number of the part of a span that a time within it falls into.
func (s span) part(at time.Time, parts int) int {
	return least(int(float64(parts)*float64(at.Sub(s.start))/float64(s.end.Sub(s.start))), parts-1)
}

// run keeps as many requests under way as a link takes, until the span is over.
func (w *worker) run(d *dialer, make maker, random *rand.Rand, next func() time.Time, measured span) {
	w.others = map[int]int{}
	var current link
	underWay, isOver := 0, false
	fail := func() {
		if at := time.Now(); measured.has(at) {
			w.others[0] += underWay
		}
		underWay = 0
		current.close()
		current = nil
	}
	for {
		for !isOver && underWay < d.streams {
			due := next()
			// Where more is asked for than the service can do, what is due falls behind the time.
			if isOver = due.After(measured.end) || time.Now().After(measured.end); isOver {
				break
			}
			if current == nil {
				var err error
				if current, err = d.dial(); err != nil {
					w.others[0]++
					current = nil
					time.Sleep(10 * time.Millisecond)
					continue
				}
			}
			underWay++
			if err := current.begin(make(random), due); err != nil {
				fail()
			}
		}
		if underWay == 0 {
			if isOver {
				break
			}
			continue
		}
		done, err := current.finish()
		if err != nil {
			fail()
			continue
		}
		underWay--
		w.count(done, time.Now(), measured)
	}
	if current != nil {
		current.close()
	}
}

func (w *worker) count(done exchange, at time.Time, measured span) {
	if !measured.has(at) {
		return
	}
	if done.request.isGood(done.status, done.answer) {
		w.good++
		w.latencies[measured.part(at, len(w.latencies))].add(at.Sub(done.due).Microseconds())
	} else {
		w.others[done.status]++
	}
}
