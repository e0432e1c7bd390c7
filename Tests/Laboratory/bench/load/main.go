// Load on an HTTP service that speaks the registry's API: as fast as it goes on so many connections, or at a given
// rate, when the latency of a request counts from the moment at which it was due.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type result struct {
	Kind        string  `json:"kind"`
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"`
	Requests    uint64  `json:"requests"`
	// Answers that are not good, by status: 0 stands for connections and streams that broke, 200 for full states of which
	// items were refused.
	Others map[int]int `json:"others,omitempty"`
	P50    float64     `json:"p50Microseconds"`
	P99    float64     `json:"p99Microseconds"`
	P999   float64     `json:"p999Microseconds"`
	// The same of equal parts of the time.
	PartsP99 []float64 `json:"partsP99Microseconds,omitempty"`
	// The share of this program itself while it measured.
	CPUSeconds float64 `json:"cpuSeconds"`
	// JWTs that had to be signed while it measured.
	SignedLate int64 `json:"signedLate,omitempty"`
}

func main() {
	o := readOptions()
	if o.kind == "keys" {
		set, err := makeKeys(o.jwtKeys)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(set))
		return
	}
	work := o.plan()
	first := time.Now()
	measured := o.span(first)
	used := cpuFrom(measured.start)
	total := sum(run(o, work, first, measured))
	if o.requests > 0 {
		o.seconds = time.Since(measured.start).Seconds()
	}
	total.Kind, total.Rate = o.kind, float64(total.Requests)/o.seconds
	total.CPUSeconds, total.SignedLate = used(), work.callers.late.Load()
	line, err := json.Marshal(total)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

func run(o *options, work *plan, first time.Time, measured span) []worker {
	d := o.dialer(measured.end.Add(time.Minute))
	next := o.pace(first, measured)
	workers := make([]worker, o.connections)
	var group sync.WaitGroup
	for index := range workers {
		group.Add(1)
		go func(index int) {
			defer group.Done()
			workers[index].latencies = make([]histogram, o.parts)
			random := rand.New(rand.NewSource(int64(index) + time.Now().UnixNano()))
			workers[index].run(d, work.maker(index), random, next, measured)
		}(index)
	}
	group.Wait()
	return workers
}

// pace gives what tells when the next request is due, and waits until then.
func (o *options) pace(first time.Time, measured span) func() time.Time {
	var ticket atomic.Int64
	switch {
	case o.rate > 0:
		return func() time.Time {
			due := first.Add(duration(float64(ticket.Add(1)) / o.rate))
			time.Sleep(time.Until(due))
			return due
		}
	case o.requests > 0:
		return func() time.Time {
			if ticket.Add(1) > o.requests {
				return measured.end.Add(1)
			}
			return time.Now()
		}
	}
	return time.Now
}

// cpuFrom gives what tells the seconds of CPU that this program has used since a time.
func cpuFrom(start time.Time) func() float64 {
	use := func() float64 {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			log.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	}
	before := make(chan float64, 1)
	time.AfterFunc(time.Until(start), func() { before <- use() })
	return func() float64 { return use() - <-before }
}

func sum(workers []worker) result {
	all := make([]histogram, len(workers[0].latencies))
	total := result{Connections: len(workers), Others: map[int]int{}}
	for index := range workers {
		for part := range all {
			all[part].merge(&workers[index].latencies[part])
		}
		total.Requests += workers[index].good
		for status, count := range workers[index].others {
			total.Others[status] += count
		}
	}
	if len(all) > 1 {
		for part := range all {
			total.PartsP99 = append(total.PartsP99, all[part].quantile(0.99))
		}
	}
	for part := range all[1:] {
		all[0].merge(&all[1+part])
	}
	total.P50, total.P99, total.P999 = all[0].quantile(0.5), all[0].quantile(0.99), all[0].quantile(0.999)
	return total
}
