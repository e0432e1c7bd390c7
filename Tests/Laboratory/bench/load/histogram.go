package main

import "math/bits"

// histogram counts durations in microseconds with three significant digits, as HdrHistogram does: buckets of
// doubling width, each cut into 1024 equal parts.
type histogram struct {
	counts [64][1024]uint32
	total  uint64
}

func (h *histogram) add(microseconds int64) {
	if microseconds < 0 {
		microseconds = 0
	}
	bucket, part := place(uint64(microseconds))
	h.counts[bucket][part]++
	h.total++
}

func (h *histogram) merge(other *histogram) {
	for bucket := range other.counts {
		for part, count := range other.counts[bucket] {
			h.counts[bucket][part] += count
		}
	}
	h.total += other.total
}

// quantile gives the lower bound of the place at which that share of all durations lies, in microseconds.
func (h *histogram) quantile(share float64) float64 {
	wanted := uint64(float64(h.total) * share)
	var seen uint64
	for bucket := range h.counts {
		for part, count := range h.counts[bucket] {
			seen += uint64(count)
			if seen > wanted {
				return float64(uint64(part) << bucket)
			}
		}
	}
	return 0
}

func place(value uint64) (bucket, part int) {
	if extra := bits.Len64(value) - 10; extra > 0 {
		return extra, int(value >> extra)
	}
	return 0, int(value)
}
