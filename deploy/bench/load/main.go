// Load on an HTTP service that speaks the registry's API: as fast as it goes on so many connections, or at a given
// rate, when the latency of a request counts from the moment at which it was due.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

type result struct {
	Kind        string  `json:"kind"`
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"`
	Requests    uint64  `json:"requests"`
	// Answers other than 200 and 201, by status; 0 stands for connections that broke.
	Others map[int]int `json:"others,omitempty"`
	P50    float64     `json:"p50Microseconds"`
	P99    float64     `json:"p99Microseconds"`
	P999   float64     `json:"p999Microseconds"`
}

type worker struct {
	latencies histogram
	good      uint64
	others    map[int]int
}

func main() {
	address := flag.String("address", "127.0.0.1:8080", "host and port of the service")
	kind := flag.String("kind", "resolve", "hello, resolve, register, new, batch or feedback")
	connections := flag.Int("connections", 64, "connections")
	seconds := flag.Float64("seconds", 5, "how long to measure")
	warm := flag.Float64("warm", 1, "seconds before, which do not count")
	requests := flag.Int64("requests", 0, "how many requests to measure instead of how long, without warming; 0 is by time")
	rate := flag.Float64("rate", 0, "requests a second in all; 0 is as fast as it goes")
	count := flag.Int("count", 1000000, "activities in the database; new ones are numbered from there on")
	batch := flag.Int("batch", 100, "aliases or reports a request")
	flag.Parse()

	start := time.Now().Add(time.Duration(*warm * float64(time.Second)))
	end := start.Add(time.Duration(*seconds * float64(time.Second)))
	if *requests > 0 {
		start, end = time.Now(), time.Now().Add(time.Hour)
	}
	workers := make([]worker, *connections)
	var ticket atomic.Int64
	first := time.Now()
	var group sync.WaitGroup
	for index := range workers {
		group.Add(1)
		go func(index int) {
			defer group.Done()
			next := func() time.Time { return time.Now() }
			if *rate > 0 {
				next = func() time.Time {
					due := first.Add(time.Duration(float64(ticket.Add(1)) / *rate * float64(time.Second)))
					time.Sleep(time.Until(due))
					return due
				}
			} else if *requests > 0 {
				next = func() time.Time {
					if ticket.Add(1) > *requests {
						return end.Add(1)
					}
					return time.Now()
				}
			}
			random := rand.New(rand.NewSource(int64(index) + time.Now().UnixNano()))
			workers[index].run(*address, makerOf(*kind, *address, os.Getenv("BENCH_KEY"), *count, *batch, index, *connections), random, next, start, end)
		}(index)
	}
	group.Wait()
	if *requests > 0 {
		*seconds = time.Since(start).Seconds()
	}
	report(*kind, workers, *seconds)
}

func (w *worker) run(address string, make maker, random *rand.Rand, next func() time.Time, start, end time.Time) {
	w.others = map[int]int{}
	var link *connection
	for {
		due := next()
		// Where more is asked for than the service can do, what is due falls behind the time.
		if due.After(end) || time.Now().After(end) {
			return
		}
		var err error
		if link == nil {
			if link, err = dial(address); err != nil {
				w.others[0]++
				time.Sleep(10 * time.Millisecond)
				continue
			}
		}
		status, err := link.exchange(make(random))
		done := time.Now()
		if err != nil {
			link.socket.Close()
			link = nil
		}
		if done.Before(start) || done.After(end) {
			continue
		}
		if err == nil && (status == 200 || status == 201) {
			w.good++
			w.latencies.add(done.Sub(due).Microseconds())
		} else {
			w.others[status]++
		}
	}
}

func report(kind string, workers []worker, seconds float64) {
	var all histogram
	total := result{Kind: kind, Connections: len(workers), Others: map[int]int{}}
	for index := range workers {
		all.merge(&workers[index].latencies)
		total.Requests += workers[index].good
		for status, count := range workers[index].others {
			total.Others[status] += count
		}
	}
	total.Rate = float64(total.Requests) / seconds
	total.P50, total.P99, total.P999 = all.quantile(0.5), all.quantile(0.99), all.quantile(0.999)
	line, err := json.Marshal(total)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}
