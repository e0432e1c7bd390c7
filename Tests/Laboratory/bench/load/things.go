package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// nextOf goes through so many things in turns: as many requests as there are things know each of them, and no two under way
// are about the same.
func (p *plan) nextOf() int64 { return newest.Add(1) % int64(p.count) }

// short registers an activity by a token and a name alone.
func (p *plan) short(random *rand.Rand) *request {
	return send("POST", app+"/activities", `{"token":"%s","observedAt":"%s","alias":"l-%d"}`, newToken(random), now(), p.nextOf())
}

// startToken registers the push-to-start token of an installation.
func (p *plan) startToken(random *rand.Rand) *request {
	return send("PUT", fmt.Sprintf("%s/installations/start-%d/start-tokens/RideAttributes", app, p.nextOf()),
		`{"token":"%s","observedAt":"%s"}`, newToken(random), now())
}

// fullState lists all activities of an installation, each with a new token: the most that a full state can have to do.
func (p *plan) fullState(size int) maker {
	return func(random *rand.Rand) *request {
		installation := p.nextOf()
		items := make([]string, size)
		for index := range items {
			id := fmt.Sprintf("f%d-%d-%d", size, installation, index)
			items[index] = fmt.Sprintf(`{"activityId":"%s","token":"%s","aliases":{"orderId":"%s"}}`, id, newToken(random), id)
		}
		r := send("PUT", fmt.Sprintf("%s/installations/full-%d-%d/activities", app, size, installation),
			`{"observedAt":"%s","activities":[%s]}`, now(), strings.Join(items, ","))
		// Items are refused in their places.
		r.refusal = `"problem"`
		return r
	}
}

// rotations are how often an activity's token changes while it runs.
const rotations = 5

// life plays activities from their starts to their ends, a connection's own in turns: each starts, rotates, and is either
// ended or left to expire, when the next one begins in its place.
func (p *plan) life(connection int) maker {
	type place struct {
		number int64
		step   int
	}
	places := make([]place, p.open/p.connections+1)
	for index := range places {
		// Those that run at the beginning are of all ages; steps below zero have no activity yet.
		places[index].step = -1 - (connection+index)%(rotations+1)
	}
	next := -1
	return func(random *rand.Rand) *request {
		next = (next + 1) % len(places)
		at := &places[next]
		isOver := at.step == rotations
		if isOver && at.number%2 == 0 {
			// The place is empty until its next turn.
			at.step = -1
			return &request{method: "DELETE", path: fmt.Sprintf("%s/activities/a-%d", app, at.number)}
		}
		switch {
		case isOver:
			at.number, at.step = newest.Add(1), 0
		case at.step < 0:
			at.number, at.step = newest.Add(1), -1-at.step
		default:
			at.step++
		}
		return registration(random, at.number)
	}
}
