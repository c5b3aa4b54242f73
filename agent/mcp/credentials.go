package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// credentials gives the bearer token of a session's requests, and has it renewed
// once for all requests that were refused with it.
type credentials struct {
	source   func(ctx context.Context, refresh bool) (string, error) // nil means none
	redactor *redactor
	spawn    func(func(ctx context.Context)) bool // starts what outlives its caller
	track    func(func())                         // starts what Close waits for
	limit    time.Duration                        // of one refresh

	mu         sync.Mutex
	generation int // how often it was renewed
	flight     *renewal
}

// renewal is one forced refresh that all refused requests share.
type renewal struct {
	done chan struct{}
	err  error
}

// token returns the token to send and its generation. It is empty when there is
// no source.
func (c *credentials) token(ctx context.Context) (string, int, error) {
	if c.source == nil {
		return "", 0, nil
	}
	c.mu.Lock()
	generation := c.generation
	c.mu.Unlock()
	token, err := c.get(ctx, false)
	return token, generation, err
}

// get asks the host, whose code may heed no context: it is not waited for beyond
// that.
func (c *credentials) get(ctx context.Context, refresh bool) (string, error) {
	var token string
	var err error
	done := make(chan struct{})
	c.track(func() {
		defer close(done)
		token, err = c.ask(ctx, refresh)
	})
	select {
	case <-done:
		return token, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ask runs the host's code. A panic there must cost the call and not the process,
// whose host cannot catch it on this goroutine.
func (c *credentials) ask(ctx context.Context, refresh bool) (token string, err error) {
	defer func() {
		if p := recover(); p != nil {
			token, err = "", fmt.Errorf("Server.Token panicked: %v", p)
		}
	}()
	token, err = c.source(ctx, refresh)
	c.redactor.learn(token)
	if err == nil && !sendable(token) {
		return "", errors.New("the token has a line break or another control character in it; look for one at the end of the file or variable it comes from")
	}
	return token, err
}

// renew has a token renewed that was refused, unless that was done since it was
// given out. The refresh serves all and does not end with the caller's context.
func (c *credentials) renew(ctx context.Context, used int) error {
	c.mu.Lock()
	if c.generation != used {
		c.mu.Unlock()
		return nil
	}
	flight := c.flight
	if flight == nil {
		flight = &renewal{done: make(chan struct{})}
		c.flight = flight
		if !c.spawn(func(life context.Context) { c.run(life, flight) }) {
			c.flight = nil
			c.mu.Unlock()
			return ErrSessionClosed
		}
	}
	c.mu.Unlock()
	select {
	case <-flight.done:
		return flight.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *credentials) run(life context.Context, flight *renewal) {
	ctx, cancel := context.WithTimeout(life, c.limit)
	defer cancel()
	_, err := c.get(ctx, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.generation++
	}
	flight.err = err
	c.flight = nil
	close(flight.done)
}
