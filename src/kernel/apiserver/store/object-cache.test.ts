import { describe, expect, test } from "vitest";
import { type CacheSlot, ObjectCache } from "./object-cache.ts";

function slots(cache: ObjectCache, costs: Readonly<Record<string, number>>) {
  const forgotten: string[] = [];
  const touch = (name: string): void => cache.touch(made[name] as CacheSlot);
  const drop = (name: string): void => cache.drop(made[name] as CacheSlot);
  const made: Record<string, CacheSlot> = {};
  for (const [name, cost] of Object.entries(costs)) {
    made[name] = { cost, older: undefined, younger: undefined, forget: () => void forgotten.push(name) };
  }
  return { forgotten, touch, drop };
}

describe("the cache of parsed objects", () => {
  test("forgets the one that was not used for longest", () => {
    const cache = new ObjectCache(30);
    const { forgotten, touch } = slots(cache, { a: 10, b: 10, c: 10, d: 10 });
    for (const name of ["a", "b", "c", "a", "d"]) touch(name);
    expect([forgotten, cache.bytes]).toEqual([["b"], 30]);
    for (const name of ["b", "b", "c"]) touch(name);
    expect([forgotten, cache.bytes]).toEqual([["b", "c", "a"], 30]);
  });

  test("counts one that is touched again once", () => {
    const cache = new ObjectCache(100);
    const { touch } = slots(cache, { a: 10, b: 10 });
    for (const name of ["a", "a", "b", "a", "b", "b"]) touch(name);
    expect(cache.bytes).toBe(20);
  });

  test("lets go of one before its time, once, and of nothing it does not hold", () => {
    const cache = new ObjectCache(100);
    const { forgotten, touch, drop } = slots(cache, { a: 10, b: 20, c: 30, stranger: 40 });
    for (const name of ["a", "b", "c"]) touch(name);
    for (const name of ["b", "b", "stranger"]) drop(name);
    expect([forgotten, cache.bytes]).toEqual([["b"], 40]);
    for (const name of ["c", "a", "c"]) drop(name);
    expect([forgotten, cache.bytes]).toEqual([["b", "c", "a"], 0]);
    touch("b");
    expect(cache.bytes).toBe(20);
  });

  test("forgets one that is larger than all of it at once, and takes others afterwards", () => {
    const cache = new ObjectCache(30);
    const { forgotten, touch } = slots(cache, { huge: 31, a: 10 });
    touch("huge");
    expect([forgotten, cache.bytes]).toEqual([["huge"], 0]);
    touch("a");
    touch("huge");
    expect([forgotten, cache.bytes]).toEqual([["huge", "a", "huge"], 0]);
  });
});
