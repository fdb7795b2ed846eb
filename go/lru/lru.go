// Package lru keeps values by key, those that were used last, up to a limit.
package lru

import "container/list"

// Cache keeps values up to a total cost. It is used by one question at a time.
type Cache[V any] struct {
	limit, cost int
	items       map[string]*list.Element
	order       *list.List
}

type item[V any] struct {
	key   string
	value V
	cost  int
}

// New makes a cache whose values cost at most the limit together.
func New[V any](limit int) *Cache[V] {
	return &Cache[V]{limit: limit, items: map[string]*list.Element{}, order: list.New()}
}

// Get returns the value of a key and makes it the last to be dropped.
func (c *Cache[V]) Get(key string) (V, bool) {
	if element, isKnown := c.items[key]; isKnown {
		c.order.MoveToFront(element)
		return element.Value.(item[V]).value, true
	}
	var none V
	return none, false
}

// Put keeps a value. The newest value stays even if it alone costs more than the limit.
func (c *Cache[V]) Put(key string, value V, cost int) {
	if element, isKnown := c.items[key]; isKnown {
		c.drop(element)
	}
	c.items[key] = c.order.PushFront(item[V]{key, value, cost})
	c.cost += cost
	for c.cost > c.limit && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *Cache[V]) drop(element *list.Element) {
	dropped := c.order.Remove(element).(item[V])
	delete(c.items, dropped.key)
	c.cost -= dropped.cost
}
